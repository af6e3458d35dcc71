"""Which run read a commit's rows from the source, and whether a later commit shows that they were read again."""

from collections import Counter
from collections.abc import Container, Sequence, Set
from itertools import pairwise

from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.other_writers import origin_of
from bot.domain.table import Snapshot, TableState
from spark_tasks._same_checkpoint import BATCH


def run_of(table: TableState, commit: Snapshot) -> JobId | None:
    """The Flink run that read its rows; of a cherry-pick that of the commit which it copied. None also of what moves
    rows, and of a copy whose source is no longer listed."""
    origin = origin_of(table, commit)
    return origin.job_id if origin is not None and commit.operation != "replace" else None


_MIXED_FROM = 3
"""So many steps of a sink have to overlap before they may show that its files mix parts of the source."""
Pair = tuple[SnapshotId, SnapshotId]
"""Two commits, in the order of main."""


def read_twice(
    table: TableState, commits: Sequence[Snapshot], placed: Container[SnapshotId], exact: Set[Pair]
) -> frozenset[Pair]:
    """Of `exact`, the pairs of one sink of one run that share positions, those that its going back explains.

    Not where more than half of its steps from commit to commit overlap: its files mix source partitions that the
    contract does not tell apart, or topics. Nor the batches of one Flink CDC checkpoint.
    """
    lines: dict[tuple[JobId, OperatorId | None], list[Snapshot]] = {}
    for commit in commits:
        if commit.snapshot_id in placed and (run := run_of(table, commit)) is not None:
            lines.setdefault((run, commit.operator_id), []).append(commit)
    found: set[Pair] = set()
    for line in lines.values():
        ids = [commit.snapshot_id for commit in line if not _is_batch(commit)]
        steps = Counter(step in exact for step in pairwise(ids))
        if not (steps[True] >= _MIXED_FROM and steps[True] > steps[False]):
            theirs = set(ids)
            found |= {pair for pair in exact if theirs.issuperset(pair)}
    return frozenset(found)


def by_two_runs(table: TableState, first: Snapshot, again: Snapshot) -> bool:
    """Whether two runs read what the commits brought, as far as both are known."""
    runs = {run_of(table, commit) for commit in (first, again)}
    return None not in runs and len(runs) > 1


def _is_batch(commit: Snapshot) -> bool:
    return BATCH in commit.summary
