"""Commits as lines of the ledger's sample: what a phone shows first comes first."""

from collections.abc import Sequence
from datetime import datetime

from bot.domain.clock_time import column_times
from bot.domain.flink import CheckpointKind
from bot.domain.ids import short, short_job, short_operator
from bot.domain.ledger import LedgerRow, Sink, change, event_range

COLUMNS = (
    "checkpoint", "run", "committed", "on main", "no commit before", "rows", "read by", "snapshot", "writer", "files",
    "deletes", "event time", "positions", "refs", "code", "attempts", "subtasks", "operator", "schema, spec", "parent",
)  # fmt: skip
"""Twenty: Slack's table takes no more."""
_WRITERS = {Sink.FLINK_UNKNOWN: "Flink", Sink.COMPACTION: "compaction"}


def lines_of(rows: Sequence[LedgerRow], *, readers_known: bool, looked_at: datetime) -> tuple[tuple[str, ...], ...]:
    """One line a row; the day is told only where they are not all of the day of the look. `readers_known` as in
    `Ledger`."""
    said = column_times((looked_at, *(row.committed_at for row in rows)))
    return tuple(_cells(row, said(row.committed_at), readers_known=readers_known) for row in rows)


def _cells(row: LedgerRow, committed: str, *, readers_known: bool) -> tuple[str, ...]:
    """As many as `COLUMNS`; empty where there is nothing, `unknown` where no source tells, and of a checkpoint's kind a
    question mark."""
    return (
        _checkpoint(row),
        short_job(row.job_id) if row.job_id else "",
        committed,
        "yes" if row.on_main else "rolled back",
        ", ".join(each.words for each in row.skipped),
        change(row.added_rows, row.removed_rows),
        ", ".join(sorted({reader.consumer for reader in row.readers})) or ("" if readers_known else "unknown"),
        short(row.snapshot_id),
        _writer(row),
        change(row.added_files, row.removed_files),
        change(row.added_delete_files, row.removed_delete_files) if row.has_deletes else "",
        event_range(row.event_from, row.event_until),
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        ", ".join(name for name in row.refs if name != "main"),
        row.code_version or "unknown",
        _numbers(row, row.attempts),
        _numbers(row, row.subtasks),
        short_operator(row.operator_id) if row.job_id or row.operator_id else "",
        _schema_and_spec(row),
        "" if row.parent_id is None else short(row.parent_id),
    )


def _checkpoint(row: LedgerRow) -> str:
    """`5`, `5 savepoint`; `5?` where no source tells which of the two: a word in most lines would be no calm."""
    if row.checkpoint_id is None:
        return row.operation
    match row.checkpoint_kind:
        case CheckpointKind.CHECKPOINT:
            return str(row.checkpoint_id)
        case CheckpointKind.UNKNOWN:
            return f"{row.checkpoint_id}?"
        case _:
            return f"{row.checkpoint_id} {row.checkpoint_kind.value}"


def _writer(row: LedgerRow) -> str:
    """The kind of writer, and what it did where that is not an append."""
    name = _WRITERS.get(row.sink, row.engine if row.sink is Sink.OTHER else row.sink.value)
    is_said = row.operation == "append" or row.checkpoint_id is None
    return name if is_said else f"{name}, {row.operation}"


def _numbers(row: LedgerRow, told: tuple[int, ...] | None) -> str:
    if told is None:
        return "unknown" if row.added_files or row.added_delete_files else ""
    return ", ".join(map(str, told))


def _schema_and_spec(row: LedgerRow) -> str:
    """`0, 0`; several specs as `0, 0/1`."""
    schema = "unknown" if row.schema_id is None else str(row.schema_id)
    return f"{schema}, {'/'.join(map(str, row.spec_ids))}" if row.spec_ids else schema
