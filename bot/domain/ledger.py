"""The ledger: one row per commit of the window, joined with checkpoint, attempt, code and readers."""

from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.reads import ReadRun
from bot.domain.record import Record, Utc


class LedgerRow(Record):
    """One commit. Nothing here is guessed: what no source tells is None or empty."""

    snapshot_id: SnapshotId
    parent_id: SnapshotId | None
    sequence_number: int
    committed_at: Utc
    on_main: bool
    """Whether it is an ancestor of the pinned head; False means that it was rolled back."""
    operation: str
    engine: str
    job_id: JobId | None
    operator_id: OperatorId | None
    checkpoint_id: CheckpointId | None
    checkpoint_kind: CheckpointKind
    attempts: tuple[int, ...] | None
    """Attempt numbers in the names of the files added; None when the names do not follow Flink's form."""
    added_files: int
    added_rows: int
    removed_files: int
    removed_rows: int
    code_version: str | None
    readers: tuple[ReadRun, ...]
    """Consumer runs that read exactly this snapshot."""


class Ledger(Record):
    """Rows oldest first. `readers_known` is False when no lineage source could be asked."""

    rows: tuple[LedgerRow, ...]
    readers_known: bool

    @property
    def main(self) -> tuple[LedgerRow, ...]:
        """Rows that the head still descends from, oldest first."""
        return tuple(row for row in self.rows if row.on_main)

    @property
    def rolled_back(self) -> tuple[LedgerRow, ...]:
        """Rows that were head once and are ancestors no longer, oldest first."""
        return tuple(row for row in self.rows if not row.on_main)
