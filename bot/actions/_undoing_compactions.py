"""What must hold of main's commits before a compaction is undone: what it had replaced holds every row of its time."""

from collections.abc import Container, Iterable

from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState

_LEAVES_ROWS = {"append", "replace"}


def since_the_first_of(table: TableState, commits: Container[SnapshotId]) -> tuple[Snapshot, ...]:
    """Main's commits from the oldest of these on, oldest first; empty where none of them is on main."""
    order = list(reversed(table.chain))
    first = next((number for number, s in enumerate(order) if s.snapshot_id in commits), len(order))
    return tuple(order[first:])


def first_that_took_rows(commits: Iterable[Snapshot]) -> Snapshot | None:
    """The first of these that deleted or overwrote rows: they would come back with the files from before."""
    return next((s for s in commits if s.operation not in _LEAVES_ROWS), None)
