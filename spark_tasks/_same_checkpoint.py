"""Commits that carry a checkpoint once more, told from those that only count from 1 again."""

from collections.abc import Iterator, Sequence, Set

from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot
from spark_tasks._covered import Covered

_COUNTERS = ("added-data-files", "added-records")
BATCH = "flink.batch-index"
"""Flink CDC commits a checkpoint in several batches."""


def earlier_of_checkpoint(
    commits: Sequence[Snapshot], overlapping: Set[tuple[SnapshotId, SnapshotId]], covered: Covered
) -> Iterator[tuple[SnapshotId, SnapshotId]]:
    """(first, again) of one run, operator and checkpoint id, oldest first, where the second repeats the first.

    Their source ranges decide, where both have one; else whether both added as many files and rows.
    """
    seen: dict[tuple[str | None, str | None, int], Snapshot] = {}
    for commit in commits:
        if commit.job_id is None or commit.checkpoint_id is None or BATCH in commit.summary:
            continue
        name = (commit.job_id, commit.operator_id, commit.checkpoint_id)
        first = seen.setdefault(name, commit)
        if first is not commit and _repeats(first, commit, overlapping, covered):
            yield first.snapshot_id, commit.snapshot_id


def came_whole(first: Snapshot, again: Snapshot, covered: Covered) -> bool:
    """Whether the second brought as many files and rows as the first, and none of another part of the source: then all
    its rows are surely the first one's."""
    if any(first.counted(key) != again.counted(key) for key in _COUNTERS):
        return False
    for ranges in (covered.positions, covered.times):
        of_first, of_again = (
            {(each.partition, each.low, each.high) for each in ranges if each.snapshot_id == commit.snapshot_id}
            for commit in (first, again)
        )
        if of_first and of_again:
            return of_first == of_again
    return True


def _repeats(
    first: Snapshot, again: Snapshot, overlapping: Set[tuple[SnapshotId, SnapshotId]], covered: Covered
) -> bool:
    pair = (first.snapshot_id, again.snapshot_id)
    if covered.known(pair):
        return pair in overlapping
    return all(first.counted(key) == again.counted(key) > 0 for key in _COUNTERS)
