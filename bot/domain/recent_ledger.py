"""The newest commits as a ledger, from the table's metadata alone: what a page can show without an incident. Pure."""

from heapq import nlargest

from bot.domain.flink import CheckpointKind
from bot.domain.ledger import Ledger, LedgerRow, Sink
from bot.domain.table import Snapshot, TableState

_MOST = 40


def recent_ledger(table: TableState) -> Ledger:
    """The newest commits, those that were rolled back too. Files are not opened, and neither Flink nor lineage is
    asked: checkpoints without a commit, readers and ranges are not known here."""
    newest = nlargest(_MOST, table.snapshots, key=lambda s: table.place_of(s.snapshot_id))
    rolled_back = {s.snapshot_id for s in table.rolled_back}
    shown = [s for s in reversed(newest) if s.snapshot_id in table.chain_ids or s.snapshot_id in rolled_back]
    return Ledger(rows=tuple(_row(table, snapshot) for snapshot in shown), readers_known=False)


def _row(table: TableState, snapshot: Snapshot) -> LedgerRow:
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
        checkpoint_kind=CheckpointKind.UNKNOWN,
        attempts=None,
        added_files=snapshot.counted("added-data-files"),
        added_rows=snapshot.counted("added-records"),
        removed_files=snapshot.counted("deleted-data-files"),
        removed_rows=snapshot.counted("deleted-records"),
        code_version=None,
        readers=(),
        sink=Sink.FLINK_UNKNOWN if snapshot.job_id else Sink.OTHER,
        refs=tuple(ref.name for ref in table.refs if ref.snapshot_id == snapshot.snapshot_id and ref.name != "main"),
    )
