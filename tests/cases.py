"""Builds cases in the words of the catalogue: who commits what, what Flink says, what evidence found."""

from datetime import UTC, datetime, timedelta
from typing import Any, Self

from bot.domain.contract import TableContract
from bot.domain.diagnosis import Case
from bot.domain.evidence import Observation
from bot.domain.findings import DuplicatesFinding, GapsFinding
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, Failure, JobRun, Restored, Vertex
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName
from bot.domain.looked import NotSeen, Seen
from bot.domain.table import HeadMove, Ref, Snapshot, TableState, Window
from tests.found import hole, ledger_of, twice

NOON = datetime(2026, 11, 21, 12, 0, tzinfo=UTC)
OPERATOR = OperatorId("0f" * 16)
JOB = "orders"
FLINK_DOWN = NotSeen(
    source="Flink REST at http://flink:8081", reason="It refused the connection.", remedy="Start Flink, then ask again."
)


def job_id(run: str) -> JobId:
    """The id of the run that a story calls `a`, `b`, …: 32 hex digits."""
    return JobId((run * 32)[:32])


class Tale:
    """A table and its job over time. Each commit is ten seconds after what happened before."""

    def __init__(self) -> None:
        self.now = NOON
        self.head: SnapshotId | None = None
        self.snapshots: list[Snapshot] = []
        self.moves: list[HeadMove] = []
        self.runs: dict[str, JobRun] = {}
        self.properties: dict[str, str] = {}
        self.refs: list[Ref] = []
        self.jobs_down = False

    # ------------------------------------------------------------------ the table

    def commits(self, run: str | None, *checkpoints: int, rows: int = 10, operation: str = "append") -> Self:
        """One commit a checkpoint id on top of main; `run` None is another engine's single commit."""
        for checkpoint in checkpoints or (0,):
            self._add(self.head, run, checkpoint, rows, operation)
            self.head = self.snapshots[-1].snapshot_id
            self.moves.append(HeadMove(at=self.now, snapshot_id=self.head))
        return self

    def stages(self, run: str | None, checkpoint: int) -> Self:
        """A snapshot that never becomes head of main (write-audit-publish, a branch)."""
        self._add(self.head, run, checkpoint, 10, "append")
        return self

    def rolls_back_to(self, run: str, checkpoint: int) -> Self:
        """Main goes back to the newest commit of that run with that checkpoint id."""
        self.now += timedelta(seconds=10)
        self.head = self.at(run, checkpoint)
        self.moves.append(HeadMove(at=self.now, snapshot_id=self.head))
        return self

    def trusts(self, run: str, checkpoint: int, status: str = "trusted") -> Self:
        """The waterline stands at that commit."""
        self.refs = [Ref(name="waterline", kind="tag", snapshot_id=self.at(run, checkpoint))]
        self.properties["waterline.status"] = status
        return self

    def at(self, run: str, checkpoint: int) -> SnapshotId:
        """The newest snapshot by that run with that checkpoint id."""
        mine = [s for s in self.snapshots if s.job_id == job_id(run) and s.checkpoint_id == checkpoint]
        return mine[-1].snapshot_id

    def _add(self, parent: SnapshotId | None, run: str | None, checkpoint: int, rows: int, operation: str) -> None:
        self.now += timedelta(seconds=10)
        summary = {"added-records": str(rows), "added-data-files": "1"}
        if run is None:
            summary |= {"engine-name": "spark"}
        else:
            summary |= {"flink.job-id": job_id(run), "flink.operator-id": OPERATOR}
            summary |= {"flink.max-committed-checkpoint-id": str(checkpoint)}
        number = len(self.snapshots) + 1
        self.snapshots.append(
            Snapshot(
                snapshot_id=SnapshotId(7_000_000_000_000_000_000 + number * 1_001),
                parent_id=parent,
                sequence_number=number,
                committed_at=self.now,
                operation=operation,
                manifest_list=f"s3://lake/snap-{number}.avro",
                schema_id=0,
                summary=summary,
            )
        )

    # ------------------------------------------------------------------ the job

    def flink_runs(
        self, run: str, restored: int | None = None, *, state: str = "RUNNING", v1: bool = False, vertices: bool = True
    ) -> Self:
        """A run that started (or was restored) now; told again, the same run was restored by failover."""
        self.now += timedelta(seconds=10)
        before = self.runs.get(run)
        committer = "IcebergFilesCommitter" if v1 else "Sink pre-commit aggregator"
        status = "RUNNING" if state == "RUNNING" else "CREATED"
        attempt = before.restored_count + 1 if before else 0
        point = Restored(checkpoint_id=CheckpointId(restored or 0), at=self.now, is_savepoint=not before, path=None)
        self.runs[run] = JobRun(
            job_id=job_id(run),
            name=JOB,
            state=state,
            started_at=before.started_at if before else self.now,
            ended_at=None,
            checkpoint_interval_ms=3000,
            checkpoints=(),
            completed_count=0,
            failed_count=0,
            restored_count=(before.restored_count if before else 0) + (restored is not None),
            restored=point if restored is not None else None,
            failures=(),
            vertices=(
                Vertex(vertex_id=OperatorId("aa" * 16), name="Source", parallelism=1, status=status, attempt=attempt),
                Vertex(vertex_id=OPERATOR, name=committer, parallelism=1, status=status, attempt=attempt),
            )
            if vertices
            else (),
            code_version=None,
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
                path=None,
                discarded=False,
            )
            self._change(run, checkpoints=(done, *self.runs[run].checkpoints))
        return self

    def fails(self, run: str, times: int = 1) -> Self:
        """The run throws, a second apart."""
        for _ in range(times):
            self.now += timedelta(seconds=1)
            thrown = Failure(at=self.now, exception="java.io.IOException", message="lost", task=None, attempt=None)
            self._change(run, failures=(thrown, *self.runs[run].failures))
        return self

    def becomes(self, run: str, state: str) -> Self:
        """Flink shows the run in another state; its operators keep theirs."""
        self._change(run, state=state)
        return self

    def forgets(self, run: str) -> Self:
        """Flink no longer lists the run."""
        del self.runs[run]
        return self

    def flink_is_down(self) -> Self:
        """Nobody can ask Flink."""
        self.jobs_down = True
        return self

    def _change(self, run: str, **changes: object) -> None:
        self.runs[run] = self.runs[run].model_copy(update=changes)

    # ------------------------------------------------------------------ the case

    @property
    def jobs(self) -> Seen[JobRun] | NotSeen:
        """What Flink answers, newest run first as the adapter gives it."""
        if self.jobs_down:
            return FLINK_DOWN
        newest_first = sorted(self.runs.values(), key=lambda run: run.started_at, reverse=True)
        return Seen[JobRun](source="Flink REST at http://flink:8081", values=tuple(newest_first))

    @property
    def table(self) -> TableState:
        """The table as its newest metadata file tells it."""
        return TableState(
            name=TableName("sales.orders"),
            uuid="5e1f0c6e-0000-4000-8000-000000000001",
            location="s3://lake/sales/orders",
            metadata_location="s3://lake/sales/orders/metadata/00009.metadata.json",
            format_version=2,
            head=self.head,
            snapshots=tuple(self.snapshots),
            refs=tuple(self.refs),
            head_moves=tuple(self.moves),
            properties=self.properties,
            columns=(),
            read_at=self.now + timedelta(seconds=1),
        )

    def case(
        self,
        *,
        since: SnapshotId | None = None,
        duplicates: DuplicatesFinding | None = None,
        gaps: GapsFinding | None = None,
        ledger: bool = True,
        **found: Any,
    ) -> Case:
        """The case for the window from `since` (exclusive) to the head; `found` fills further fields of `Case`."""
        assert self.head is not None
        table, window = self.table, Window(since=since, until=self.head)
        none = NotSeen(source="lineage", reason="None is configured.", remedy="Configure it.")
        return Case(
            observation=Observation(table=table, jobs=self.jobs, checkpoints=none, reads=none),
            window=window,
            contract=TableContract(key=("id",), position="pos"),
            job_name=JOB,
            ledger=ledger_of(table, window) if ledger else None,
            duplicates=duplicates,
            gaps=gaps,
            **found,
        )

    def looked_at(self, *, duplicates: int = 0, missing: int = 0) -> Case:
        """The case with all evidence answered, over everything that is listed."""
        return self.case(duplicates=twice(duplicates), gaps=hole(missing))
