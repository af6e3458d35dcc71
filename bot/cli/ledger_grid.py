"""The ledger as a table of the terminal: one line a commit."""

from rich.table import Table as Grid

from bot.domain.ids import short, short_job
from bot.domain.ledger import LedgerRow


def ledger_grid(rows: tuple[LedgerRow, ...]) -> Grid:
    """Oldest first."""
    grid = Grid("at (UTC)", "snapshot", "parent", "op", "run", "checkpoint", "att", "files", "rows", "code", "read by")
    for row in rows:
        checkpoint = "" if row.checkpoint_id is None else f"{row.checkpoint_id} {row.checkpoint_kind.value}"
        grid.add_row(
            f"{row.committed_at:%H:%M:%S}",
            ("" if row.on_main else "rolled back ") + str(row.snapshot_id),
            short(row.parent_id),
            row.operation,
            short_job(row.job_id) if row.job_id else row.engine,
            checkpoint,
            ",".join(map(str, row.attempts)) if row.attempts is not None else "?",
            str(row.added_files),
            str(row.added_rows),
            row.code_version or "?",
            ", ".join(sorted({reader.consumer for reader in row.readers})),
        )
    return grid
