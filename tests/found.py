"""What evidence would have found, without running it."""

from collections.abc import Iterable

from bot.domain.findings import DuplicatePair, DuplicatesFinding, GapsFinding
from bot.domain.flink import CheckpointKind
from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.table import TableState, Window


def ledger_of(table: TableState, window: Window) -> Ledger:
    """The ledger as the evidence task would find it."""
    rows = tuple(
        LedgerRow(
            snapshot_id=s.snapshot_id,
            parent_id=s.parent_id,
            sequence_number=s.sequence_number,
            committed_at=s.committed_at,
            on_main=s.snapshot_id in table.chain_ids,
            operation=s.operation,
            engine=s.engine,
            job_id=s.job_id,
            operator_id=s.operator_id,
            checkpoint_id=s.checkpoint_id,
            checkpoint_kind=CheckpointKind.CHECKPOINT,
            attempts=(0,),
            added_files=1,
            added_rows=s.counted("added-records"),
            removed_files=0,
            removed_rows=0,
            code_version=None,
            readers=(),
        )
        for s in window.of(table)
    )
    return Ledger(rows=rows, readers_known=False)


def twice(keys: int, pairs: Iterable[tuple[SnapshotId, SnapshotId]] = ()) -> DuplicatesFinding:
    """So many keys live twice."""
    return DuplicatesFinding(
        rows_checked=100,
        keys=keys,
        extra_rows=keys,
        pairs=tuple(DuplicatePair(first=first, second=second, keys=keys) for first, second in pairs),
    )


def hole(missing: int) -> GapsFinding:
    """So many source positions are missing."""
    return GapsFinding(lowest=0, highest=99, positions=100 - missing, missing=missing, gaps=())
