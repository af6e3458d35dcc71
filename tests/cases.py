"""Builds cases in the words of the catalogue: who commits what, what Flink says, what evidence found."""

from datetime import timedelta
from typing import Any, Self

from bot.history.case import Case
from bot.observation.contract import TableContract
from bot.observation.evidence import Observation
from bot.observation.findings import DuplicatesFinding, GapsFinding, ReplayedRowsFinding
from bot.observation.flink import CheckpointKind, FlinkManifest, StoredCheckpoint
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId, TableName
from bot.observation.looked import NotSeen, Seen
from bot.observation.table import HeadMove, Ref, Snapshot, TableState, UnnamedCommit, Window
from tests.found import (
    files_twice,
    hole,
    leaks,
    ledger_of,
    newest_event,
    orphans,
    repeats,
    retention,
    schema,
    twice,
    unreadable,
)
from tests.job_tale import FLINK_DOWN, JOB, NOON, OPERATOR, JobTale, job_id

STORAGE_DOWN = NotSeen(
    source="s3://lake/sales/orders/metadata", reason="It timed out.", remedy="Check the credentials, then ask again."
)

__all__ = ["FLINK_DOWN", "JOB", "NOON", "OPERATOR", "STORAGE_DOWN", "Tale", "job_id"]


class Tale(JobTale):
    """A table and its job over time. Each commit is ten seconds after what happened before."""

    def __init__(self) -> None:
        super().__init__()
        self.head: SnapshotId | None = None
        self.snapshots: list[Snapshot] = []
        self.written = 0
        self.moves: list[HeadMove] = []
        self.properties: dict[str, str] = {}
        self.refs: list[Ref] = []
        self.storage_down = False
        self.manifests: list[FlinkManifest] = []
        self.points: list[StoredCheckpoint] = []
        self.lost_metadata: str | None = None
        self.numbers_snapshots = True
        """Whether the metadata keeps the last sequence number; format v1 does not."""

    # ------------------------------------------------------------------ the table

    def commits(self, run: str | None, *checkpoints: int, rows: int = 10, operation: str = "append") -> Self:
        """One commit a checkpoint id on top of main; `run` None is another engine's single commit."""
        for checkpoint in checkpoints or (0,):
            self._add(self.head, run, checkpoint, rows, operation)
            self.head = self.snapshots[-1].snapshot_id
            self.moves.append(HeadMove(at=self.now, snapshot_id=self.head))
        return self

    def stages(self, run: str | None, checkpoint: int, *, operation: str = "append") -> Self:
        """A snapshot that never becomes head of main (write-audit-publish, a branch)."""
        self._add(self.head, run, checkpoint, 10, operation)
        return self

    def counts(self, **counts: object) -> Self:
        """The newest commit's summary tells these too: `deleted_records=30` is its `deleted-records`."""
        newest = self.snapshots[-1]
        told = {key.replace("_", "-"): str(value) for key, value in counts.items()}
        self.snapshots[-1] = newest.model_copy(update={"summary": {**newest.summary, **told}})
        return self

    def by_sink(self, operator: OperatorId) -> Self:
        """The newest commit was made under another operator id."""
        newest = self.snapshots[-1]
        told = {**newest.summary, "flink.operator-id": operator}
        self.snapshots[-1] = newest.model_copy(update={"summary": told})
        return self

    def rolls_back_to(self, run: str, checkpoint: int) -> Self:
        """Main goes back to the newest commit of that run with that checkpoint id."""
        self.now += timedelta(seconds=10)
        self.head = self.at(run, checkpoint)
        self.moves.append(HeadMove(at=self.now, snapshot_id=self.head))
        return self

    def expires(self, run: str, *checkpoints: int) -> Self:
        """Maintenance takes these commits of the run out of the metadata."""
        gone = {self.at(run, checkpoint) for checkpoint in checkpoints}
        self.snapshots = [s for s in self.snapshots if s.snapshot_id not in gone]
        self.moves = [move for move in self.moves if move.snapshot_id not in gone]
        return self

    def leaves_manifest(self, run: str, *checkpoints: int, operator: OperatorId = OPERATOR) -> Self:
        """The sink's temporary manifest of each checkpoint is on storage now."""
        for checkpoint in checkpoints:
            name = f"{job_id(run)}-{operator}-00000-0-{checkpoint}-00001.avro"
            self.manifests.append(
                FlinkManifest(
                    path=f"s3://lake/sales/orders/metadata/{name}",
                    job_id=job_id(run),
                    operator_id=operator,
                    subtask=0,
                    attempt=0,
                    checkpoint_id=CheckpointId(checkpoint),
                    number=1,
                    bytes=4096,
                    written_at=self.now,
                )
            )
        return self

    def keeps_point(self, run: str, checkpoint: int, path: str | None = None) -> Self:
        """The restore point from which the run's commit of this id came is on storage; `path` where it is none of its
        retained checkpoints."""
        made = next(s for s in self.snapshots if s.snapshot_id == self.at(run, checkpoint))
        self.points.append(
            StoredCheckpoint(
                path=path or f"s3://state/{job_id(run)}/chk-{checkpoint}",
                kind=CheckpointKind.SAVEPOINT if path else CheckpointKind.CHECKPOINT,
                checkpoint_id=CheckpointId(checkpoint),
                job_id=job_id(run),
                written_at=made.committed_at - timedelta(seconds=1),
            )
        )
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
        self.written += 1
        number = self.written
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

    # ------------------------------------------------------------------ the case

    @property
    def flink_manifests(self) -> Seen[FlinkManifest] | NotSeen:
        """What a listing of the metadata folder gives."""
        if self.storage_down:
            return STORAGE_DOWN
        return Seen[FlinkManifest](source="s3://lake/sales/orders/metadata", values=tuple(self.manifests))

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
            read_at=self.now + timedelta(seconds=1),
            lost_metadata=self.lost_metadata,
            last_sequence_number=self.written if self.numbers_snapshots else None,
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
        jobs, wrote = self.jobs, {commit.job_id for commit in table.snapshots}
        others = tuple(run for run in jobs.values if run.name != JOB)
        if isinstance(jobs, Seen):
            jobs = jobs.model_copy(update={"values": tuple(run for run in jobs.values if run.name == JOB)})
        none = NotSeen(source="lineage", reason="None is configured.", remedy="Configure it.")
        points = Seen[StoredCheckpoint](source="s3://state", values=tuple(self.points)) if self.points else none
        return Case(
            observation=Observation(
                table=table,
                jobs=jobs,
                undeclared=tuple(run for run in others if run.job_id in wrote),
                checkpoints=points,
                reads=none,
                flink_manifests=self.flink_manifests,
                unnamed_commits=Seen[UnnamedCommit](source="s3://lake/sales/orders/metadata", values=()),
            ),
            window=window,
            contract=TableContract(key=("id",), position="pos"),
            job_name=JOB,
            ledger=ledger_of(table, window) if ledger else None,
            duplicates=duplicates,
            gaps=gaps,
            **found,
        )

    def looked_at(
        self, *, duplicates: int = 0, missing: int = 0, since: SnapshotId | None = None, **found: Any
    ) -> Case:
        """The case with all evidence answered, over everything that is listed; clean where `found` says nothing."""
        clean = {
            "duplicates": twice(duplicates),
            "gaps": hole(missing),
            "leaked": leaks(*self.manifests),
            "unreadable": unreadable(),
            "duplicate_commits": repeats(),
            "duplicate_files": files_twice(),
            "table_health": retention(),
            "orphans": orphans(),
            "schema_drift": schema(),
            "freshness": newest_event(),
        }
        return self.case(since=since, **(clean | found))


def placed(case: Case, **began: int) -> Case:
    """The same, with source positions of each commit in the ledger, ten a checkpoint: by the checkpoint's id, for a run
    that began without state from where `began` says (`b=30`). No row that was read again is there twice."""
    assert case.ledger is not None
    assert case.gaps is not None
    rows, top = [], 0
    for row in case.ledger.rows:
        number = row.checkpoint_id or 0
        low = 10 * (number - 1) + began.get((row.job_id or "")[:1], 0)
        is_placed = bool(row.added_rows) and row.operation == "append" and 0 < number < 1_000_000
        rows.append(row.model_copy(update={"position_from": low, "position_until": low + 9}) if is_placed else row)
        top = max(top, low + 9) if is_placed else top
    ledger = case.ledger.model_copy(update={"rows": tuple(rows)})
    gaps = case.gaps.model_copy(update={"highest": top})
    none = ReplayedRowsFinding(rows_checked=top + 1, replayed=0, changed=0, first=None, last=None, pairs=())
    return case.model_copy(update={"ledger": ledger, "gaps": gaps, "replayed": case.replayed or none})
