"""A job that fails for a cause outside of job and table: the cause is quoted, with what has to be mended first."""

import pytest

from bot.diagnosis import checkpoints_failed, flink_is_recovering, no_snapshot_advanced
from bot.domain.diagnosis import Excluded, Matches, Remedy
from bot.domain.failure_causes import cause_of
from bot.domain.flink import Failure
from tests.cases import NOON, Tale
from tests.diagnosis.test_no_advance import looping
from tests.found import point, points
from tests.job_tale import job_id

OUTER = "org.apache.flink.runtime.JobException: Recovery is suppressed by NoRestartBackoffTimeStrategy"
KNOWN = {
    "software.amazon.awssdk.services.s3.model.S3Exception: Access Denied (Service: S3, Status Code: 403)": "right",
    "java.io.IOException: No space left on device": "disk",
    "org.apache.hadoop.hdfs.protocol.DSQuotaExceededException: The DiskSpace quota of /flink is exceeded": "quota",
    "com.amazonaws.services.s3.model.AmazonS3Exception: Please reduce your request rate. SlowDown": "quota",
    "org.apache.iceberg.exceptions.CommitStateUnknownException: Cannot tell whether it was made": "catalog",
    "org.apache.iceberg.hive.LockException: Timed out after 181 ms waiting for lock on sales.orders": "lock",
    "java.lang.OutOfMemoryError: Java heap space": "memory",
    "org.apache.flink.runtime.resourcemanager.ResourceManagerException: Pod terminated, exit code: 137": "memory",
    "java.net.ConnectException: Connection refused": "service",
    "java.net.UnknownHostException: metastore.internal": "service",
}
UNKNOWN = (
    "java.lang.NullPointerException: Cannot invoke String.length()",
    "org.apache.iceberg.exceptions.NotFoundException: File does not exist: s3://lake/metadata/aa-00000-0-403-00001.avro",
    "java.io.InvalidClassException: local class incompatible: serialVersionUID = 429503",
)


def failing(cause: str, times: int = 3) -> Tale:
    """The run fails at each restart with this as its innermost exception."""
    tale = looping() if times == 3 else Tale().flink_runs("a").commits("a", 1, 2, 3).completes("a", 3).fails("a")
    changed = tuple(
        each.model_copy(update={"causes": ("java.lang.Exception: x", cause)}) for each in tale.runs["a"].failures
    )
    tale.runs["a"] = tale.runs["a"].model_copy(update={"failures": changed})
    return tale


@pytest.mark.parametrize(("cause", "word"), KNOWN.items())
def test_a_cause_outside_of_the_job_is_told_by_the_innermost_exception(cause: str, word: str) -> None:
    """Whatever wraps it."""
    told = cause_of(Failure(at=NOON, exception="JobException", message=OUTER, task=None, attempt=None, causes=(cause,)))

    assert told.said == cause
    assert word in (told.meaning or "")
    assert told.first


@pytest.mark.parametrize("cause", UNKNOWN)
def test_another_cause_is_quoted_as_it_is(cause: str) -> None:
    """A number in a file's name is no status."""
    told = cause_of(Failure(at=NOON, exception="JobException", message=OUTER, task=None, attempt=None, causes=(cause,)))

    assert (told.said, told.first) == (cause, None)
    assert told.in_words == f"Root cause: {cause}."


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
