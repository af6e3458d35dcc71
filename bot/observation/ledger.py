"""The ledger: one row per commit of the window, joined with checkpoint, files, code, readers and what is missing."""

from datetime import datetime
from enum import StrEnum
from heapq import nlargest

from pydantic import Field

from bot.observation.flink import CheckpointKind
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.readers import ReadRun
from bot.observation.record import Record, Utc
from bot.observation.table import Snapshot, TableState, TouchedPartitions


class Sink(StrEnum):
    """What kind of writer made a commit."""

    FLINK_V1 = "FlinkSink"
    FLINK_V2 = "IcebergSink"
    FLINK_DYNAMIC = "DynamicIcebergSink"
    FLINK_UNKNOWN = "a Flink sink"
    """Flink, but neither the graph nor the names tell which sink."""
    FLINK_CDC = "Flink CDC"
    SPARK = "Spark"
    COMPACTION = "compaction"
    """Any engine's `replace`: the same rows in other files."""
    KAFKA_CONNECT = "Kafka Connect"
    OTHER = "another writer"


class SkipReason(StrEnum):
    """Why a checkpoint id between two commits of a run has no snapshot of its own (facts 2, step 2)."""

    NO_MANIFEST = "without a manifest"
    """No Flink manifest of it is left, as of one without files: the sink commits only every so many of these."""
    MERGED = "merged"
    """The V1 sink committed it together with a later one."""
    FAILED = "failed"
    """Flink lists it as failed or aborted; its files came with the next."""
    SAVEPOINT = "savepoint"
    """An intermediate savepoint: the V1 sink commits nothing for it."""
    ROLLED_BACK = "rolled back"
    """Its snapshot exists and is not on main."""
    SKIPPED = "skipped"
    """Flink completed it and the sink refused it as already committed: its files are leaked or lost."""
    LEAKED = "leaked"
    """Its Flink manifest is still on storage."""
    PENDING = "pending"
    """Just completed: the sink commits it next."""
    UNEXPLAINED = "unexplained"
    """No source tells."""


class SkippedCheckpoint(Record):
    """A range of checkpoint ids without a snapshot, one reason."""

    first: CheckpointId
    last: CheckpointId
    """Inclusive."""
    reason: SkipReason
    detail: str
    """One clause: what showed it."""
    job_id: JobId | None = None
    """The run whose ids these are."""

    @property
    def is_fault(self) -> bool:
        """Whether files may be missing from the table, or nobody knows."""
        return self.reason in (SkipReason.LEAKED, SkipReason.SKIPPED, SkipReason.UNEXPLAINED)

    @property
    def ids(self) -> str:
        """`7`, `7–10`."""
        return str(self.first) if self.first == self.last else f"{self.first}–{self.last}"

    @property
    def words(self) -> str:
        """`7–10 skipped`."""
        return f"{self.ids} {self.reason.value}"


class SourceRange(Record):
    """What a commit brought of one source partition: its lowest and its highest position, and how many rows."""

    partition: str | None
    """As text; None where the contract names no column for it, and for rows that have none."""
    low: int
    high: int
    """Inclusive."""
    rows: int | None
    """Rows of the commit that have a position in it; None where only its ends are known."""


class FileWriter(Record):
    """One writer of a Flink sink. It gets its id when it starts, and counts the files that it makes: a restart of the
    job, also by itself, makes new ones. The dynamic sink has one for each table and schema."""

    subtask: int
    attempt: int
    id: str
    """The random id in its files' names."""
    first: int
    last: int
    """The lowest and the highest running number among the files of the commit; from 1."""


MOST_RANGES = 256
"""Of one row, and so many writers."""


class LedgerRow(Record):
    """One commit. Nothing here is guessed: what no source tells is None or empty."""

    snapshot_id: SnapshotId
    parent_id: SnapshotId | None
    sequence_number: int
    """0 of every commit in format v1."""
    committed_at: Utc
    on_main: bool
    """Whether it is an ancestor of the pinned head; False means that it was rolled back."""
    operation: str
    engine: str
    job_id: JobId | None
    operator_id: OperatorId | None
    checkpoint_id: CheckpointId | None
    checkpoint_kind: CheckpointKind = CheckpointKind.UNKNOWN
    attempts: tuple[int, ...] | None = None
    """Attempt numbers in the names of the files added; None when the names do not follow Flink's form."""
    added_files: int
    added_rows: int
    removed_files: int = 0
    removed_rows: int = 0
    code_version: str | None = None
    readers: tuple[ReadRun, ...] = ()
    """Consumer runs that read exactly this snapshot."""
    sink: Sink = Sink.OTHER
    refs: tuple[str, ...] = ()
    """Branches and tags that point here."""
    subtasks: tuple[int, ...] | None = None
    """Subtasks in the names of the files added; None as for `attempts`."""
    added_delete_files: int = 0
    removed_delete_files: int = 0
    event_from: Utc | None = None
    """Lowest event time in the bounds of the files added; None without such a column or bounds."""
    event_until: Utc | None = None
    position_from: int | None = None
    """Lowest source position in the bounds of the files added; of all partitions of the source together."""
    position_until: int | None = None
    ranges: tuple[SourceRange, ...] | None = Field(default=None, exclude_if=lambda told: told is None)
    """Exactly what it brought, by source partition, as the manifests tell. None: not read, more than `MOST_RANGES`, or
    not told by bounds, as of a file of several source partitions, or without bounds. Empty: it brought no position."""
    writers: tuple[FileWriter, ...] | None = Field(default=None, exclude_if=lambda told: told is None)
    """Who wrote the files that it added. None: not read, more than `MOST_RANGES`, or as for `attempts`."""
    schema_id: int | None = None
    spec_ids: tuple[int, ...] = ()
    """Partition specs of the files added."""
    partitions: tuple[TouchedPartitions, ...] = ()
    """Where it added or removed files, field by field; without the fields by which not all of them are partitioned,
    that are hidden, or whose values nobody can tell."""
    skipped: tuple[SkippedCheckpoint, ...] = ()
    """Checkpoint ids of its run between the run's commit before and this one that have no snapshot on main."""

    @property
    def bounds(self) -> tuple[SourceRange, ...]:
        """The lowest and the highest position of all its files, of all source partitions together; empty: not known."""
        if self.position_from is None or self.position_until is None:
            return ()
        return (SourceRange(partition=None, low=self.position_from, high=self.position_until, rows=None),)

    def positions(self, *, is_partitioned: bool) -> tuple[SourceRange, ...] | None:
        """Its `ranges`; else its `bounds`, where the source has no partitions. None: not known."""
        return self.ranges if self.ranges is not None or is_partitioned else self.bounds or None

    @property
    def age(self) -> tuple[int, datetime]:
        """Sorts by age, also beside rows of other ledgers; where sequence numbers are all 0, by the time alone."""
        return (self.sequence_number, self.committed_at)

    @property
    def has_changes(self) -> bool:
        """Whether it added or removed any file: the dynamic sink begins an empty table with a commit of nothing."""
        return bool(self.added_files or self.removed_files or self.has_deletes)

    @property
    def has_deletes(self) -> bool:
        """Whether it added or removed any delete file."""
        return bool(self.added_delete_files or self.removed_delete_files)


class BesideMain(Record):
    """What stands on another branch above what main has, or had."""

    branch: str
    snapshot_id: SnapshotId
    """The newest of its commits."""
    commits: int
    added_rows: int
    """As the summaries count them."""
    removed_rows: int
    job_ids: tuple[JobId, ...]
    """The Flink runs that wrote there, newest first, at most three."""
    engines: tuple[str, ...]
    """Other writers, as their summaries name them; `unknown` where they do not."""
    last_at: Utc


class Ledger(Record):
    """Rows oldest first. `readers_known` is False when no lineage source could be asked."""

    rows: tuple[LedgerRow, ...]
    readers_known: bool
    trailing: tuple[SkippedCheckpoint, ...] = ()
    """What Flink completed after a run's newest commit on main, or beside it, and main does not carry."""
    branches: tuple[BesideMain, ...] = ()
    """Other branches that hold commits of their own, at most 20."""

    @property
    def main(self) -> tuple[LedgerRow, ...]:
        """Rows that the head still descends from, oldest first."""
        return tuple(row for row in self.rows if row.on_main)

    @property
    def rolled_back(self) -> tuple[LedgerRow, ...]:
        """Rows that were head once and are ancestors no longer, oldest first."""
        return tuple(row for row in self.rows if not row.on_main)

    def without_partitions(self) -> "Ledger":
        """The same; which partitions were touched is left out, for partitions are values of rows."""
        return self.model_copy(update={"rows": tuple(row.model_copy(update={"partitions": ()}) for row in self.rows)})


def event_range(since: datetime | None, until: datetime | None) -> str:
    """`2026-11-03 09:00:00–09:01:10`, with the second day where it is not one; empty where it is not known."""
    if since is None or until is None:
        return ""
    if since.date() == until.date():
        return f"{since:%Y-%m-%d %H:%M:%S}–{until:%H:%M:%S}"
    return f"{since:%Y-%m-%d %H:%M:%S} – {until:%Y-%m-%d %H:%M:%S}"


def change(added: int, removed: int) -> str:
    """`+1,200`, `+1,200 −30`."""
    return f"+{added:,} −{removed:,}" if removed else f"+{added:,}"


_MOST = 40


def recent_ledger(table: TableState) -> Ledger:
    """The newest commits, those that were rolled back too. Files are not opened, and neither Flink nor lineage is
    asked: checkpoints without a commit, readers and ranges are not known here."""
    newest = nlargest(_MOST, table.snapshots, key=lambda s: table.place_of(s.snapshot_id))
    rolled_back = {s.snapshot_id for s in table.rolled_back}
    shown = [s for s in reversed(newest) if s.snapshot_id in table.chain_ids or s.snapshot_id in rolled_back]
    return Ledger(rows=tuple(row_of(table, snapshot) for snapshot in shown), readers_known=False)


def row_of(table: TableState, snapshot: Snapshot) -> LedgerRow:
    """What the table's metadata alone tells of one commit."""
    return LedgerRow(
        snapshot_id=snapshot.snapshot_id,
        parent_id=snapshot.parent_id,
        sequence_number=snapshot.sequence_number,
        committed_at=snapshot.committed_at,
        on_main=snapshot.snapshot_id in table.chain_ids,
        operation=snapshot.operation,
        engine=snapshot.engine,
        job_id=snapshot.job_id,
        operator_id=snapshot.operator_id,
        checkpoint_id=snapshot.checkpoint_id,
        added_files=snapshot.counted("added-data-files"),
        added_rows=snapshot.counted("added-records"),
        removed_files=snapshot.counted("deleted-data-files"),
        removed_rows=snapshot.counted("deleted-records"),
        schema_id=snapshot.schema_id,
        sink=Sink.FLINK_UNKNOWN if snapshot.job_id else Sink.OTHER,
        refs=tuple(ref.name for ref in table.refs if ref.snapshot_id == snapshot.snapshot_id),
        added_delete_files=snapshot.counted("added-delete-files"),
        removed_delete_files=snapshot.counted("removed-delete-files"),
    )
