"""Which run read a commit's rows from the source, and whether a later commit shows that they were read again.

Commits that carry a checkpoint once more, told from those that only count from 1 again.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.other_writers import origin_of
from bot.domain.table import Snapshot, TableState
from spark_tasks._covered import Covered, Range

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


def run_of(table: TableState, commit: Snapshot) -> JobId | None:
    """The Flink run that read its rows; of a cherry-pick that of the commit which it copied. None also of what moves
    rows, and of a copy whose source is no longer listed."""
    origin = origin_of(table, commit)
    return origin.job_id if origin is not None and commit.operation != "replace" else None


Pair = tuple[SnapshotId, SnapshotId]
"""Two commits, in the order of main."""


def read_twice(
    table: TableState, commits: Sequence[Snapshot], positions: Iterable[Range], exact: Set[Pair]
) -> frozenset[Pair]:
    """Of `exact`, the pairs of one sink of one run that share positions, those between which the run went back.

    A source that goes back begins anew where a checkpoint had ended: with the very position with which an earlier
    commit began. Ranges that overlap without one mix source partitions that the contract does not tell apart, or
    topics. Nor are the batches of one Flink CDC checkpoint held against each other.
    """
    lines: dict[tuple[JobId, OperatorId | None], list[SnapshotId]] = {}
    for commit in commits:
        if BATCH not in commit.summary and (run := run_of(table, commit)) is not None:
            lines.setdefault((run, commit.operator_id), []).append(commit.snapshot_id)
    begins: dict[SnapshotId, dict[str, int]] = {}
    for each in positions:
        lowest = begins.setdefault(each.snapshot_id, {})
        lowest[each.partition] = min(each.low, lowest.get(each.partition, each.low))
    turns = {at: (sink, turn) for sink, line in lines.items() for at, turn in _turns(line, begins)}
    told = (pair for pair in exact if turns.keys() >= set(pair))
    return frozenset(
        (first, again)
        for first, again in told
        if turns[first][0] == turns[again][0] and turns[first][1] < turns[again][1]
    )


def _turns(
    line: Sequence[SnapshotId], begins: Mapping[SnapshotId, Mapping[str, int]]
) -> Iterator[tuple[SnapshotId, int]]:
    """How often the sink's source had gone back when it brought each commit."""
    seen, turn = set[tuple[str, int]](), 0
    for snapshot in line:
        here = set(begins.get(snapshot, {}).items())
        turn += bool(here & seen)
        seen |= here
        yield snapshot, turn


def by_two_runs(table: TableState, first: Snapshot, again: Snapshot) -> bool:
    """Whether two runs read what the commits brought, as far as both are known."""
    runs = {run_of(table, commit) for commit in (first, again)}
    return None not in runs and len(runs) > 1
