"""The contract review and a planned savepoint, as people meet them in Slack."""

from datetime import UTC, datetime, timedelta

import pytest

from bot.domain.ids import IncidentId
from bot.domain.review import open_items
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

WL = IncidentId("wl-1")


def reviewed(ana: Responder) -> SeenMessage:
    """The review's message."""
    return ana.sees("Contract review:")


def test_a_term_is_handed_on_and_settled_after_the_incident_has_ended(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """Closing opens the review; its owner is told at Home until he has settled it, with a reason."""
    ana.asks("close anyway: the consumers can wait.")
    [broken, *_] = open_items(bot.services.store.get(WL))
    ana.clicks("Change…", reviewed(ana))
    ana.reads_form()
    ana.fills({"owner": "ben", "due": datetime.now(UTC).date() + timedelta(days=40)})
    handed = ana.answer_to(ana.submits)
    due_at_home = ben.home().plain

    ben.clicks("Change…", reviewed(ben))
    ben.reads_form()
    ben.fills({"way": "It is fixed", "reason": "The deployment checks the pair."})
    settled = ben.answer_to(ben.submits)

    term = broken.finding.term.rstrip(".")
    assert f"“{term}” is assigned to @Ben" in handed
    assert f"fix “{term}”, wl-1" in due_at_home
    assert settled == f"“{term}” is fixed."
    assert "Fixed: The deployment checks the pair." in ben.sees("Fixed: The deployment checks the pair.").plain
    assert f"fix “{term}”" not in ben.home().plain


def test_a_term_is_not_settled_without_a_sentence(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """The refusal says what is missing; the term stays open."""
    ana.asks("review")
    before = open_items(bot.services.store.get(WL))

    ana.clicks("Change…", reviewed(ana))
    ana.reads_form()
    ana.fills({"way": "It is accepted as it is"})
    answer = ana.answer_to(ana.submits)

    assert "A reason is missing." in answer
    assert open_items(bot.services.store.get(WL)) == before


@pytest.mark.smoke
def test_a_savepoint_is_planned_in_a_form_and_stops_nothing(
    collected: SeenMessage, ana: Responder, bot: LittleBot
) -> None:
    """The plan is on record with its end; the job goes on, and the catalogue is empty."""
    told = list(bot.flink.calls)

    ana.opens_form("savepoint sales.orders")
    terms = {"reason": "New pricing.", "before": "1.4", "after": "1.5"}
    ana.fills({**terms, "over": "2099-12-01 14:10"})
    answer = ana.answer_to(ana.submits)
    listed = ana.asks("savepoints")

    plan = bot.services.store.get(WL).plan
    assert plan is not None
    assert (plan.reason, plan.code_before, plan.code_after) == ("New pricing.", "1.4", "1.5")
    assert str(plan.over_by) == "2099-12-01 14:10:00+00:00"
    assert "Plan saved in wl-1. Nothing is stopped" in answer
    assert "Savepoint planned, from code 1.4 to 1.5: New pricing." in ana.sees("Savepoint planned").plain
    assert "is kept yet" in listed
    assert bot.flink.calls == told


def test_a_time_that_is_none_is_told_at_its_field(collected: SeenMessage, ana: Responder, bot: LittleBot) -> None:
    """The form stays open with the plan that was typed, and takes the time when it is one."""
    ana.opens_form("savepoint sales.orders")
    ana.fills({"reason": "New pricing.", "before": "1.4", "after": "1.5", "over": "after lunch"})

    told = ana.submits().errors
    ana.fills({"over": "14:10"})
    answer = ana.answer_to(ana.submits)

    assert "“after lunch” is not a time. Expected 14:10 (the next one)" in told["over"]
    assert "Plan saved in wl-1." in answer
