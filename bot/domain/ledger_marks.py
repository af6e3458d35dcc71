"""Which marks a picture of the ledger shows: commits, stretches of uneventful ones, and what is missing. Pure."""

from collections.abc import Set
from dataclasses import dataclass

from bot.domain.ids import SnapshotId
from bot.domain.ledger import Ledger, LedgerRow, SkippedCheckpoint

_WHOLE = 16
"""A ledger of so many commits is shown whole."""
_SHORTEST = 3
"""A stretch stands for at least so many commits."""
MOST = 30
"""Marks that are drawn; of more the newest."""


@dataclass(frozen=True)
class Commit:
    row: LedgerRow
    is_gone: bool
    """Whether the table no longer contains it."""


@dataclass(frozen=True)
class Stretch:
    """Commits of one writer in a row of which there is nothing to say."""

    rows: tuple[LedgerRow, ...]
    is_gone: bool

    @property
    def checkpoints(self) -> str:
        """`12–46`; empty where they are not Flink's."""
        first, last = self.rows[0].checkpoint_id, self.rows[-1].checkpoint_id
        return "" if first is None or last is None else f"{first}–{last}"


@dataclass(frozen=True)
class Missing:
    """Checkpoints whose files may be missing from the table."""

    skipped: SkippedCheckpoint


Mark = Commit | Stretch | Missing


def marks_of(ledger: Ledger, *, gone: Set[SnapshotId], line_at: SnapshotId | None) -> tuple[tuple[Mark, ...], int]:
    """(marks oldest first, number of older commits that are left out)."""
    rows = ledger.rows
    found: list[Mark] = []
    plain: list[LedgerRow] = []

    def close() -> None:
        """Turn the plain commits collected so far into marks."""
        is_gone = bool(plain) and plain[0].snapshot_id in gone
        if len(plain) >= _SHORTEST:
            found.append(Stretch(rows=tuple(plain), is_gone=is_gone))
        else:
            found.extend(Commit(row=row, is_gone=is_gone) for row in plain)
        plain.clear()

    for n, row in enumerate(rows):
        if len(rows) > _WHOLE and _is_plain(rows, n, gone, line_at):
            plain.append(row)
            continue
        close()
        found += [Missing(skipped=each) for each in row.skipped if each.is_fault]
        found.append(Commit(row=row, is_gone=row.snapshot_id in gone))
    close()
    found += [Missing(skipped=each) for each in ledger.trailing if each.is_fault]
    return tuple(found[-MOST:]), sum(_commits(mark) for mark in found[:-MOST])


def _commits(mark: Mark) -> int:
    match mark:
        case Commit():
            return 1
        case Stretch():
            return len(mark.rows)
        case Missing():
            return 0


def _is_plain(rows: tuple[LedgerRow, ...], n: int, gone: Set[SnapshotId], line_at: SnapshotId | None) -> bool:
    """Whether commit `n` says nothing that its neighbours do not say."""
    if n in (0, len(rows) - 1):
        return False
    before, row, after = rows[n - 1], rows[n], rows[n + 1]
    is_marked = (
        bool(row.readers) or any(ref != "main" for ref in row.refs) or line_at in (row.snapshot_id, row.parent_id)
    )
    is_marked = is_marked or any(each.is_fault for each in (*row.skipped, *after.skipped))
    is_alike = _kind(before, gone) == _kind(row, gone) == _kind(after, gone)
    return is_alike and not is_marked and row.parent_id == before.snapshot_id


def _kind(row: LedgerRow, gone: Set[SnapshotId]) -> tuple[object, ...]:
    return (row.engine, row.job_id, row.on_main, row.snapshot_id in gone)
