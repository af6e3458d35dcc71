"""What a person sent from a form, or to another incident, arrives late: it is refused where it no longer fits."""

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.slack.test_faults_of_slack import WL, notes

NEXT = IncidentId("wl-2")


def test_a_note_that_the_close_overtook_is_refused(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """It was sent first; the record has ended by then."""
    ana.asks("assign")
    ana.clicks("Add a note…", collected)
    ana.fills({"reason": "One more thing."})
    slack.faults.holds_deliveries()
    ana.submits()
    ana.asks("close anyway, it was a test")

    heard = ana.answer_to(slack.faults.lets_through)

    assert "Incident wl-1 is closed." in heard
    assert 0 == notes(bot)


def test_a_command_to_open_that_another_overtook_says_who_was_first(
    ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Ana typed first; Ben's incident is there when her command arrives."""
    slack.faults.sets_rules(trigger_s=60)
    slack.faults.holds_deliveries()
    ana.types("/waterline open")
    ben.opens()

    slack.faults.lets_through()

    assert "wl-1" in ana.reads_form()
    assert [WL] == [incident.id for incident in bot.services.store.all()]


def test_a_form_to_open_that_another_overtook_is_answered_although_it_is_closed(
    ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Both have the form open; Ana sends hers first, and Ben's arrives first."""
    ana.opens_form()
    ben.opens_form()
    slack.faults.holds_deliveries()
    ana.submits()
    ben.submits()
    ben.sees_on_card("under review")

    heard = ana.answer_to(slack.faults.lets_through)

    assert "wl-1" in heard
    assert [WL] == [incident.id for incident in bot.services.store.all()]


def test_a_click_on_an_incident_that_has_ended_does_nothing_to_the_next(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The same table, the same channel, the same label; the button says which incident it is of."""
    ana.asks("assign")
    slack.faults.holds_deliveries()
    ana.clicks("Propose", collected)
    ana.asks("close anyway, it was a test")
    ana.opens()
    eventually(lambda: bot.services.store.get(NEXT).waterline is not None)

    heard = ana.answer_to(slack.faults.lets_through)

    assert "Incident wl-1 is closed." in heard
    assert {} == bot.services.store.get(NEXT).proposals


def test_a_command_for_an_incident_that_has_ended_says_to_which_it_went(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """Slack does not say when a command was typed: it is for the channel's open incident, and the answer names it."""
    ana.asks("assign")
    slack.faults.holds_deliveries()
    ana.types("/waterline note the first one")
    ana.asks("close anyway, it was a test")
    ana.opens()

    heard = ana.answer_to(slack.faults.lets_through)

    assert "Noted in wl-2." in heard
