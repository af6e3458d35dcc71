"""Which run read a commit's rows from the source, and whether a later commit shows that they were read again."""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set

from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.other_writers import origin_of
from bot.domain.table import Snapshot, TableState
from spark_tasks._covered import Range
from spark_tasks._same_checkpoint import BATCH


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
