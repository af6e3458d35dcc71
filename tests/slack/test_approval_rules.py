"""Teams, veto, emergency approval and reminders, as people meet them in the channel."""

from datetime import timedelta

import pytest

from bot.domain.approval import ApprovalPolicy, GlassRule, People, VetoRule
from bot.domain.diagnosis import Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.domain.entries import Diagnosed
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, UserId
from bot.domain.journal import WATERLINE
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.tables import job

BEN, CLEO, FINN = UserId("U0BEN00002"), UserId("U0CLEO0003"), UserId("U0FINN0006")
OWNER = "U0DANA0004"
HOUR = timedelta(hours=1)
WL1 = IncidentId("wl-1")
TEAMS = {"streaming": People(users=(BEN, CLEO)), "lakehouse": People(users=(FINN,))}
TWO_TEAMS = ApprovalPolicy(required=2, different_teams=2, teams=TEAMS, expires_after=HOUR)
HELD = ApprovalPolicy(users=(BEN,), expires_after=HOUR, veto=VetoRule(users=(FINN,), hold=timedelta(minutes=5)))
GLASS = ApprovalPolicy(
    users=(BEN, CLEO), required=2, expires_after=HOUR, break_glass=GlassRule(users=(FINN,), owners=(OWNER,))
)


@pytest.fixture
def proposed(collected: SeenMessage, ana: Responder) -> SeenMessage:
    """A rewind that Ana proposed."""
    return ana.proposes()


def view(bot: LittleBot) -> ProposalView:
    """The newest proposal."""
    found = bot.services.store.get(WL1).current_proposal
    assert found is not None
    return found


@pytest.mark.parametrize("policy", [TWO_TEAMS])
def test_two_people_of_one_team_are_not_two_teams(
    proposed: SeenMessage, ben: Responder, cleo: Responder, finn: Responder, bot: LittleBot
) -> None:
    """The second of the same team is told which team is missing; the other team completes it."""
    ben.clicks("Approve", proposed)
    same = cleo.answer_to(lambda: cleo.clicks("Approve", proposed))
    other = finn.answer_to(lambda: finn.clicks("Approve", proposed))
    shown = finn.sees_on_proposal("Execute")

    assert "Needs 2 approvals, from 2 different teams, not from the proposer." in proposed.plain
    assert "It needs 1 more approval, from another team. Ask team lakehouse (@Finn Vogel)." in same
    assert "Approved." in other
    assert "Approved by @Finn Vogel (team lakehouse) at" in shown.plain


@pytest.mark.parametrize("policy", [ApprovalPolicy(teams=TEAMS, expires_after=HOUR)])
def test_what_is_destructive_waits_for_a_second_team(
    collected: SeenMessage, ana: Responder, ben: Responder, cleo: Responder, finn: Responder, bot: LittleBot
) -> None:
    """The policy says no number: a rewind needs one yes, the stop of one of two writers the yes of two teams."""
    bot.flink.submit(job("a"), at_checkpoint=6)
    mode = Mode(code="F0", name="told", title="told by the test", needs=(), false_positives=(), neighbours=())
    fork = Matches(
        headline="Two runs write.", reasons=(), rows=(), last_good=None, wrong_run=job("b"), remedy=Remedy.RESOLVE_FORK
    )
    told = Diagnosed(diagnosis=Diagnosis(results=(ModeResult(mode=mode, examined=fork),)))
    bot.services.store.write(WL1, by=WATERLINE, decide=lambda _incident: [told])

    ana.types("/waterline propose resolve_fork", "orders-oncall")
    asked = ana.sees_on_proposal("Approve")
    ben.clicks("Approve", asked)
    same = cleo.answer_to(lambda: cleo.clicks("Approve", asked))
    finn.clicks("Approve", asked)
    shown = ana.sees_on_proposal("Execute")

    assert "Needs 2 approvals, from 2 different teams, not from the proposer." in asked.plain
    assert "It needs 1 more approval, from another team." in same
    assert "Approved by @Finn Vogel (team lakehouse) at" in shown.plain


@pytest.mark.parametrize("policy", [HELD])
def test_an_approved_proposal_waits_for_a_veto_and_then_goes_on(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Nobody is offered to carry it out before; afterwards the one who approved it is."""
    approved = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    held = ana.sees_on_proposal("veto window until")
    bot.clock.advances(timedelta(minutes=5))
    bot.services.duties.time_has_come(WL1)
    released = ana.sees_on_proposal("Execute")

    assert "The veto window ends at" in approved
    assert ("Reject…", "Veto…", "Tell consumers…") == held.buttons
    assert "may veto it until it runs." in held.plain
    assert "After approval, the veto window is 5 minutes." in proposed.plain
    assert "Approved, ready to run" in released.plain


@pytest.mark.parametrize("policy", [HELD])
def test_a_veto_stops_what_others_approved(
    proposed: SeenMessage, ana: Responder, ben: Responder, finn: Responder, bot: LittleBot
) -> None:
    """Only by whom the policy names, with a reason; who comes later hears who it was."""
    ben.answer_to(lambda: ben.clicks("Approve", proposed))
    held = ana.sees_on_proposal("veto window until")
    ben.clicks("Veto…", held)
    not_his = ben.answer_to(lambda: ben.fills_reason("I changed my mind."))
    finn.clicks("Veto…", held)
    finn.fills_reason("Month end closes at four.")
    vetoed = ana.sees_on_proposal("Vetoed by @Finn Vogel at")
    late = ben.answer_to(lambda: ben.clicks("Approve", proposed))

    assert "does not allow you to do this. Ask @Finn Vogel." in not_his
    assert "Month end closes at four." in vetoed.plain
    assert vetoed.buttons == ()
    assert "was vetoed by @Finn Vogel at" in late
    assert "Propose it again if it is still needed." in late


@pytest.mark.parametrize("policy", [GLASS])
def test_an_emergency_approval_mentions_the_owners_in_the_channel(
    proposed: SeenMessage, ana: Responder, ben: Responder, finn: Responder
) -> None:
    """One person approves alone, with a reason that the owners read at once; the proposer cannot."""
    ben.clicks("Emergency approval…", proposed)
    not_his = ben.answer_to(lambda: ben.fills_reason("It is urgent."))
    finn.clicks("Emergency approval…", proposed)
    finn.fills_reason("Wrong payouts leave at four.")
    mention = ana.waits_for(lambda m: f"<@{OWNER}>" in str(m.blocks) and "Wrong payouts leave at four." in m.plain)
    shown = ana.sees_on_proposal("Emergency approval by")

    assert "Ask @Finn Vogel." in not_his
    assert "The policy asks for 2 approvals; no others had approved." in mention.plain
    assert "Execute" in shown.buttons


def test_who_has_not_decided_is_reminded_until_it_is_decided(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """One reminder in the proposal's thread each ten minutes; it does not send anybody to what is decided."""
    bot.clock.advances(timedelta(minutes=10))
    for _ in range(2):
        bot.services.duties.time_has_come(WL1)
    reminder = ana.sees("still waits for 1 approval, until")
    ben.clicks("Approve", proposed)
    decided = ana.sees("is approved now. Nobody needs to decide.")

    eventually(lambda: view(bot).state is ProposalState.APPROVED)
    assert reminder.ts == decided.ts
    assert "@orders-approvers" in reminder.plain
    assert 1 == view(bot).reminders


def test_an_approver_may_take_it_back_until_it_is_carried_out(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Nobody has to wait for the end of the term to propose something better."""
    ben.clicks("Approve", proposed)
    approved = ana.sees_on_proposal("Execute")
    ben.clicks("Reject…", approved)
    ben.fills_reason("The savepoint is the wrong one.")

    rejected = ana.sees_on_proposal("Rejected by @Ben Okafor at")
    late = ana.answer_to(lambda: ana.clicks("Execute", approved))

    assert rejected.buttons == ()
    assert "was rejected by @Ben Okafor at" in late
