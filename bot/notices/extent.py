"""How far the harm goes: which snapshots, which times and partitions, which keys, and what is to be computed again.

Many snapshot ids in few words, none of them lost: commits in a row become a range. Pure.
"""

from collections.abc import Iterable

from bot.observation.ids import SnapshotId
from bot.observation.record import Documented, Utc
from bot.observation.table import Snapshot


class SnapshotRange(Documented):
    """Commits in a row: each but the first has the one before it as its parent."""

    first: SnapshotId
    """The oldest, full id."""
    last: SnapshotId
    """The newest, full id; the same where it is only one."""
    commits: int
    """How many, both ends included."""


class KeysChanged(Documented):
    """How many keys were wrong, as confirmed evidence counted them; None: not counted."""

    columns: tuple[str, ...]
    """The columns of the key, as the contract names them."""
    repeated: int | None
    """Keys that had more than one row."""
    changed: int | None
    """Keys whose row had other values than before."""
    gone: int | None
    """Keys that were there before, and were gone."""
    differing: tuple[str, ...]
    """Columns in which rows of one key differed, or differed from before; most keys first."""
    sample: tuple[str, ...]
    """At most five of these keys, as the evidence shows them; values that the contract hides are •••."""
    is_hidden: bool
    """Whether there is no sample because the contract hides every column of the key."""


class Rerun(Documented):
    """Whether this consumer must run again, and what it has to compute anew."""

    needed: bool | None
    """None: not known, or not yet."""
    from_snapshot: SnapshotId | None
    """The last good snapshot: who reads incrementally drops what came after it, and reads again from it (exclusive).
    None where that would bring wrong rows again, or is not known."""
    resume_after: SnapshotId | None
    """Where the wrong commits are still in the table's history: read this snapshot whole, and go on after it."""
    event_from: Utc | None
    """Lowest event time to be computed again (inclusive); None: not known for everything that was wrong."""
    event_until: Utc | None
    """Highest one (inclusive)."""
    partitions: tuple[str, ...]
    """Partitions to be computed again, as `day(event_time) 2026-11-03`; empty: not partitioned, or not known."""


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
