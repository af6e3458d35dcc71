"""Histories in which a start was overlooked that may have read nothing of what came before, or all of it once more;
each is reduced to what it takes."""

import pytest

from tests.diagnosis.histories.drawn import Event, Plan, played
from tests.diagnosis.histories.held import answered, wrongly_safe
from tests.diagnosis.histories.history import Setting
from tests.diagnosis.histories.truth import truth_of

EMPTY_UNDER_ITS_ID = "started without state under its job id"
FOUND = {
    "of a run that is over, of which no details are left, and that brought no row": Plan(
        710364,
        Setting(commits_empty_after=3, lists="ended runs without details"),
        (Event(3, EMPTY_UNDER_ITS_ID), Event(5, "a quiet time"), Event(6, "the sink's uid is changed")),
    ),
    "above a drained commit, after a start that turned out well": Plan(
        727712,
        Setting("V1"),
        (Event(0, EMPTY_UNDER_ITS_ID),),
        then=(Event(3, "drained and started"), Event(4, "started without state")),
        meanwhile=(Event(100, "a checkpoint"),),
    ),
    "from a point of the ids that were counted first, under another uid": Plan(
        777512,
        Setting("V1"),
        (
            Event(4, EMPTY_UNDER_ITS_ID),
            Event(6, "a checkpoint"),
            Event(10, "started from an older point with another uid"),
        ),
    ),
    "from below what main has, then once more under another uid": Plan(
        842935,
        Setting("V1", lists="ended runs without details", shows_points=True),
        (
            Event(0, "a checkpoint"),
            Event(2, "a checkpoint"),
            Event(3, "a checkpoint"),
            Event(5, "started from an older point"),
            Event(6, "the sink's uid is changed"),
        ),
    ),
    "between its commits, of which the newest has no row, before a JobManager took over": Plan(
        1022598,
        Setting(),
        (Event(3, EMPTY_UNDER_ITS_ID), Event(8, "a quiet time"), Event(9, "a standby JobManager takes over")),
    ),
    "of a run that brought nothing, and of which Flink does not say that the next one goes on from it": Plan(
        1016839,
        Setting("dynamic", shows_paths=False),
        (Event(1, "started without state"), Event(2, "a quiet time"), Event(3, "started from an older point")),
    ),
}


@pytest.mark.parametrize("plan", FOUND.values(), ids=FOUND)
def test_it_is_open(plan: Plan) -> None:
    """Rows are wrong, or will be: something is missing to say that they are right, or nobody says so."""
    drawn = played(plan)

    assert truth_of(drawn.history).is_wrong
    assert () == wrongly_safe(drawn)


def test_what_is_missing_is_said() -> None:
    """The first rows that come since tell where it began."""
    drawn = played(FOUND["of a run that is over, of which no details are left, and that brought no row"])

    missing = {mode.code: told.missing for mode, told in answered(drawn).undecided}
    assert "which Flink does not tell: its first rows tell" in " ".join(missing["healthy"])
