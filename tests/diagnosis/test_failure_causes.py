"""A job that fails for a cause outside of job and table: the cause is quoted, with what has to be mended first."""

from bot.diagnosis import checkpoints_failed, flink_is_recovering, no_snapshot_advanced
from bot.domain.diagnosis import Excluded, Matches, Remedy
from tests.cases import Tale
from tests.diagnosis.test_no_advance import looping
from tests.found import point, points
from tests.job_tale import job_id


def failing(cause: str, times: int = 3) -> Tale:
    """The run fails at each restart with this as its innermost exception."""
    tale = looping() if times == 3 else Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a")
    changed = tuple(
        each.model_copy(update={"causes": ("java.lang.Exception: x", cause)}) for each in tale.runs["a"].failures
    )
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": changed})
    return tale


def test_a_job_that_fails_so_is_not_restored_before_that_is_mended() -> None:
    """The table is right; `wait` and `no-advance` both quote it."""
    tale = failing("java.io.IOException: No space left on device")
    case = tale.looked_at(pairing=points(point(job_id("a"), 3, tale.at("a", 3))))

    found, waits = no_snapshot_advanced.examine(case), flink_is_recovering.examine(case)

    assert isinstance(found, Matches)
    assert found.headline.endswith("a disk is full. Free space on that disk first.")
    assert found.how is not None
    assert found.how.startswith("free space on that disk; then restore the job")
    assert found.remedy is Remedy.RESTORE_JOB_ONLY
    assert "No space left on device" in found.reasons[0]
    assert isinstance(waits, Excluded)
    assert "a restore does not cure it" in waits.reason


def test_while_flink_still_tries_it_is_told_as_well() -> None:
    """One failure is no loop."""
    found = flink_is_recovering.examine(failing("java.net.UnknownHostException: metastore", times=1).looked_at())

    assert isinstance(found, Matches)
    assert any("a service does not answer" in each for each in found.reasons)


def test_so_is_what_keeps_checkpoints_from_completing() -> None:
    """Flink says it of each checkpoint that failed."""
    tale = Tale().flink_runs("a").commits("a", 1).completes("a", 2)
    run = tale.runs["a"]
    failed = tuple(
        c.model_copy(update={"status": "FAILED", "failure": "No space left on device"}) for c in run.checkpoints
    )
    tale.runs["a"] = run.model_copy(update={"checkpoints": failed, "failed_count": 1})

    found = checkpoints_failed.examine(tale.looked_at())

    assert isinstance(found, Matches)
    assert any("a disk is full" in each for each in found.reasons)
