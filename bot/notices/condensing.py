"""Many snapshot ids in few words, none of them lost: commits in a row become a range. Pure."""

from collections.abc import Iterable

from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot
from bot.notices.extent import SnapshotRange


def ranges_of(oldest_first: Iterable[Snapshot]) -> tuple[SnapshotRange, ...]:
    """Every one of these commits in exactly one range, in the order of each range's first."""
    rows: list[list[SnapshotId]] = []
    by_last: dict[SnapshotId, list[SnapshotId]] = {}
    for snapshot in oldest_first:
        row = by_last.pop(snapshot.parent_id, None) if snapshot.parent_id is not None else None
        if row is None:
            row = []
            rows.append(row)
        row.append(snapshot.snapshot_id)
        by_last[snapshot.snapshot_id] = row
    return tuple(SnapshotRange(first=row[0], last=row[-1], commits=len(row)) for row in rows)
