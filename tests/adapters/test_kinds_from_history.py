"""A restore point's kind, joined with what Flink remembers of it."""

from datetime import UTC, datetime

import pytest

from bot.domain.flink import CheckpointKind, CompletedCheckpoint, JobRun, StoredCheckpoint, with_kinds
from bot.domain.ids import CheckpointId, JobId
from bot.domain.paths import plain

NOON = datetime(2026, 11, 3, 12, 0, tzinfo=UTC)
STORED = StoredCheckpoint(
    path="file:/state/savepoints/savepoint-a",
    kind=CheckpointKind.SAVEPOINT,
    checkpoint_id=CheckpointId(8),
    job_id=None,
    written_at=NOON,
)


def run_that_took(kind: CheckpointKind, path: str | None) -> JobRun:
    """A run with one entry in its history."""
    taken = CompletedCheckpoint(
        checkpoint_id=CheckpointId(8), kind=kind, status="COMPLETED", triggered_at=NOON, path=path, discarded=False
    )
    return JobRun(
        job_id=JobId("a" * 32), name="orders", state="RUNNING", started_at=NOON, ended_at=None,
        checkpoint_interval_ms=None, checkpoints=(taken,), completed_count=1, failed_count=0, restored_count=0,
        restored=None, failures=(), vertices=(), code_version=None,
    )  # fmt: skip


@pytest.mark.parametrize("path", ["file:/state/savepoints/savepoint-a", "file:///state/savepoints/savepoint-a/"])
def test_flinks_history_decides_the_kind(path: str) -> None:
    """However the path is written: a stop-savepoint pairs, an intermediate one may not."""
    [joined] = with_kinds([STORED], [run_that_took(CheckpointKind.STOP_SAVEPOINT, path)])

    assert joined.kind is CheckpointKind.STOP_SAVEPOINT


@pytest.mark.parametrize(
    "run",
    [
        run_that_took(CheckpointKind.STOP_SAVEPOINT, "file:/state/savepoints/savepoint-ab"),
        run_that_took(CheckpointKind.UNKNOWN, STORED.path),
        run_that_took(CheckpointKind.STOP_SAVEPOINT, None),
    ],
    ids=["another path", "Flink does not say", "not finished"],
)
def test_where_the_history_is_silent_the_file_decides(run: JobRun) -> None:
    """The history keeps ten entries and ends with the JobManager."""
    assert with_kinds([STORED], [run]) == (STORED,)


def test_paths_of_other_storage_are_compared_as_they_are() -> None:
    """Only `file:` has three ways to be written."""
    assert plain("s3://bucket/a/") == plain("s3a://bucket/a") == plain("s3n://bucket/a") == "s3://bucket/a"
    assert plain("file:///a/b") == plain("file:/a/b") == plain("/a/b/") == "/a/b"
