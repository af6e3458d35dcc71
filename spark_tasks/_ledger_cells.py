"""One commit as a line of the ledger's sample."""

from bot.domain.flink import CheckpointKind
from bot.domain.ids import short, short_job
from bot.domain.ledger import LedgerRow, Sink, event_range

COLUMNS = (
    "committed", "snapshot", "on main", "writer", "run", "checkpoint", "no commit before", "files", "rows",
    "event time", "positions", "attempts", "schema", "spec", "refs", "code", "read by",
)  # fmt: skip
_WRITERS = {Sink.FLINK_UNKNOWN: "Flink", Sink.COMPACTION: "compaction"}


def cells(row: LedgerRow) -> tuple[str, ...]:
    """As many as `COLUMNS`; empty where there is nothing, `unknown` where no source tells."""
    return (
        f"{row.committed_at:%Y-%m-%d %H:%M:%S}",
        short(row.snapshot_id),
        "yes" if row.on_main else "rolled back",
        _WRITERS.get(row.sink, row.engine if row.sink is Sink.OTHER else row.sink.value),
        short_job(row.job_id) if row.job_id else "",
        _checkpoint(row),
        ", ".join(each.words for each in row.skipped),
        _change(row.added_files + row.added_delete_files, row.removed_files + row.removed_delete_files),
        _change(row.added_rows, row.removed_rows),
        event_range(row.event_from, row.event_until),
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        "unknown" if row.attempts is None else ", ".join(map(str, row.attempts)),
        "" if row.schema_id is None else str(row.schema_id),
        ", ".join(map(str, row.spec_ids)),
        ", ".join(name for name in row.refs if name != "main"),
        row.code_version or "unknown",
        ", ".join(sorted({reader.consumer for reader in row.readers})),
    )


def _checkpoint(row: LedgerRow) -> str:
    if row.checkpoint_id is None:
        return ""
    is_plain = row.checkpoint_kind in (CheckpointKind.CHECKPOINT, CheckpointKind.UNKNOWN)
    return str(row.checkpoint_id) if is_plain else f"{row.checkpoint_id} {row.checkpoint_kind.value}"


def _change(added: int, removed: int) -> str:
    return f"+{added:,} −{removed:,}" if removed else f"+{added:,}"
