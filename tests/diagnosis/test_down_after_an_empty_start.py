"""F15 whose job is down: what must be known before it is brought back is collected by whoever diagnoses."""

from collections.abc import Callable
from datetime import timedelta

import pytest

from bot.diagnosis import restarted_from_empty
from bot.domain.diagnosis import Case, Diagnosis, Matches, Remedy
from bot.domain.errors import Refused
from tests.cases import Tale
from tests.diagnosis.test_asked_for import World, diagnosed
from tests.diagnosis.test_looks_grow_old import Anew

MINUTE = timedelta(minutes=1)
ROWS = ["duplicate_rows", "missing_positions"]


def goes_on(tale: Tale) -> None:
    """Two more checkpoints have their commits."""
    tale.commits("b", 3, 4)


def is_idle(tale: Tale) -> None:
    """Two more checkpoints complete, and there was nothing to commit."""
    tale.completes("b", 3, 4)


def down(then: Callable[[Tale], None]) -> tuple[Case, Case]:
    """The case while the run without state was alive, and after this happened, and the run has died."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "CANCELED").flink_runs("b").commits("b", 1, 2)
    alive = tale.looked_at()
    tale.now += 3 * MINUTE
    then(tale)
    tale.now += 2 * MINUTE
    tale.becomes("b", "FAILED")
    tale.now += MINUTE
    return alive, tale.looked_at()


def looked_at(world: World, then: Callable[[Tale], None], *, without: str | None = None) -> World:
    """All was looked at while the run was alive (`without`: but for this); then that."""
    world.case, now = down(then)
    world.runs.clear()
    world.looks()
    world.runs = [run for run in world.runs if run.task != without]
    world._known.clear()
    world.case = now
    return world


def told(diagnosis: Diagnosis) -> Matches:
    """What F15 says."""
    return next(found for mode, found in diagnosis.matches if mode.code == "F15")


@pytest.mark.parametrize(
    ("then", "without", "asked"),
    [(is_idle, "orphan_files", ["orphan_files"]), (is_idle, None, ["orphan_files"]), (goes_on, None, ROWS)],
)
def test_what_must_be_known_is_collected_and_settles_it(
    then: Callable[[Tale], None], without: str | None, asked: list[str]
) -> None:
    """It said what to know, and nobody collected it: the job stayed down."""
    world = looked_at(Anew(), then, without=without)

    diagnosis = diagnosed(world)

    assert asked == world.asked
    assert told(diagnosis).remedy is Remedy.RESTORE_JOB_ONLY
    assert "asks" not in told(diagnosis).model_dump(mode="json")


@pytest.mark.parametrize(("then", "asked"), [(is_idle, ["orphan_files"]), (goes_on, ROWS)])
def test_what_gives_no_answer_is_named_and_not_run_again_at_every_diagnosis(
    then: Callable[[Tale], None], asked: list[str]
) -> None:
    """Counting rows takes minutes; what was counted before still counts."""
    world = looked_at(World(Refused), then)

    diagnosis = diagnosed(world)
    again = diagnosed(world)

    assert asked == world.asked
    assert [Remedy.TELL_CONSUMERS] * 2 == [told(each).remedy for each in (diagnosis, again)]
    assert all(f"must be known: {', '.join(asked)}" in told(each).reasons[-1] for each in (diagnosis, again))


def test_it_says_what_to_ask_for() -> None:
    """A responder reads it where nobody collects by itself."""
    _alive, dead = down(is_idle)

    found = restarted_from_empty.examine(dead.model_copy(update={"orphans": None}))

    assert isinstance(found, Matches)
    assert ("orphan_files",) == found.asks
    assert found.reasons[-1].endswith("Ask for orphan_files.")
