"""The job's half of a tale: its runs over time, as Flink tells them."""

from datetime import UTC, datetime, timedelta
from typing import Self

from bot.observation.flink import CheckpointKind, CompletedCheckpoint, Failure, JobRun, Restored, Vertex
from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.observation.looked import NotSeen, Seen

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
OPERATOR = OperatorId("0f" * 16)
JOB = "orders"
FLINK_DOWN = NotSeen(
    source="Flink REST at http://flink:8081", reason="It refused the connection.", remedy="Start Flink, then ask again."
)


def job_id(run: str) -> JobId:
    """The id of the run that a story calls `a`, `b`, …: 32 hex digits."""
    return JobId((run * 32)[:32])


class JobTale:
    """A job over time. Each event moves the clock."""

    def __init__(self) -> None:
        self.now = NOON
        self.runs: dict[str, JobRun] = {}
        self.jobs_down = False

    def flink_runs(
        self,
        run: str,
        restored: int | None = None,
        *,
        of: str | None = None,
        state: str = "RUNNING",
        v1: bool = False,
        vertices: bool = True,
    ) -> Self:
        """A run that started (or was restored) now; told again, the same run was restored by failover. `of`: the run
        whose checkpoint it was restored from, where Flink shows the path."""
        self.now += timedelta(seconds=10)
        before = self.runs.get(run)
        committer = "IcebergFilesCommitter" if v1 else "Sink pre-commit aggregator"
        status = "RUNNING" if state == "RUNNING" else "CREATED"
        attempt = before.restored_count + 1 if before else 0
        path = f"s3://state/{job_id(of)}/chk-{restored}" if of is not None else None
        point = Restored(checkpoint_id=CheckpointId(restored or 0), at=self.now, is_savepoint=not before, path=path)
        self.runs[run] = JobRun(
            job_id=job_id(run),
            name=JOB,
            state=state,
            started_at=before.started_at if before else self.now,
            checkpoint_interval_ms=3000,
            restored_count=(before.restored_count if before else 0) + (restored is not None),
            restored=point if restored is not None else None,
            vertices=(
                Vertex(vertex_id=OperatorId("aa" * 16), name="Source", parallelism=1, status=status, attempt=attempt),
                Vertex(vertex_id=OPERATOR, name=committer, parallelism=1, status=status, attempt=attempt),
            )
            if vertices
            else (),
        )
        return self

    def completes(self, run: str, *checkpoints: int) -> Self:
        """Flink completes these checkpoints of the run, whatever reaches the table."""
        for checkpoint in checkpoints:
            self.now += timedelta(seconds=3)
            done = CompletedCheckpoint(
                checkpoint_id=CheckpointId(checkpoint),
                kind=CheckpointKind.CHECKPOINT,
                status="COMPLETED",
                triggered_at=self.now,
            )
            self.shows(run, checkpoints=(done, *self.runs[run].checkpoints))
        return self

    def lists_failed(self, run: str, *checkpoints: int, failure: str = "Checkpoint expired.") -> Self:
        """Flink lists these of what it listed as failed, and counts them."""
        told = {"status": "FAILED", "failure": failure}
        listed = self.runs[run].checkpoints
        marked = (c.model_copy(update=told) if c.checkpoint_id in checkpoints else c for c in listed)
        return self.shows(run, checkpoints=tuple(marked), failed_count=len(checkpoints))

    def remembers(self, run: str, *checkpoints: int) -> Self:
        """Flink's history of the run is whole: it completed these, rising, and ended no other."""
        self.shows(run, checkpoints=(), completed_count=len(checkpoints))
        return self.completes(run, *checkpoints)

    def came_from(self, run: str, checkpoint: int, path: str) -> Self:
        """The run was restored now, from this point; Flink counts it and shows where the point lies."""
        self.now += timedelta(seconds=1)
        point = Restored(checkpoint_id=CheckpointId(checkpoint), at=self.now, is_savepoint=False, path=path)
        self.shows(run, restored=point, restored_count=self.runs[run].restored_count + 1)
        return self

    def fails(self, run: str, times: int = 1) -> Self:
        """The run throws, a second apart."""
        for _ in range(times):
            self.now += timedelta(seconds=1)
            thrown = Failure(at=self.now, exception="java.io.IOException", message="lost", task=None, attempt=None)
            self.shows(run, failures=(thrown, *self.runs[run].failures))
        return self

    def reads(self, run: str, source: str) -> Self:
        """Flink's graph of the run names its source so."""
        first, *rest = self.runs[run].vertices
        self.shows(run, vertices=(first.model_copy(update={"name": f"Source: {source} -> Map"}), *rest))
        return self

    def starts_again(self, run: str, *, v1: bool = False) -> Self:
        """The run is submitted anew under its job id, without any state."""
        self.forgets(run)
        return self.flink_runs(run, v1=v1)

    def misses_manifest(self, run: str, of: str, checkpoint: int, times: int = 1, *, in_cause: bool = False) -> Self:
        """Each restore of the run throws: the Flink manifest of run `of` and that checkpoint is not on storage."""
        path = f"s3://lake/sales/orders/metadata/{job_id(of)}-{OPERATOR}-00000-1-{checkpoint}-00011.avro"
        line = f"org.apache.iceberg.exceptions.NotFoundException: Failed to open input stream for file: {path}"
        for _ in range(times):
            self.now += timedelta(seconds=1)
            thrown = Failure(
                at=self.now,
                exception="org.apache.iceberg.exceptions.NotFoundException",
                message="org.apache.flink.util.FlinkException: Global failure" if in_cause else line,
                task="IcebergFilesCommitter (1/1) - execution #4",
                attempt=4,
                causes=(line,) if in_cause else (),
            )
            self.shows(run, failures=(thrown, *self.runs[run].failures))
        return self

    def becomes(self, run: str, state: str) -> Self:
        """Flink shows the run in another state; its operators keep theirs."""
        self.shows(run, state=state, ended_at=self.now if state in {"FINISHED", "CANCELED", "FAILED"} else None)
        return self

    def forgets(self, run: str) -> Self:
        """Flink no longer lists the run."""
        del self.runs[run]
        return self

    def flink_is_down(self) -> Self:
        """Nobody can ask Flink."""
        self.jobs_down = True
        return self

    def shows(self, run: str, **fields: object) -> Self:
        """Flink shows these of the run, by the names of `JobRun`."""
        self.runs[run] = self.runs[run].model_copy(update=fields)
        return self

    @property
    def jobs(self) -> Seen[JobRun] | NotSeen:
        """What Flink answers, newest run first as the adapter gives it."""
        if self.jobs_down:
            return FLINK_DOWN
        newest_first = sorted(self.runs.values(), key=lambda run: run.started_at, reverse=True)
        return Seen[JobRun](source="Flink REST at http://flink:8081", values=tuple(newest_first))
