"""A button or a form that was left from before takes no yes to a proposal whose message is cut by now."""

import pytest

from bot.incident.approval import ApprovalPolicy, GlassRule
from bot.incident.execution import ProposalState
from bot.observation.ids import IncidentId, UserId
from bot.slack import limits
from bot.workspace import SeenMessage
from tests.slack.little_bot import APPROVERS, LittleBot
from tests.slack.people import Responder


@pytest.fixture
def policy() -> ApprovalPolicy:
    """The approvers, of whom Cleo may break the glass."""
    glass = GlassRule(users=(UserId("U0CLEO0003"),), owners=("S0OWNERS01",))
    return APPROVERS.model_copy(update={"break_glass": glass})


def test_late_clicks_on_what_is_cut_do_not_count(
    collected: SeenMessage,
    ana: Responder,
    ben: Responder,
    cleo: Responder,
    bot: LittleBot,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Slack holds less than it did when the message was sent: the buttons of then are still on somebody's screen."""
    shown = ana.proposes()
    cleo.clicks("Emergency approval…", shown)
    monkeypatch.setattr(limits, "AGGREGATE_TEXT", 500)

    approving = ben.answer_to(lambda: ben.clicks("Approve", shown))
    breaking = cleo.answer_to(lambda: cleo.fills_reason("It burns."))

    for answer in (approving, breaking):
        assert "too long for one Slack message, so it cannot be approved there. Nothing was approved." in answer
        assert "waterline proposal show" in answer
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    assert view is not None
    assert (ProposalState.PROPOSED, []) == (view.state, view.approvals)
