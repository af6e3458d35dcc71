"""What stands beside the marks of the ledger's picture, and the picture in words. Pure."""

from collections.abc import Sequence, Set
from datetime import UTC

from bot.domain.ids import DRAINED, CheckpointId, SnapshotId, short, short_job
from bot.domain.ledger import Ledger, LedgerRow, Sink
from bot.domain.ledger_marks import Commit, Mark, Missing, Stretch
from bot.domain.sentences import clock_time, counted


def writer_of(row: LedgerRow) -> str:
    """What shares a lane: a Flink run by its whole id, any other writer by its kind."""
    if row.job_id is not None:
        return row.job_id
    return row.engine if row.sink is Sink.OTHER else row.sink.value


def lane_of(mark: Mark) -> str:
    """The writer of a mark."""
    match mark:
        case Commit():
            return writer_of(mark.row)
        case Stretch():
            return writer_of(mark.rows[0])
        case Missing():
            return mark.skipped.job_id or "unknown"


def name_of(writer: str) -> str:
    """A run by its first six digits, others as they are."""
    return short_job(writer) if len(writer) == 32 else writer[:11]


def beside(mark: Mark) -> str:
    """Right beside the mark: checkpoint ids, or what another engine did."""
    match mark:
        case Commit():
            did = _id(mark.row.checkpoint_id) if mark.row.checkpoint_id is not None else mark.row.operation
            return did if mark.row.on_main else f"{did} rolled back"
        case Stretch():
            return f"{mark.checkpoints} ({len(mark.rows)})" if mark.checkpoints else f"{len(mark.rows)} commits"
        case Missing():
            return mark.skipped.words


def _id(checkpoint: CheckpointId) -> str:
    return "drained" if checkpoint == DRAINED else str(checkpoint)


def note_of(mark: Mark) -> str:
    """A line under the mark: who read it, and which tags and branches keep it; mostly empty."""
    if not isinstance(mark, Commit):
        return ""
    readers = sorted({reader.consumer for reader in mark.row.readers})
    kept = [ref for ref in mark.row.refs if ref not in ("main", "waterline")]
    return " · ".join([*([f"read by {', '.join(readers)}"] if readers else []), *kept])


def days_of(marks: Sequence[Mark]) -> list[str]:
    """For each mark (newest first) the day, in UTC, that is said above it: `2 Nov 2026` above the first, and wherever
    another one begins."""
    days = [rows[-1].committed_at.astimezone(UTC) if (rows := _rows_of(mark)) else None for mark in marks]
    said = next((day for day in days if day is not None), None)
    found = [f"{said.day} {said:%b %Y}" if said is not None else ""]
    for day in days[1:]:
        is_new = day is not None and said is not None and day.date() != said.date()
        found.append(f"{day.day} {day:%b %Y}" if is_new and day is not None else "")
        said = day or said
    return found[: len(marks)]


def _rows_of(mark: Mark) -> tuple[LedgerRow, ...]:
    """Oldest first; none where the commits are missing."""
    match mark:
        case Commit():
            return (mark.row,)
        case Stretch():
            return mark.rows
        case Missing():
            return ()


def title_of(mark: Commit | Stretch) -> str:
    """What a pointer resting on it reads."""
    if isinstance(mark, Stretch):
        return (
            f"{len(mark.rows)} commits by {name_of(writer_of(mark.rows[0]))}, checkpoints {mark.checkpoints or 'none'}"
        )
    row = mark.row
    checkpoint = f", checkpoint {row.checkpoint_id}" if row.checkpoint_id is not None else ""
    gone = ", no longer in the table" if mark.is_gone else ""
    return f"{short(row.snapshot_id)} by {name_of(writer_of(row))}{checkpoint}, {row.added_rows:,} rows{gone}"


def not_drawn(left_out: int) -> str:
    """What says that a picture begins later than its ledger; empty where it shows all."""
    if not left_out:
        return ""
    return f"{left_out:,} older commit{' is' if left_out == 1 else 's are'} not drawn"


def alt_text(ledger: Ledger, line: str, gone: Set[SnapshotId], left_out: int) -> str:
    """The picture for those who do not see it, in a few sentences. `left_out`: of the older commits, not drawn."""
    rows = ledger.rows
    if not rows:
        return "No commit in the window."
    writers = dict.fromkeys(writer_of(row) for row in rows)
    first, last = rows[0].committed_at, rows[-1].committed_at
    told = [
        f"{counted(len(rows), 'commit')} from {clock_time(first, seconds=True)} "
        f"to {clock_time(last, first, seconds=True)}",
        *([not_drawn(left_out)] if left_out else []),
        *([] if ledger.readers_known else ["who read them is unknown"]),
        *(_writer_in_words(writer, [row for row in rows if writer_of(row) == writer]) for writer in writers),
    ]
    lost = [row for row in rows if row.snapshot_id in gone]
    if lost:
        told.append(f"{len(lost)} of them no longer in the table")
    missing = [each for row in rows for each in row.skipped if each.is_fault]
    told += [f"checkpoints {each.words}" for each in (*missing, *(t for t in ledger.trailing if t.is_fault))]
    readers = dict.fromkeys((reader.consumer, row.snapshot_id) for row in rows for reader in row.readers)
    told += [f"{consumer} read {short(snapshot)}" for consumer, snapshot in readers]
    told.append(line or "no snapshot is trusted")
    return ". ".join(part[0].upper() + part[1:] for part in told) + "."


def _writer_in_words(writer: str, rows: list[LedgerRow]) -> str:
    ids = [row.checkpoint_id for row in rows if row.checkpoint_id is not None]
    if not ids:
        return f"{name_of(writer)} committed {'once' if len(rows) == 1 else f'{len(rows)} times'}"
    span = f"checkpoint {ids[0]}" if len(ids) == 1 else f"checkpoints {min(ids)} to {max(ids)}"
    return f"run {name_of(writer)} committed {span}"
