"""A yes that Slack delivers late counts for what it was given to, or for nothing; whoever gave it hears which."""

from datetime import timedelta

import pytest

from bot.domain.approval import ApprovalPolicy
from bot.domain.entries import Body, NoticeQueued
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.journal import WATERLINE
from bot.domain.notice import Notice
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.orders import Orders
from tests.slack.people import Responder, eventually
from tests.slack.test_faults_of_slack import WL


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


def test_a_yes_to_what_was_proposed_anew_does_not_count_for_the_new(
    given: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ana withdraws and proposes again, with the same words, before his click arrives."""
    ana.clicks("Reject…", given)
    ana.fills_reason("Later.")
    ana.clicks("Propose again", ana.sees_on_card("Propose again"))
    eventually(lambda: len(proposals(bot)) == 2)

    heard = ben.answer_to(slack.faults.lets_through)

    assert "was rejected by @Ana" in heard
    assert [ProposalState.REJECTED, ProposalState.PROPOSED] == [view.state for view in proposals(bot)]
    assert [[], []] == [view.approvals for view in proposals(bot)]


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


def test_a_yes_that_arrives_after_the_end_does_not_count(
    given: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """It was given in time; what counts is when it can be known."""
    bot.clock.advances(timedelta(minutes=30))
    bot.services.duties.settle_all()
    ana.sees_on_proposal("Expired")

    heard = ben.answer_to(slack.faults.lets_through)

    assert "was expired" in heard
    assert "Propose it again" in heard
    assert [[]] == [view.approvals for view in proposals(bot)]


def test_the_second_approval_is_not_asked_for_before_the_first_has_arrived(
    given: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Publication comes after the rehearsal: asked for too early it is refused, and the yes still counts."""
    early = ana.asks("propose publish_repair")

    slack.faults.lets_through()
    ana.sees_on_proposal("Execute")

    assert "Another proposal is waiting for approval." in early
    [view] = proposals(bot)
    assert (ProposalState.APPROVED, 1) == (view.state, len(view.approvals))


def test_a_warning_that_the_all_clear_overtook_is_not_sent(
    ana: Responder, ben: Responder, dana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben sends it when consumers have heard that the table can be trusted again."""
    setup = next(iter(bot.services.observer.tables.values()))
    policies = {**setup.policies, "notice:first_warning": ApprovalPolicy(groups=("S0APPROVE1",))}
    bot.services.observer.tables = {setup.name: setup.model_copy(update={"policies": policies})}
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
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
