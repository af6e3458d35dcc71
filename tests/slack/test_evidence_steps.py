"""Evidence on demand: run, run again, cancel, fail; skipping; late clicks on an old card."""

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import SeenMessage
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder

WL = IncidentId("wl-1")


def runs_of(bot: LittleBot, task: str) -> int:
    """How often this task was asked for."""
    return sum(run.task == task for run in bot.services.store.get(WL).runs.values())


@pytest.mark.smoke
def test_evidence_answers_in_the_thread_and_the_card_goes_on(ana: Responder) -> None:
    """The answer names its pinned head, and the card shows the next step and why."""
    card = ana.opens()

    ana.clicks("Run evidence", card)
    answer = ana.sees("Pinned to head")
    after = ana.sees_on_card("Step 2: Duplicate rows")

    assert answer.thread_ts == card.ts
    assert "Pinned to head" in answer.plain
    assert "5 commits by 2 writers" in after.plain


def test_the_card_names_what_happened_and_not_what_it_asks_for(collected: SeenMessage) -> None:
    """“Name what happened: rewind table and job. F2: …” was no name of anything that happened."""
    [told] = [line for line in collected.plain.splitlines() if "Name what happened: " in line]

    assert "Name what happened: F2. " in told
    assert "F2: " not in told


@pytest.mark.smoke
def test_two_people_who_click_run_get_one_run(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """The second click is answered; Spark is asked once."""
    card = ana.opens()
    bot.runner.slow()
    ana.clicks("Run evidence", card)
    ana.sees_on_card("Running: 3 of 8 Spark tasks")

    answer = ben.answer_to(lambda: ben.clicks("Run evidence", card))
    bot.runner.quick()
    ana.sees_on_card("Step 2")

    assert "Commit history is running already." in answer
    assert runs_of(bot, "ledger") == 1
    assert bot.runner.runs == 1


def test_a_cancelled_run_can_be_run_again(ana: Responder, bot: LittleBot) -> None:
    """Cancel ends the run at once, the step stays, and the incident goes on."""
    card = ana.opens()
    bot.runner.slow()
    ana.clicks("Run evidence", card)
    running = ana.sees_on_card("Running: 3 of 8")

    ana.answer_to(lambda: ana.clicks("Cancel", running))
    cancelled = ana.sees_on_card("Run again")
    late = ana.answer_to(lambda: ana.clicks("Cancel", running))
    bot.runner.quick()
    ana.clicks("Run again", cancelled)
    ana.sees_on_card("Step 2")

    assert "cancelled" in cancelled.plain
    assert "This run has ended already." in late
    assert runs_of(bot, "ledger") == 2


def test_a_spark_that_goes_away_is_said_and_can_be_asked_again(ana: Responder, bot: LittleBot) -> None:
    """A failed run has a sentence in card and thread; the walk stays where it is."""
    card = ana.opens()
    bot.runner.fails()

    ana.clicks("Run evidence", card)
    told = ana.sees("Commit history could not be answered")
    failed = ana.sees_on_card("Run again")
    ana.clicks("Run again", failed)
    ana.sees_on_card("Step 2")

    assert "Spark went away. Expected an answer; the server has ended. Ask again." in told.plain
    assert "Spark went away" in failed.plain
    assert bot.services.store.get(WL).is_open


@pytest.mark.smoke
def test_a_restart_finishes_what_was_asked(ana: Responder, bot: LittleBot) -> None:
    """Evidence that ran when the bot ended is run by the next start, without another click."""
    card = ana.opens()
    bot.runner.slow()
    ana.clicks("Run evidence", card)
    ana.sees_on_card("Running: 3 of 8")

    bot.close()
    bot.runner.quick()
    bot.start()
    ana.sees_on_card("Step 2")

    assert runs_of(bot, "ledger") == 1
    assert bot.runner.runs == 2


def test_a_step_is_skipped_only_with_a_reason(ana: Responder, bot: LittleBot) -> None:
    """Without a reason it is refused; with one the card says who passed it over and why."""
    card = ana.opens()
    ana.clicks("Skip…", card)
    without = ana.answer_to(lambda: ana.fills_reason(" "))
    ana.clicks("Skip…", ana.card)
    ana.fills_reason("The metadata is known.")
    after = ana.sees_on_card("Step 2")

    assert "Skipping a step needs a reason." in without
    assert "The metadata is known." in after.plain
    assert runs_of(bot, "ledger") == 0


def test_a_step_that_needs_approval_offers_no_skip(collected: SeenMessage) -> None:
    """An action is proposed and decided; it is never passed over."""
    assert "Propose" in collected.buttons
    assert "Skip…" not in collected.buttons


def test_a_late_click_on_an_old_card_is_answered(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """Skipping a step that somebody took meanwhile says where the walk is now."""
    card = ana.opens()
    ana.clicks("Run evidence", card)
    ana.sees_on_card("Step 2")

    ben.clicks("Skip…", card)
    answer = ben.answer_to(lambda: ben.fills_reason("Too slow."))

    assert "This step is no longer the current one." in answer
    assert "Now the current step is “Duplicate rows”." in answer


def test_a_click_on_a_closed_incident_is_answered(ana: Responder, ben: Responder) -> None:
    """The old card's buttons say that the incident is over."""
    card = ana.opens()
    ana.asks("close A false alarm.")

    running = ben.answer_to(lambda: ben.clicks("Run evidence", card))
    taking = ben.answer_to(lambda: ben.clicks("Take over", card))

    assert "Incident wl-1 is closed." in running
    assert "Incident wl-1 is closed." in taking
