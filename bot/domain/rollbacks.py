"""Rollbacks of main, told by the snapshot log."""

from bisect import bisect_left
from collections.abc import Set
from itertools import pairwise

from bot.domain.ids import JobId, SnapshotId
from bot.domain.record import Record, Utc
from bot.domain.table import Snapshot, TableState, Window


class Rollback(Record):
    """Commits that were head of main once, and the ancestor of its head that main went to from them."""

    fork: SnapshotId | None
    """The newest snapshot that both share; None when it is no longer listed."""
    target: SnapshotId | None
    """The newest commit of main that was made before them. Above `fork` where main had been set back to that for a
    while and was set forward again, to commits that these do not stand on. None when none is listed."""
    left: tuple[SnapshotId, ...]
    """The commits that main lost there, oldest first."""
    runs: tuple[JobId, ...]
    """The Flink runs that wrote them."""
    at: Utc | None
    """When main went back from them last, by its log; None where that does not tell."""

    def is_within(self, window: Window, table: TableState) -> bool:
        """Whether main lost these commits at or above the window's lower edge."""
        if window.since is None or self.target is None:
            return True
        since = window.on_main(table).since
        return self.target not in {s.snapshot_id for s in table.ancestors(since)} - {since}


def rollbacks(table: TableState) -> tuple[Rollback, ...]:
    """Every rollback that metadata still shows, one a target and fork, by rising target. Staged commits never were head
    of main and do not count."""
    by_ends: dict[tuple[SnapshotId | None, SnapshotId | None], list[Snapshot]] = {}
    for lost in sorted(table.rolled_back, key=lambda s: table.place_of(s.snapshot_id)):
        by_ends.setdefault((_target(table, lost), _fork(table, lost)), []).append(lost)
    rising = sorted(by_ends, key=lambda ends: [table.place_of(end) for end in ends])
    return tuple(
        Rollback(
            fork=fork,
            target=target,
            left=tuple(s.snapshot_id for s in by_ends[target, fork]),
            runs=tuple(dict.fromkeys(s.job_id for s in by_ends[target, fork] if s.job_id)),
            at=_went_back_at(table, {s.snapshot_id for s in by_ends[target, fork]}),
        )
        for target, fork in rising
    )


def _fork(table: TableState, lost: Snapshot) -> SnapshotId | None:
    return next((s.snapshot_id for s in table.ancestors(lost.snapshot_id) if s.snapshot_id in table.chain_ids), None)


def _target(table: TableState, lost: Snapshot) -> SnapshotId | None:
    place = table.place_of(lost.snapshot_id)
    older = bisect_left(table.chain, -place, key=lambda s: -table.place_of(s.snapshot_id))
    return table.chain[older].snapshot_id if older < len(table.chain) else None


def _went_back_at(table: TableState, left: Set[SnapshotId]) -> Utc | None:
    moves = pairwise(table.head_moves)
    gone = [move.at for before, move in moves if before.snapshot_id in left and move.snapshot_id not in left]
    return gone[-1] if gone else None
