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
    slack.faults.swaps_deliveries()

    ana.types("/waterline note first")
    ana.types("/waterline note second")
    eventually(lambda: notes(bot) >= 2)
    ana.asks("status")

    said = [entry.body.text for entry in bot.services.store.get(WL).entries if entry.body.kind == "note-added"]
    assert ["second", "first"] == said


def test_a_click_that_a_closing_overtook_proposes_nothing(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Propose was clicked first; the command to close, typed after it, arrived before."""
    ana.asks("assign")
    slack.faults.swaps_deliveries()

    ana.clicks("Propose", collected)
    answer = ana.answer_to(lambda: ana.types("/waterline close anyway, it was a test"))
    ana.sees("Incident wl-1 is closed.")

    assert answer
    assert {} == bot.services.store.get(WL).proposals
    assert not bot.services.store.get(WL).is_open


def test_a_yes_that_a_no_overtook_does_not_count(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben approves, then Ana withdraws; her word arrives first, and his click hears that it is over."""
    shown = ana.proposes()
    ana.clicks("Reject…", shown)
    slack.faults.swaps_deliveries()

    ben.clicks("Approve", shown)
    ana.fills_reason("The bounds are wrong.")
    ben.sees("was rejected")

    view = next(iter(bot.services.store.get(WL).proposals.values()))
    assert ProposalState.REJECTED is view.state
    assert [] == view.approvals


def test_a_form_that_is_sent_before_the_click_on_another_button_arrives(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ben's click on the card is overtaken by the form that Ana sends: the note and the proposal are both there."""
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "It began at nine."})
    slack.faults.swaps_deliveries()

    ben.clicks("Propose", collected)
    ana.submits()
    ana.sees_on_proposal("Approve")
    eventually(lambda: notes(bot) > 0)

    assert 1 == notes(bot)
    assert 1 == len(bot.services.store.get(WL).proposals)
