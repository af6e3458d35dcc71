"""Evidence on demand: run, run again, cancel, fail; skipping; late clicks on an old card."""

from collections.abc import Callable
from contextlib import closing

import pytest

from bot.evidence import tag_of
from bot.observation.evidence import Answer, Ask, Progress, Task
from bot.observation.ids import IncidentId, StepId, TableName
from bot.workspace import SeenMessage
from tests.little_flink import open_catalog
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually
from tests.tables import ORDERS

WL = IncidentId("wl-1")
ASKED = ("ledger", "duplicate_rows", "missing_positions", "checkpoint_pairing")
"""What the runbook of the scenarios asks for."""


def runs_of(bot: LittleBot, task: str) -> int:
    """How often this task was asked for."""
    return sum(run.task == task for run in bot.services.store.get(WL).runs.values())


@pytest.mark.smoke
def test_one_click_runs_what_the_runbook_asks_for(ana: Responder, bot: LittleBot) -> None:
    """One message of the thread has the answers, with the newest head; the card says what was found, and ends at the
    proposal."""
    card = ana.opens()

    ana.clicks("Run all", card)
    answer = ana.sees("at head ")
    after = ana.sees_on_card("Propose")

    assert answer.thread_ts == card.ts
    assert "5 commits by 2 writers" in after.plain
    assert "F2: " in after.plain
    assert [1, 1, 1, 1] == [runs_of(bot, task) for task in ASKED]


@pytest.mark.smoke
def test_the_card_says_what_runs_what_was_found_and_what_it_means(ana: Responder, bot: LittleBot) -> None:
    """One line a question while they run; what reads no rows is asked first."""
    card = ana.opens()
    bot.runner.slow("duplicate_rows", "missing_positions")

    ana.clicks("Run all", card)
    running = ana.sees_on_card("Missing positions: 3 of 8 Spark tasks")
    ana.sees_on_card("Stop collecting")
    bot.runner.quick()
    ana.sees_on_card("Propose")

    assert "Evidence: 2 of 4 answered" in running.plain
    assert "Commit history: note. 5 commits by 2 writers." in running.plain
    assert "Restore points: " in running.plain
    asked = [run.task for run in bot.services.store.get(WL).runs.values()]
    assert {"ledger", "checkpoint_pairing"} == set(asked[:2])


def test_the_card_names_what_happened_and_not_what_it_asks_for(collected: SeenMessage) -> None:
    """“Diagnose: roll back table and job. F2: …” was no name of anything that happened."""
    [told] = [line for line in collected.plain.splitlines() if "Diagnose: " in line]

    assert "Diagnose: F2. " in told
    assert "F2: " not in told


@pytest.mark.smoke
def test_two_people_who_click_run_all_get_one_run(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """The second click is answered; Spark is asked once."""
    card = ana.opens()
    bot.runner.slow()
    ana.clicks("Run all", card)
    ana.sees_on_card("3 of 8 Spark tasks")

    answer = ben.answer_to(lambda: ben.clicks("Run all", card))
    bot.runner.quick()
    ana.sees_on_card("Propose")

    assert "The evidence is running already." in answer
    assert runs_of(bot, "ledger") == 1


def test_stop_ends_what_runs_and_nothing_begins_until_somebody_lets_it(ana: Responder, bot: LittleBot) -> None:
    """Running tasks are interrupted, waiting ones do not begin, no later look begins any; then all of it is run."""
    card = ana.opens()
    bot.runner.slow()
    ana.clicks("Run all", card)
    running = ana.sees_on_card("3 of 8 Spark tasks")

    ana.answer_to(lambda: ana.clicks("Stop collecting", running))
    ana.sees_on_card("answered · stopped")
    ana.sees_on_card("was cancelled")
    eventually(lambda: bot.runner.is_idle)
    begun = bot.runner.runs
    bot.services.reconciler.reconcile_all()
    bot.restart()
    bot.services.reconciler.reconcile_all()
    bot.runner.quick()
    eventually(lambda: bot.services.store.get(WL).is_stopped)
    assert bot.runner.runs == begun <= 2
    ana.clicks("Run all", ana.sees_on_card("Run all"))
    ana.sees_on_card("Propose")

    assert runs_of(bot, "duplicate_rows") == 1
    assert runs_of(bot, "ledger") == 2


def test_stop_ends_a_diagnosis_that_still_reads(ana: Responder, bot: LittleBot) -> None:
    """Nothing is named from half of the evidence, no further task begins, and *Run all* names it."""
    card = ana.opens()
    bot.runner.slow("duplicate_commits")
    ana.clicks("Run all", card)
    naming = ana.sees_on_card("for a diagnosis: Duplicate commits")

    ana.answer_to(lambda: ana.clicks("Stop collecting", naming))
    eventually(lambda: bot.runner.is_idle)
    ana.sees_on_card("Run all")
    begun = bot.runner.runs
    bot.services.reconciler.reconcile_all()
    bot.runner.quick()
    named = bot.services.store.get(WL).outcomes.get(StepId("name-it"))
    after = bot.runner.runs
    ana.clicks("Run all", ana.sees_on_card("Run all"))
    ana.sees_on_card("Propose")

    assert named is None
    assert begun == after


def test_a_spark_that_goes_away_is_said_and_can_be_asked_again(ana: Responder, bot: LittleBot) -> None:
    """A failed run has a sentence in card and thread; the others are answered, and the walk waits for this one."""
    card = ana.opens()
    bot.runner.fails()

    ana.clicks("Run all", card)
    told = ana.sees("could not be answered")
    failed = ana.sees_on_card("Run all")
    ana.sees_on_card("3 of 4 answered")
    ana.clicks("Run all", failed)
    ana.sees_on_card("Propose")

    assert "Spark went away. Expected an answer; the server has ended. Ask again." in told.plain
    assert "Spark went away" in failed.plain
    assert 5 == sum(runs_of(bot, task) for task in ASKED)


@pytest.mark.smoke
def test_a_restart_finishes_what_was_asked(ana: Responder, bot: LittleBot) -> None:
    """Evidence that ran when the bot ended is run by the next start, and the rest after it, without another click."""
    card = ana.opens()
    bot.runner.slow()
    ana.clicks("Run all", card)
    ana.sees_on_card("3 of 8 Spark tasks")
    eventually(lambda: bot.runner.runs == 2)

    bot.close()
    bot.runner.quick()
    bot.start()
    ana.sees_on_card("Propose")

    assert [1, 1, 1, 1] == [runs_of(bot, task) for task in ASKED]


def test_two_incidents_at_once_take_turns(ana: Responder, bot: LittleBot) -> None:
    """Whoever opens the second one does not wait for all evidence of the first."""
    ana.opens()
    refunds = TableName("sales.refunds")
    with closing(open_catalog(bot.folder)) as catalog:
        catalog.register_table(refunds, catalog.load_table(ORDERS).metadata_location)
    setup = bot.services.observer.setup(ORDERS).model_copy(update={"name": refunds})
    bot.services.observer.tables = {**bot.services.observer.tables, refunds: setup}
    opened = bot.services.store.get(WL).opened.model_copy(update={"table": refunds})
    other = bot.services.store.open(opened, by="U0BEN00002").id
    begun: list[IncidentId] = []
    run = bot.runner.run

    def noted(task: Task, ask: Ask, *, tag: str, on_progress: Callable[[Progress], None]) -> tuple[Answer, int]:
        known = {tag_of(each): i for i in (WL, other) for each in bot.services.store.get(i).runs}
        begun.append(known[tag])
        return run(task, ask, tag=tag, on_progress=on_progress)

    bot.runner.slow()
    bot.runner.run = noted  # type: ignore[method-assign]
    for each in (WL, other):
        bot.services.evidence.go_on(each, by="U0ANA00001")
        bot.services.reconciler.walk_on(each)
    eventually(lambda: len([r for i in (WL, other) for r in bot.services.store.get(i).runs.values()]) == 4)
    bot.runner.quick()
    eventually(lambda: len(begun) == 8)

    assert {WL, other} == set(begun[:4])


def test_a_diagnosis_that_shows_another_symptom_offers_its_runbook(
    ana: Responder, ben: Responder, bot: LittleBot
) -> None:
    """One click goes on there: what both ask for is kept, the rest runs by itself, and it is named anew."""
    ana.opens("missing-rows")
    ana.collects_evidence()

    offered = ana.sees_on_card("Change the runbook")
    ana.clicks("Change the runbook", offered)
    ana.sees_on_card("wl-1: The job was restored from the wrong savepoint")
    changed = ana.sees_on_card("Propose")
    late = ben.answer_to(lambda: ben.clicks("Change the runbook", offered))

    assert "The diagnosis fits another symptom: The job was restored from the wrong savepoint." in offered.plain
    assert "Change the runbook" not in changed.buttons
    assert "This runbook fits no better now." in late
    assert [1, 1, 1, 1, 1] == [runs_of(bot, task) for task in (*ASKED, "recovery_extent")]


def test_a_step_is_skipped_only_with_a_reason(ana: Responder, bot: LittleBot) -> None:
    """Without a reason it is refused; with one the card says who passed it over and why."""
    card = ana.opens()
    ana.clicks("Skip…", card)
    without = ana.answer_to(lambda: ana.fills_reason(" "))
    ana.clicks("Skip…", ana.card)
    ana.fills_reason("The metadata is known.")
    after = ana.sees_on_card("was skipped")

    assert "Skipping a step needs a reason." in without
    assert "The metadata is known." in after.plain
    assert runs_of(bot, "ledger") == 0


def test_a_late_click_on_an_old_card_is_answered(ana: Responder, ben: Responder, bot: LittleBot) -> None:
    """Skipping a step that is done meanwhile says where the walk is now."""
    card = ana.opens()
    ana.collects_evidence()

    ben.clicks("Skip…", card)
    answer = ben.answer_to(lambda: ben.fills_reason("Too slow."))

    assert "This step is no longer the current one." in answer
    assert "Now the current step is “Propose the repair”." in answer
