"""The newest part of a long history, which a look of the watch judges in the place of all of it.

What lies below was judged while it was new and nothing was wrong with it: to most questions it is as if it had expired.
The cost of judging is then that of the newest commits, however old the table is. What still depends on an older commit
is not asked of a part: then the whole is judged.
"""

from collections.abc import Set
from datetime import datetime
from itertools import takewhile

from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId
from bot.domain.listed import Listed
from bot.domain.looked import NotSeen, Seen
from bot.domain.predecessors import Predecessors
from bot.domain.suspicion import LOOK_BACK
from bot.domain.table import Snapshot, TableState

KEPT = 256
"""Snapshots of the newest part; several windows of a new incident fit into it."""


def tail_of(table: TableState, jobs: Seen[JobRun] | NotSeen, *, kept: int = KEPT) -> TableState | None:
    """The table with its `kept` newest snapshots alone. None where that is not enough to judge it: for a short history;
    where main was set back to below them, or nearly; where the newest commit of a living run, the point that a run was
    restored from since or has yet to commit after, or the newest rows lie below them.

    Cost: so many snapshots, and one pass over the names of all writers.
    """
    if not isinstance(table.snapshots, Listed) or len(table.snapshots) <= 2 * kept:
        return None
    newest = tuple(table.snapshots[-kept:])
    since = newest[0].committed_at
    moves = tuple(takewhile(lambda move: move.at >= since, reversed(table.head_moves)))[::-1]
    fields = {name: getattr(table, name) for name in TableState.model_fields}
    tail = TableState.model_construct(**{**fields, "snapshots": newest, "head_moves": moves})
    wrote = {writer for writer, _operator in table.snapshots.writers if writer is not None}
    seen = {snapshot.job_id for snapshot in tail.of_flink}
    known = seen & {run.job_id for run in jobs.values}
    mine = Predecessors(tail, jobs.values)
    is_enough = (
        len(tail.chain) > LOOK_BACK
        and any(snapshot.counted("added-records") for snapshot in tail.chain)
        and (bool(seen) or not wrote)
        and all(run.is_terminal or run.job_id in seen or run.job_id not in wrote for run in jobs.values)
        and all(run.is_terminal or run.job_id in wrote or run.restored is None or known for run in jobs.values)
        and all(_reaches(tail, run, mine) for run in jobs.values if _may_be_rewound(run, since, wrote))
    )
    return tail if is_enough else None


def goes_on_from(tail: TableState, judged: SnapshotId | None) -> bool:
    """Whether all that came since `judged` was head lies in it, and enough below to judge that."""
    places = [snapshot.snapshot_id for snapshot in tail.snapshots]
    return judged in places[LOOK_BACK:]


def _may_be_rewound(run: JobRun, since: datetime, wrote: Set[str]) -> bool:
    """Whether where it was restored from is asked of the part: it was since that begins, or has yet to commit."""
    if run.restored is None:
        return False
    return run.restored.at >= since or (not run.is_terminal and run.job_id not in wrote)


def _reaches(tail: TableState, run: JobRun, mine: Predecessors) -> bool:
    """Whether it holds a commit from before the run's restore that the restore point covers; not a guest's, whose ids
    say nothing of it."""
    assert run.restored is not None
    point = run.restored

    def is_covered(commit: Snapshot) -> bool:
        is_before = commit.committed_at <= point.at and (commit.checkpoint_id or 0) <= point.checkpoint_id
        return is_before and mine.may_be_own(commit)

    return any(is_covered(commit) for commit in tail.of_flink)
