"""Slack delivers the later of two things first: nothing is lost, nothing is done twice, each is answered sensibly."""

from bot.domain.execution import ProposalState
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.slack.test_faults_of_slack import WL, notes


def test_two_commands_the_wrong_way_round_are_both_done(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The record has them in the order in which they arrived, each once."""
    slack.faults.holds_deliveries()

    ana.types("/waterline note first")
    ana.types("/waterline note second")
    eventually(lambda: notes(bot) == 1)
    slack.faults.lets_through()
    eventually(lambda: notes(bot) >= 2)
    ana.asks("status")

    said = [entry.body.text for entry in bot.services.store.get(WL).entries if entry.body.kind == "note-added"]
    assert ["second", "first"] == said


def test_a_click_that_a_closing_overtook_proposes_nothing(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Propose was clicked first; the command to close, typed after it, arrived before."""
    ana.asks("assign")
    slack.faults.holds_deliveries()

    ana.clicks("Propose", collected)
    answer = ana.answer_to(lambda: ana.types("/waterline close anyway, it was a test"))
    eventually(lambda: not bot.services.store.get(WL).is_open)
    heard = ana.answer_to(slack.faults.lets_through)

    assert answer
    assert "Incident wl-1 is closed." in heard
    assert {} == bot.services.store.get(WL).proposals


def test_a_yes_that_a_no_overtook_does_not_count(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben approves, then Ana withdraws; her word arrives first, and his click hears that it is over."""
    shown = ana.proposes()
    ana.clicks("Reject…", shown)
    slack.faults.holds_deliveries()

    ben.clicks("Approve", shown)
    ana.fills_reason("The bounds are wrong.")
    ana.sees_on_proposal("Rejected")
    heard = ben.answer_to(slack.faults.lets_through)

    assert "was rejected" in heard
    view = next(iter(bot.services.store.get(WL).proposals.values()))
    assert ProposalState.REJECTED is view.state
    assert [] == view.approvals


def test_a_form_that_is_sent_before_the_click_on_another_button_arrives(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben's click on the card is overtaken by the form that Ana sends: the note and the proposal are both there."""
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "It began at nine."})
    slack.faults.holds_deliveries()

    ben.clicks("Propose", collected)
    ana.submits()
    eventually(lambda: notes(bot) > 0)
    slack.faults.lets_through()
    ana.sees_on_proposal("Approve")

    assert 1 == notes(bot)
    assert 1 == len(bot.services.store.get(WL).proposals)
