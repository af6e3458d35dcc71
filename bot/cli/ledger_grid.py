"""The ledger as tables of the terminal: one line a commit, and what never became one."""

from datetime import datetime

from rich.table import Table as Grid

from bot.cli.fitted_grid import fitted_grid
from bot.domain.clock_time import column_times
from bot.domain.flink import CheckpointKind
from bot.domain.ids import short, short_job, short_operator
from bot.domain.ledger import Ledger, LedgerRow, event_range

_COLUMNS = (
    "at (UTC)", "snapshot", "parent", "op", "writer", "run", "checkpoint", "no commit before", "att", "sub", "files",
    "deletes", "rows", "event time", "positions", "schema", "spec", "operator", "refs", "code", "read by",
)  # fmt: skip
_BY_WEIGHT = (
    "snapshot", "at (UTC)", "checkpoint", "run", "no commit before", "rows", "read by", "positions", "refs", "deletes",
    "event time", "writer", "op", "files", "code", "parent", "att", "sub", "operator", "schema", "spec",
)  # fmt: skip


def ledger_grid(ledger: Ledger, looked_at: datetime, width: int | None = None) -> Grid:
    """Oldest first; times with their day where not all are of the day of the look. A column in which nothing stands
    is left out; `width` as in `fitted_grid`."""
    said = column_times((looked_at, *(row.committed_at for row in ledger.rows)))
    lines = [_line(row, said(row.committed_at), readers_known=ledger.readers_known) for row in ledger.rows]
    kept = [n for n in range(len(_COLUMNS)) if any(line[n] for line in lines)]
    return fitted_grid([_COLUMNS[n] for n in kept], [[line[n] for n in kept] for line in lines], width, _BY_WEIGHT)


def missing_grid(ledger: Ledger) -> Grid | None:
    """Checkpoint ids that have no commit on main, each with its reason; None without any."""
    between = [each for row in ledger.rows for each in row.skipped]
    if not between and not ledger.trailing:
        return None
    grid = Grid("run", "checkpoints", "why", "what shows it", title="without a commit on main", title_justify="left")
    for each in (*between, *ledger.trailing):
        style = "bold" if each.is_fault else None
        grid.add_row(short_job(each.job_id), each.ids, each.reason.value, each.detail, style=style)
    return grid


def _line(row: LedgerRow, committed: str, *, readers_known: bool) -> tuple[str, ...]:
    """As many cells as `_COLUMNS`; `?` where no source tells."""
    return (
        committed,
        ("" if row.on_main else "rolled back ") + str(row.snapshot_id),
        short(row.parent_id),
        row.operation,
        row.sink.value,
        short_job(row.job_id) if row.job_id else row.engine,
        "" if row.checkpoint_id is None else f"{row.checkpoint_id}{_kind(row)}",
        ", ".join(each.words for each in row.skipped),
        _numbers(row.attempts),
        _numbers(row.subtasks),
        _change(row.added_files, row.removed_files),
        _change(row.added_delete_files, row.removed_delete_files) if row.has_deletes else "",
        _change(row.added_rows, row.removed_rows),
        event_range(row.event_from, row.event_until),
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        "" if row.schema_id is None else str(row.schema_id),
        ",".join(map(str, row.spec_ids)),
        "" if row.job_id is None else short_operator(row.operator_id) if row.operator_id else "?",
        ", ".join(row.refs),
        row.code_version or "?",
        ", ".join(sorted({reader.consumer for reader in row.readers})) if readers_known else "?",
    )


def _kind(row: LedgerRow) -> str:
    return "?" if row.checkpoint_kind is CheckpointKind.UNKNOWN else f" {row.checkpoint_kind.value}"


def _numbers(told: tuple[int, ...] | None) -> str:
    return "?" if told is None else ",".join(map(str, told))


def _change(added: int, removed: int) -> str:
    return f"{added} -{removed}" if removed else str(added)
