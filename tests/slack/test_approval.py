"""Who may decide about a proposal, how often and until when; a late yes counts for what it was given to."""

import json
from datetime import timedelta

import pytest
from slack_sdk import WebClient

from bot.incident.approval import ApprovalPolicy, GlassRule, People, VetoRule
from bot.incident.entries import Body, NoticeQueued
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.journal import WATERLINE
from bot.incident.notice import Notice
from bot.observation.ids import IncidentId, UserId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually
from tests.slack.test_faults_of_slack import WL

BEN, CLEO = UserId("U0BEN00002"), UserId("U0CLEO0003")


@pytest.fixture
def proposed(collected: SeenMessage, ana: Responder) -> SeenMessage:
    """A rewind that Ana proposed."""
    return ana.proposes()


def state(bot: LittleBot) -> ProposalState:
    """Of the newest proposal."""
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    assert view is not None
    return view.state


def test_the_evidence_is_cited_by_the_titles_of_the_card(proposed: SeenMessage) -> None:
    """Whoever approves has read of “Restore points”, never of `checkpoint_pairing`."""
    told = proposed.plain.partition("Evidence:")[2].partition("\n")[0]

    assert "Restore points (OK)" in told
    assert "_" not in told


def test_the_proposer_is_told_whom_to_ask(proposed: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """The proposer never approves."""
    answer = ana.answer_to(lambda: ana.clicks("Approve", proposed))

    assert "You proposed this" in answer
    assert "orders-approvers" in answer
    assert state(bot) is ProposalState.PROPOSED


@pytest.mark.smoke
def test_an_outsider_may_look_and_not_decide(proposed: SeenMessage, finn: Responder, bot: LittleBot) -> None:
    """Who is not in the group sees everything, and neither approves, rejects nor carries out."""
    approving = finn.answer_to(lambda: finn.clicks("Approve", proposed))
    finn.clicks("Reject…", proposed)
    rejecting = finn.answer_to(lambda: finn.fills_reason("I do not like it."))

    assert "You are not an approver" in approving
    assert "You are not an approver" in rejecting
    assert "orders-approvers" in rejecting
    assert state(bot) is ProposalState.PROPOSED


@pytest.mark.smoke
def test_one_approval_is_enough_and_the_second_click_is_told_so(
    proposed: SeenMessage, ben: Responder, cleo: Responder, bot: LittleBot
) -> None:
    """Whoever clicks later, on the old message too, hears who approved and when."""
    first = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    again = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    late = cleo.answer_to(lambda: cleo.clicks("Approve", proposed))

    assert "Approved." in first
    assert "is approved already. It was approved by @Ben Okafor at" in again
    assert "is approved already. It was approved by @Ben Okafor at" in late
    assert state(bot) is ProposalState.APPROVED
    assert len(bot.services.store.get(IncidentId("wl-1")).proposals) == 1


@pytest.mark.smoke
def test_a_rejection_needs_a_reason_and_shows_it(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """The message shows who rejected, when and why; a new proposal can be made."""
    ben.clicks("Reject…", proposed)
    without = ben.answer_to(lambda: ben.fills_reason("   "))
    ben.clicks("Reject…", proposed)
    ben.fills_reason("Ask the job's owners first.")
    rejected = ana.sees_on_proposal("Rejected by @Ben Okafor at")

    assert "A rejection needs a reason." in without
    assert "Ask the job's owners first." in rejected.plain
    assert rejected.buttons == ()
    assert "Propose again" in ana.sees_on_card("Propose again").buttons


@pytest.mark.smoke
def test_an_expired_proposal_says_so_and_can_be_proposed_anew(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """A click after the term does not count, and the message shows that it is over."""
    bot.clock.advances(timedelta(minutes=30))

    answer = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    bot.services.reconciler.reconcile_all()
    expired = ana.sees_on_proposal("Expired")
    ana.clicks("Propose again", ana.sees_on_card("Propose again"))
    anew = ana.waits_for(lambda m: "Approve" in m.buttons, after=expired)

    assert "expired at" in answer
    assert expired.buttons == ()
    assert anew.ts != proposed.ts


def test_a_click_does_not_count_while_the_group_cannot_be_read(
    proposed: SeenMessage, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Who could not be looked up has not approved; later the same person's click counts."""
    slack.faults.fails("usergroups.users.list", "internal_error")
    unread = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    before = state(bot)
    later = ben.answer_to(lambda: ben.clicks("Approve", proposed))

    assert "so your click cannot count" in unread
    assert before is ProposalState.PROPOSED
    assert "Approved." in later


def test_an_approval_of_another_content_is_refused(
    proposed: SeenMessage, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The button carries the digest of what was shown; a message that shows something else does not approve."""
    blocks = json.loads(json.dumps(proposed.blocks))
    rows = [block["elements"] for block in blocks if block["type"] == "actions"]
    button = next(each for row in rows for each in row if each["text"]["text"] == "Approve")
    button["value"] = button["value"].rsplit("/", 1)[0] + "/" + "0" * 64
    client = WebClient(slack.bot_token, base_url=slack.api_url)
    client.chat_update(channel=proposed.channel, ts=proposed.ts, blocks=blocks, text="Less will happen")

    answer = ben.answer_to(lambda: ben.clicks("Approve", ben.proposal))

    assert "You saw an older version" in answer
    assert state(bot) is ProposalState.PROPOSED


APPROVAL_RULES_BEN, APPROVAL_RULES_CLEO, FINN = UserId("U0BEN00002"), UserId("U0CLEO0003"), UserId("U0FINN0006")
OWNER = "U0DANA0004"
HOUR = timedelta(hours=1)
WL1 = IncidentId("wl-1")
TEAMS = {"streaming": People(users=(APPROVAL_RULES_BEN, APPROVAL_RULES_CLEO)), "lakehouse": People(users=(FINN,))}
TWO_TEAMS = ApprovalPolicy(required=2, different_teams=2, teams=TEAMS, expires_after=HOUR)
HELD = ApprovalPolicy(
    users=(APPROVAL_RULES_BEN,), expires_after=HOUR, veto=VetoRule(users=(FINN,), hold=timedelta(minutes=5))
)
GLASS = ApprovalPolicy(
    users=(APPROVAL_RULES_BEN, APPROVAL_RULES_CLEO),
    required=2,
    expires_after=HOUR,
    break_glass=GlassRule(users=(FINN,), owners=(OWNER,)),
)


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


@pytest.mark.parametrize("policy", [HELD])
def test_an_approved_proposal_waits_for_a_veto_and_then_goes_on(
    proposed: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Nobody is offered to carry it out before; afterwards the one who approved it is."""
    approved = ben.answer_to(lambda: ben.clicks("Approve", proposed))
    held = ana.sees_on_proposal("veto window until")
    bot.clock.advances(timedelta(minutes=5))
    bot.services.reconciler.reconcile_due()
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
        bot.services.reconciler.reconcile_due()
    reminder = ana.sees("still waits for 1 approval, until")
    ben.clicks("Approve", proposed)
    decided = ana.sees("is approved now. Nobody needs to decide.")

    eventually(lambda: view(bot).state is ProposalState.APPROVED)
    assert reminder.ts == decided.ts
    assert "@orders-approvers" in reminder.plain
    assert 1 == view(bot).reminders


@pytest.fixture
def given(collected: SeenMessage, ana: Responder, ben: Responder, slack: Workspace) -> SeenMessage:
    """Ana has proposed, and Ben's yes is on its way."""
    shown = ana.proposes()
    slack.faults.holds_deliveries()
    ben.clicks("Approve", shown)
    return shown


def proposals(bot: LittleBot) -> list[ProposalView]:
    """In the order in which they were made."""
    return list(bot.services.store.get(WL).proposals.values())


def test_a_yes_that_the_world_overtook_does_not_count(
    given: SeenMessage, cleo: Responder, ben: Responder, bot: LittleBot, orders: Orders, slack: Workspace
) -> None:
    """Somebody commits, and Cleo's yes finds it first."""
    orders.spark_appends()
    cleo.answer_to(lambda: cleo.clicks("Approve", given))

    heard = ben.answer_to(slack.faults.lets_through)

    assert "was superseded" in heard
    assert "local-17" in heard
    [view] = proposals(bot)
    assert (ProposalState.SUPERSEDED, []) == (view.state, view.approvals)


def test_a_warning_that_the_all_clear_overtook_is_not_sent(
    ana: Responder, ben: Responder, dana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben sends it when consumers have heard that the table can be trusted again."""
    setup = next(iter(bot.services.observer.tables.values()))
    policies = {**setup.policies, "notice:warning": ApprovalPolicy(groups=("S0APPROVE1",))}
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    ana.opens_and_warns()
    ben.clicks("Read and send…", ben.sees("please read and send it"))
    ben.reads_form()
    eventually(lambda: bot.services.store.get(WL).waterline is not None)
    slack.faults.holds_deliveries()
    ben.submits()
    back = bot.services.store.get(WL).waterline
    assert back is not None
    clear = Notice(kind="recovered", revision=1, consumer="revenue_daily", channel="C0REVENUE2", text="It is right.")
    _says(bot, back.model_copy(update={"status": "trusted"}), NoticeQueued(notice=clear))
    dana.sees("It is right.", "revenue-analytics")

    heard = ben.answer_to(slack.faults.lets_through)

    assert "has a valid all-clear." in heard
    assert "Nothing was sent." in heard
    assert ["It is right."] == [message.plain.split("\n")[0] for message in dana.messages("revenue-analytics")]


def _says(bot: LittleBot, *bodies: Body) -> None:
    bot.services.store.write(WL, by=WATERLINE, decide=lambda _now: bodies)
