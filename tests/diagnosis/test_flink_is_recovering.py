"""`wait`: rows of a rewind that are still to come are waited for; a run that never comes up is not waited for ever."""

from datetime import timedelta

import pytest

from bot.diagnosis import flink_is_recovering, no_snapshot_advanced, recovered_by_itself
from bot.domain.diagnosis import Case, Excluded, Matches, Remedy
from bot.domain.flink import CheckpointSettings
from tests.cases import Tale
from tests.found import hole


def rewound(to_come: int) -> Case:
    """Table and job went back to checkpoint 2 together; so many positions are not written again yet."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6)).becomes("a", "FINISHED").rolls_back_to("a", 2)
    gaps = hole(0).model_copy(update={"to_come": to_come})
    return tale.flink_runs("b", restored=2).commits("b", 3).looked_at(gaps=gaps)


def test_a_rewound_job_is_waited_for_until_it_has_caught_up() -> None:
    """Nothing is wrong and nothing is whole: the rows come by themselves."""
    case = rewound(to_come=20)

    wait, healthy = flink_is_recovering.examine(case), recovered_by_itself.examine(case)

    assert isinstance(wait, Matches)
    assert (Remedy.WAIT, None) == (wait.remedy, wait.last_good)
    assert isinstance(healthy, Excluded)


def test_a_rewound_job_that_has_caught_up_is_healthy() -> None:
    """No position is missing and none is to come."""
    case = rewound(to_come=0)

    wait, healthy = flink_is_recovering.examine(case), recovered_by_itself.examine(case)

    assert [Excluded, Matches] == [type(wait), type(healthy)]


@pytest.mark.parametrize("goes_on", [True, False])
def test_rows_below_a_running_job_do_not_come_again(goes_on: bool) -> None:
    """A rollback under a run that goes on is a hole (F6): waiting does not fill it."""
    tale = Tale().flink_runs("a", restored=0).commits("a", *range(1, 6)).rolls_back_to("a", 2)
    if goes_on:
        tale.commits("a", 6)
    case = tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 20}))

    found = flink_is_recovering.examine(case)

    assert isinstance(found, Excluded)


def not_up(state: str, **later: float) -> Tale:
    """A run that was restored, and stands so long in this state, or with its operators in it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, state="CREATED" if state == "CREATED" else "RUNNING")
    run = tale.runs["b"]
    told = tuple(each.model_copy(update={"status": state}) for each in run.vertices)
    tale.runs["b"] = run.model_copy(update={"vertices": told})
    tale.now += timedelta(**later)
    return tale


@pytest.mark.parametrize("state", ["CREATED", "SCHEDULED"])
def test_a_run_that_does_not_come_up_is_not_waited_for_ever(state: str) -> None:
    """Six hours without a slot: the job stands still, and people are told where to look."""
    case = not_up(state, hours=6).looked_at()

    wait, still = flink_is_recovering.examine(case), no_snapshot_advanced.examine(case)

    assert isinstance(wait, Excluded)
    assert isinstance(still, Matches)
    assert "has not come up since 12:00:50" in still.reasons[0]
    assert "free slots" in still.reasons[0]


@pytest.mark.parametrize(
    ("interval", "timeout", "limit"),
    [
        (timedelta(seconds=3), None, timedelta(minutes=10, seconds=6)),
        (timedelta(minutes=5), timedelta(minutes=20), timedelta(minutes=30)),
        (timedelta(hours=2), timedelta(hours=3), timedelta(hours=1)),
    ],
    ids=["short", "as the job's settings say", "an hour at most"],
)
def test_the_limit_is_the_jobs_own(interval: timedelta, timeout: timedelta | None, limit: timedelta) -> None:
    """What may take a checkpoint that long may take a restore as long; one moment more is too long."""
    told = []
    for seconds in (-2, 2):
        tale = not_up("INITIALIZING", seconds=limit.total_seconds() + seconds)
        settings = CheckpointSettings(timeout_ms=None if timeout is None else round(timeout.total_seconds() * 1000))
        changed = {"checkpoint_interval_ms": round(interval.total_seconds() * 1000), "settings": settings}
        tale.runs["b"] = tale.runs["b"].model_copy(update=changed)
        told.append(type(flink_is_recovering.examine(tale.looked_at())))

    assert [Matches, Excluded] == told


def test_waiting_vouches_for_no_snapshot() -> None:
    """Nothing needs to be looked at to say that Flink is at work."""
    found = flink_is_recovering.examine(not_up("CREATED", minutes=1).case())

    assert isinstance(found, Matches)
    assert found.last_good is None
