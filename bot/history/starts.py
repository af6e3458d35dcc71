"""Where a run began: from which checkpoint, or without any state, as far as what Flink still shows of it tells.

The pairing invariant behind it: a restore of checkpoint M is exactly-once only if the newest commit of the run that
wrote M is M itself (facts 0.1).

Flink shows only the newest restore of a run: after a failover that is of a checkpoint of its own, which tells nothing
of where it began. That the first restore is not shown does not mean that there was none.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime

from bot.observation.flink import JobRun, Restored, came_before, names_run
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.record import Record
from bot.observation.table import Snapshot, TableState

FROM_NOTHING = CheckpointId(0)


def began_from(run: JobRun, first_commit: datetime | None) -> CheckpointId | None:
    """The checkpoint that the run began from, `FROM_NOTHING` without one; None where nothing that is left tells.

    `first_commit`: when its first commit came; None where there is none. An earlier start under the same job id made it
    where it is older than this one: then what Flink shows of this one tells nothing of where that began.
    """
    if first_commit is not None and first_commit < run.started_at:
        return None
    if began_without_state(run, first_commit):
        return FROM_NOTHING
    shown = start_shown(run, first_commit)
    return shown.checkpoint_id if shown is not None else origin_of(run)


def start_shown(run: JobRun, first_commit: datetime | None) -> Restored | None:
    """The restore with which the run came to its first commit, where Flink still shows that one."""
    return None if _was_at_work(run, first_commit) else first_shown(run)


def came_up_at(run: JobRun) -> datetime:
    """When it was restored last, or started with nothing."""
    return run.restored.at if run.restored is not None else run.started_at


def began_without_state(run: JobRun, first_commit: datetime | None) -> bool:
    """Whether Flink restored it from nothing at its start: it was never restored, or once only and after it had
    completed a checkpoint of its own or committed.

    `first_commit`: when its first commit came; None where there is none. A JobManager that took over counts anew and
    starts anew, so what lies before its start says nothing.
    """
    if run.restored is None:
        return run.restored_count == 0 and not _is_known_by_its_end(run)
    if run.restored_count != 1 or run.restored.is_savepoint:
        return False
    return _was_at_work(run, first_commit)


def origin_of(run: JobRun) -> CheckpointId | None:
    """The checkpoint that the run began from, `FROM_NOTHING` without one, where Flink shows no restore, or only one of
    a failover: ids of checkpoints rise by one from the restored one, so a history without a gap tells. None where it
    does not, as where it was restored from below that since: a failover discarded what came before its history."""
    if run.restored is None and not run.restored_count:
        # Of a run that is over, and of which no checkpoint is told, its cluster is gone: only its end is known.
        return FROM_NOTHING if not run.is_terminal or run.completed_count > 0 else None
    ids = _whole_history(run)
    if not ids or len(ids) != max(ids) - min(ids) + 1:
        return None
    origin = CheckpointId(min(ids) - 1)
    return origin if run.restored is None or origin <= run.restored.checkpoint_id else None


def first_shown(run: JobRun) -> Restored | None:
    """The restore with which the run began, where that is its newest, so that Flink shows it. After a second one only
    the path tells that it was of the same point again."""
    point = run.restored
    if point is None or is_its_own(point, run) or (run.restored_count > 1 and point.path is None):
        return None
    return point


def is_its_own(point: Restored, run: JobRun) -> bool:
    """Whether a failover of the run went back to a checkpoint of its own, as far as can be told: that tells nothing of
    where it began. A submission before it may have had the same job id, and another counter."""
    if any(c.checkpoint_id == point.checkpoint_id for c in run.checkpoints):
        return True
    ids = _whole_history(run)
    is_before_all = ids is not None and all(checkpoint > point.checkpoint_id for checkpoint in ids)
    return names_run(point.path, run.job_id) and not is_before_all


def _is_known_by_its_end(run: JobRun) -> bool:
    """Whether its cluster is gone, and the Flink operator remembers no more than its end: not what it was restored
    from. Flink itself tells the operators of a run also when that is over."""
    return run.is_terminal and not run.vertices and not run.completed_count


def _was_at_work(run: JobRun, first_commit: datetime | None) -> bool:
    """Whether it had completed a checkpoint of its own or committed before its newest restore, so that this was not
    the first."""
    done = [c.triggered_at for c in run.checkpoints] + ([first_commit] if first_commit is not None else [])
    return run.restored is not None and any(run.started_at <= each < run.restored.at for each in done)


def _whole_history(run: JobRun) -> frozenset[CheckpointId] | None:
    """The ids of all checkpoints that this submission has ended; None where Flink has forgotten some."""
    ids = frozenset(c.checkpoint_id for c in run.checkpoints if c.status != "IN_PROGRESS")
    return ids if len(ids) == run.completed_count + run.failed_count else None


class Rewind(Record):
    """Run `run` goes on from below `reached`, the newest checkpoint that `earlier` has on main."""

    run: JobId
    earlier: JobId
    """The same as `run` where Flink kept the job id."""
    restored: CheckpointId | None
    """Where Flink restored it from; None when only the falling ids show the rewind."""
    reached: CheckpointId
    first: SnapshotId | None
    """The run's first commit on main after the restore; None while it is silent."""
    last_before: SnapshotId
    """The newest snapshot on main before `first`, or before what a run brought that took over from a silent one; the
    head while nothing has come since."""
    fork: SnapshotId | None
    """The snapshot on main that holds what the restore point held; None when it is no longer listed."""
    is_interleaved: bool
    """Whether the earlier run committed on: then two jobs write the table (F13)."""
    only_if_of_job: JobId | None = None
    """It is one only if this run, which Flink does not list, is the job's, or only if it is not; None: it is one."""

    @property
    def keeps_job_id(self) -> bool:
        """Whether the restored run goes on under the job id that it had."""
        return self.run == self.earlier


def flink_commits(table: TableState) -> Sequence[Snapshot]:
    """The commits on main that carry a run and a checkpoint id, oldest first."""
    return table.of_flink


def of_one_sink(commits: Sequence[Snapshot]) -> Iterator[tuple[Snapshot, Snapshot]]:
    """(before, after) of every two commits that follow each other under one operator id, or where one of them names
    none: a job may write a table through several sinks, which commit the same checkpoint ids."""
    newest: dict[OperatorId | None, Snapshot] = {}
    for after in commits:
        before = newest.get(after.operator_id, newest.get(None))
        if after.operator_id is None:
            before = max(newest.values(), key=lambda s: s.committed_at, default=None)
        if before is not None:
            yield before, after
        newest[after.operator_id] = after


def untold_rewind(table: TableState, run: JobRun) -> Snapshot | None:
    """The run's newest commit above what Flink restored it from, where nothing tells whether it came before the restore
    (a rewind) or after it (the run went on); None where all of them are told. Silent runs and others alike."""
    if run.restored is None:
        return None
    mine = [s for s in flink_commits(table) if s.job_id == run.job_id and s.checkpoint_id != DRAINED]
    above = [s for s in mine if _below(run.restored.checkpoint_id, s.checkpoint_id)]
    return next((s for s in reversed(above) if came_before(s, run) is None), None)


def _below(restored: CheckpointId | None, reached: CheckpointId | None) -> bool:
    return restored is not None and reached is not None and restored < reached
