"""The state of a run that has committed nothing yet: it belongs to the commit with which its beginning pairs.

No snapshot tells of such a run. As long as its committer owes nothing, its rows are those of what it was started from.
"""

from collections.abc import Collection
from datetime import datetime
from itertools import pairwise, takewhile

from bot.actions._restore_points import RestorePoint, ends_main, pair_of
from bot.domain.diagnosis import Case
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.findings import Pairing
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.guests import commits_that_bind
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.kin import began_from
from bot.domain.own_points import brought_again, points_told_apart
from bot.domain.pairing import owed_checkpoints
from bot.domain.paths import may_be_same
from bot.domain.run_commits import CommitsByRun
from bot.domain.table import TableState


def lists_none_of(run: JobId, table: TableState) -> bool:
    """Whether no listed snapshot is a commit of the run."""
    return not any(s.job_id == run and s.checkpoint_id is not None for s in table.snapshots)


def has_lost_none_since(began: datetime, table: TableState) -> bool:
    """Whether the snapshot log shows that main has only gone forward since (inclusive): what it went back from may have
    expired, and no snapshot tells of that any more. False where the log does not tell how main got where it stood."""
    newest_first = tuple(takewhile(lambda move: move.at >= began, reversed(table.head_moves)))
    since, earlier = newest_first[::-1], len(table.head_moves) - len(newest_first)
    if not earlier and since:
        first = table.by_id.get(since[0].snapshot_id)
        if first is None or first.committed_at != since[0].at:
            return False
    heads = [table.head_moves[earlier - 1].snapshot_id] if earlier else []
    heads.extend(move.snapshot_id for move in since)
    is_forward = all(table.place_of(below) < table.place_of(above) for below, above in pairwise(heads))
    return is_forward and all(head in table.chain_ids for head in heads)


def stands_on(case: Case, live: JobRun) -> SnapshotId | None:
    """Of a run that has committed nothing: main's newest commit that binds, with which its beginning pairs; None of any
    other run, whose own commits tell.

    Raises Refused where that is not proven: what it leaves would pair with nothing; CouldNotLook where storage was not
    seen.
    """
    table = case.observation.table
    if not lists_none_of(live.job_id, table):
        return None
    if not has_lost_none_since(live.started_at, table):
        raise Refused(
            f"The table lists no commit of run {short_job(live.job_id)}, so the state that its stop would leave "
            "cannot be proven.",
            f"Expected main only to have moved forward since the run started at {live.started_at:%Y-%m-%d %H:%M:%S} "
            "UTC; the snapshot log does not show that. A commit of the run may have been rolled back and then "
            "expired.",
            "Wait for its next commit, then propose again. The run was not stopped.",
        )
    stored = case.observation.checkpoints
    if stored.state == "not-seen":
        raise CouldNotLook(
            f"The table lists no commit of run {short_job(live.job_id)}, and it is not known whether its state fits.",
            f"Expected to read the restore point from which it started; {stored.source}: {stored.reason}",
            stored.remedy,
        )
    commits = commits_that_bind(case)
    point = _began(case, live, frozenset())
    if point is not None and ends_main(point, commits):
        return point.snapshot_id
    newest = f"{short(commits[-1].snapshot_id)}, the newest commit by Flink" if commits else "a commit by Flink"
    began = began_from(live)
    found = (
        f"it started from {began}, which is not proven to pair"
        if began is not None
        else "Flink does not show from where it started"
    )
    raise Refused(
        f"The table lists no commit of run {short_job(live.job_id)}, so the state that its stop would leave cannot "
        "be proven.",
        f"Expected a commit of it, or a start from a restore point that pairs with {newest}; {found}.",
        "Wait for its next commit, then propose again. The run was not stopped.",
    )


def idle_left(case: Case) -> RestorePoint | None:
    """The newest durable point of a silent run whose beginning pairs with main's newest commit that binds."""
    commits, runs = commits_that_bind(case), {run.job_id: run for run in case.runs}
    for stored, pair in points_told_apart(case):
        run = runs.get(stored.job_id) if stored.job_id is not None and pair.is_durable else None
        below = _began(case, run, frozenset()) if run is not None else None
        point = (
            idle_point(stored, pair, case.observation.table, below.snapshot_id, case.runs)
            if below is not None
            else None
        )
        if point is not None and ends_main(point, commits):
            return point
    return None


def _began(case: Case, run: JobRun, passed: frozenset[JobId]) -> RestorePoint | None:
    """The point that the run was started from, as what it pairs with; through silent runs before it."""
    path = began_from(run)
    if path is None:
        return None
    for stored, pair in points_told_apart(case):
        if not may_be_same(stored.path, path):
            continue
        if (point := pair_of(pair)) is not None:
            return point
        earlier = next((each for each in case.runs if each.job_id == stored.job_id), None)
        if earlier is not None and earlier.job_id not in {*passed, run.job_id}:
            below = _began(case, earlier, passed | {run.job_id})
            return idle_point(stored, pair, case.observation.table, below.snapshot_id if below else None, case.runs)
    return None


def idle_point(
    stored: StoredCheckpoint, pair: Pairing, table: TableState, stands_on: SnapshotId | None, runs: Collection[JobRun]
) -> RestorePoint | None:
    """A point of a run that has committed nothing and owes nothing, as one that pairs with `stands_on`, above which no
    repair has brought rows that it does not hold; None for any other. `runs`: those that Flink lists; one that it has
    forgotten began after that commit was made."""
    below = table.by_id.get(stands_on) if stands_on is not None else None
    if below is None or stored.job_id is None or not lists_none_of(stored.job_id, table):
        return None
    began = next((run.started_at for run in runs if run.job_id == stored.job_id), below.committed_at)
    is_whole = stored.problem is None and not stored.is_drained and stored.is_committer_read
    if not is_whole or stored.checkpoint_id is None or stored.digest is None or owed_checkpoints(stored, table) != ():
        return None
    commits = CommitsByRun(table, runs)
    if not has_lost_none_since(began, table) or brought_again(stored, stands_on, commits) is not None:
        return None
    return RestorePoint(
        path=pair.path, checkpoint_id=stored.checkpoint_id, snapshot_id=below.snapshot_id, digest=stored.digest
    )
