"""F14: job ids that no submission draws by itself, and ids with more than one start."""

from datetime import timedelta

import pytest

from bot.diagnosis import job_id_reused
from bot.domain.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.domain.ids import JobId
from tests.cases import Tale, job_id


def under_id(job: str) -> Tale:
    """A job that has run under this id from its first commit on."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    tale.snapshots = [s.model_copy(update={"summary": s.summary | {"flink.job-id": job}}) for s in tale.snapshots]
    tale.runs = {"a": tale.runs["a"].model_copy(update={"job_id": JobId(job)})}
    return tale


@pytest.mark.parametrize("job", ["0" * 32, "000000005f3c21aa" + "0" * 16, "ffffffff8f3c21aa" + "0" * 16])
def test_an_id_that_is_hashed_from_the_cluster_is_told(job: str) -> None:
    """Zero, and a 32-bit hash of either sign in the upper half."""
    found = job_id_reused.examine(under_id(job).looked_at())

    assert isinstance(found, Matches)
    assert job in found.reasons[0]
    assert (None, Remedy.NOTHING) == (found.last_good, found.remedy)


def test_a_drawn_id_is_no_hash() -> None:
    """An id with digits in its lower half was drawn for one submission."""
    found = job_id_reused.examine(under_id("00000000" + "5f3c21aa" * 3).looked_at())

    assert isinstance(found, Excluded)


def test_an_id_that_started_again_is_told_by_the_time() -> None:
    """The table has commits by the id from before the start that Flink shows."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).forgets("a").flink_runs("a", restored=2)

    found = job_id_reused.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert "the table has commits by it since 2026-11-21 12:00:20 UTC" in found.reasons[0]


def test_a_failover_is_no_new_start() -> None:
    """Flink keeps the start time of a run that failed over."""
    found = job_id_reused.examine(Tale().flink_runs("a").commits("a", 1).flink_runs("a", restored=1).looked_at())

    assert isinstance(found, Excluded)


def taken_over(*, restored: int = 2, is_savepoint: bool = False, path: str | None = None, later_s: float = 30) -> Tale:
    """`a` has 1 and 2 on main, and by Flink began so long after its last commit, from this point."""
    tale = Tale().flink_runs("a").commits("a", 1, 2)
    began = tale.now + timedelta(seconds=later_s)
    tale.flink_runs("a", restored=restored)
    point = tale.runs["a"].restored
    assert point is not None
    point = point.model_copy(update={"at": began, "is_savepoint": is_savepoint, "path": path})
    tale.runs["a"] = tale.runs["a"].model_copy(update={"started_at": began, "restored": point})
    tale.now = began
    return tale


@pytest.mark.parametrize("path", [None, f"s3://state/{job_id('a')}/chk-2"])
def test_a_jobmanager_that_failed_over_is_not_called_a_second_start(path: str | None) -> None:
    """It brings the run back from its newest checkpoint; a restart from there looks the same."""
    found = job_id_reused.examine(taken_over(path=path).looked_at())

    assert isinstance(found, CannotTell)
    assert "JobManager" in found.missing[0]


@pytest.mark.parametrize(
    ("tale", "said"),
    [
        (taken_over(is_savepoint=True), "savepoint"),
        (taken_over(restored=1), "below 2"),
        (taken_over(path=f"s3://state/{job_id('b')}/chk-2"), "another run's checkpoint"),
        (Tale().flink_runs("a").commits("a", 1, 2).starts_again("a"), "without state"),
    ],
)
def test_what_no_failover_does_is_a_second_start(tale: Tale, said: str) -> None:
    """A failover takes the newest checkpoint of the run itself, and nothing else."""
    found = job_id_reused.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert said in found.reasons[0]


def test_a_commit_a_moment_before_the_start_is_of_another_clock() -> None:
    """The committer's clock and the JobManager's may differ by seconds."""
    tale = Tale().flink_runs("a").commits("a", 1)
    began = tale.now + timedelta(seconds=2)
    tale.runs["a"] = tale.runs["a"].model_copy(update={"started_at": began})

    found = job_id_reused.examine(tale.looked_at())

    assert isinstance(found, Excluded)


def test_start_times_cannot_be_told_without_flink() -> None:
    """Only Flink knows when a run started."""
    found = job_id_reused.examine(Tale().flink_runs("a").commits("a", 1).flink_is_down().looked_at())

    assert isinstance(found, CannotTell)
