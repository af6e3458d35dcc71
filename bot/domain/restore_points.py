"""What a restore point is to a start: the table state with which it pairs, and whether main ends with that."""

from collections.abc import Collection, Sequence
from datetime import datetime
from itertools import pairwise, takewhile

from bot.domain.diagnosis import Case
from bot.domain.findings import Pairing, PairVerdict
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.kin import began_from
from bot.domain.own_points import brought_again, points_told_apart
from bot.domain.pairing import owed_checkpoints
from bot.domain.paths import may_be_same
from bot.domain.record import Record
from bot.domain.run_commits import CommitsByRun
from bot.domain.table import Snapshot, TableState


class RestorePoint(Record):
    """A paired restore point: the state M and the table state that it belongs to."""

    path: str
    checkpoint_id: CheckpointId
    snapshot_id: SnapshotId
    digest: str
    is_right: bool = True
    """Whether table and job are right there; False where an undo goes back to a fault."""
    goes_with_savepoint: bool = False
    """Whether it is a checkpoint that Flink retains when its run, which is alive, is cancelled: when that run ends with
    a savepoint, Flink deletes it."""
    owes: CheckpointId | None = None
    """The newest checkpoint whose files it holds and the table does not; None: it owes nothing."""
    brings_again: SnapshotId | None = None
    """See `Pairing`: a job goes on from it only with its table state."""
    rewind_loses: tuple[SnapshotId, ...] = ()
    """See `Pairing`."""


def ends_main(point: RestorePoint, commits: Sequence[Snapshot]) -> bool:
    """Whether only copies of the commit with which `point` pairs follow it, and no repair whose rows it would bring
    again. `commits`: those that bind, in order."""
    return point.brings_again is None and only_copies_follow(point.snapshot_id, commits)


def only_copies_follow(snapshot: SnapshotId, commits: Sequence[Snapshot]) -> bool:
    """Whether this is one of `commits`, those that bind in order, and none but copies of it (F1) come after it."""
    place = next((n for n, s in enumerate(commits) if s.snapshot_id == snapshot), None)
    return place is not None and len({(s.job_id, s.checkpoint_id) for s in commits[place:]}) == 1


def pair_of(each: Pairing) -> RestorePoint | None:
    """The restore point; None for one that does not pair."""
    is_paired = each.verdict is PairVerdict.PAIRED
    if not is_paired or each.snapshot_id is None or each.checkpoint_id is None or each.digest is None:
        return None
    return RestorePoint(
        path=each.path,
        checkpoint_id=each.checkpoint_id,
        snapshot_id=each.snapshot_id,
        digest=each.digest,
        brings_again=each.brings_again,
        rewind_loses=each.rewind_loses,
    )


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


def began_with(case: Case, run: JobRun, passed: frozenset[JobId]) -> RestorePoint | None:
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
            below = began_with(case, earlier, passed | {run.job_id})
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
