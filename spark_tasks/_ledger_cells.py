"""Commits as lines of the ledger's sample: what a phone shows first comes first."""

from collections.abc import Sequence

from bot.domain.flink import CheckpointKind
from bot.domain.ids import short, short_job
from bot.domain.ledger import LedgerRow, Sink, event_range

COLUMNS = (
    "checkpoint", "run", "committed", "on main", "no commit before", "rows", "read by", "snapshot", "writer", "files",
    "event time", "positions", "refs", "code", "attempts", "schema", "spec",
)  # fmt: skip
_WRITERS = {Sink.FLINK_UNKNOWN: "Flink", Sink.COMPACTION: "compaction"}


def lines_of(rows: Sequence[LedgerRow]) -> tuple[tuple[str, ...], ...]:
    """One line a row; the day is told only where they are not all of one."""
    form = "%H:%M:%S" if len({row.committed_at.date() for row in rows}) == 1 else "%Y-%m-%d %H:%M:%S"
    return tuple(_cells(row, form) for row in rows)


def _cells(row: LedgerRow, form: str) -> tuple[str, ...]:
    """As many as `COLUMNS`; empty where there is nothing, `unknown` where no source tells."""
    return (
        _checkpoint(row),
        short_job(row.job_id) if row.job_id else "",
        row.committed_at.strftime(form),
        "yes" if row.on_main else "rolled back",
        ", ".join(each.words for each in row.skipped),
        _change(row.added_rows, row.removed_rows),
        ", ".join(sorted({reader.consumer for reader in row.readers})),
        short(row.snapshot_id),
        _WRITERS.get(row.sink, row.engine if row.sink is Sink.OTHER else row.sink.value),
        _change(row.added_files + row.added_delete_files, row.removed_files + row.removed_delete_files),
        event_range(row.event_from, row.event_until),
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        ", ".join(name for name in row.refs if name != "main"),
        row.code_version or "unknown",
        _attempts(row),
        "" if row.schema_id is None else str(row.schema_id),
        ", ".join(map(str, row.spec_ids)),
    )


def _checkpoint(row: LedgerRow) -> str:
    if row.checkpoint_id is None:
        return row.operation
    is_plain = row.checkpoint_kind in (CheckpointKind.CHECKPOINT, CheckpointKind.UNKNOWN)
    return str(row.checkpoint_id) if is_plain else f"{row.checkpoint_id} {row.checkpoint_kind.value}"


def _attempts(row: LedgerRow) -> str:
    if row.attempts is None:
        return "unknown" if row.added_files or row.added_delete_files else ""
    return ", ".join(map(str, row.attempts))


def _change(added: int, removed: int) -> str:
    return f"+{added:,} −{removed:,}" if removed else f"+{added:,}"
