"""Whether another run of the job has, or may have, completed a checkpoint of the id from which a run was restored:
where Flink tells no path, the state may be of that one."""

from collections.abc import Iterator
from datetime import datetime, timedelta
from itertools import pairwise

from bot.domain.checkpoint_pace import interval_of
from bot.domain.diagnosis import Case
from bot.domain.flink import CLOCKS_DIFFER, CompletedCheckpoint, JobRun, Restored
from bot.domain.guests import Guests
from bot.domain.ids import DRAINED, CheckpointId, JobId, short, short_job
from bot.domain.rewinds import began_without_state, flink_commits
from bot.domain.table import Snapshot


def had_by_another(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> str | None:
    """Which other run of the job has, or may have, completed the restored id before; None: none, or the run itself made
    the commit."""
    if commit.job_id == run.job_id:
        return None
    guests, until = Guests(case), point.at + CLOCKS_DIFFER
    same = (s for s in case.observation.table.snapshots if s.checkpoint_id == point.checkpoint_id and s.job_id)
    others = (s for s in same if s.job_id not in (commit.job_id, run.job_id) and s.committed_at <= until)
    other = next((s for s in others if not guests.has(s)), None)
    if other is not None:
        return f"run {short_job(other.job_id)} had that id too, {short(other.snapshot_id)}"
    if (known := next(_completed_by(case, run, point, commit), None)) is not None:
        return f"run {short_job(known.job_id)} has completed that id, too"
    silent = _may_have_completed(case, run, point, commit)
    return f"run {short_job(silent)} may have completed that id without a commit" if silent is not None else None


def had_before(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> JobId | None:
    """Another run than that of main's newest commit that may have come to the restored id before that commit, or had no
    state of it, and does not hold it then. One that began later with a state goes on from it."""
    if commit.job_id == run.job_id:
        return None
    apart = (
        each.job_id
        for each in _completed_by(case, run, point, commit)
        if not is_younger(each, commit) or began_without_state(each, None)
    )
    return next(apart, None) or _may_have_completed(case, run, point, commit)


def _completed_by(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> Iterator[JobRun]:
    """The job's other listed runs that have completed the restored id."""
    for each in case.runs:
        is_other = each.job_id not in (commit.job_id, run.job_id)
        if is_other and has_completed(each, point.checkpoint_id):
            yield each


def _may_have_completed(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> JobId | None:
    """Another run of the job than that of `commit` that may have completed the restored id without a commit of it:
    between its commits, or since the last one of which there was time; and Flink does not list its checkpoints."""
    interval = interval_of(run)
    if interval is None:
        return None
    known = {each.job_id for each in case.observation.jobs.values if each.checkpoints} | {commit.job_id, run.job_id}
    for other, newest, ends in _came_to(case, point):
        each = max(interval, _pace_of(case, other))
        reached = (newest.checkpoint_id or 0) + (ends - newest.committed_at) // each
        begins = min(s.checkpoint_id or 0 for s in case.observation.table.snapshots if s.job_id == other)
        if other not in known and begins < point.checkpoint_id <= reached:
            return other
    return None


def _came_to(case: Case, point: Restored) -> Iterator[tuple[JobId, Snapshot, datetime]]:
    """(run, its newest commit, when the next commit by another run came or the point was restored) of each run of the
    job that committed before that."""
    guests, table = Guests(case), case.observation.table
    line = (s for s in table.snapshots if s.job_id and s.checkpoint_id != DRAINED and not guests.has(s))
    before = sorted((s for s in line if s.committed_at <= point.at), key=lambda s: table.place_of(s.snapshot_id))
    for one, after in pairwise([*before, None]):
        if one is not None and one.job_id is not None and (after is None or after.job_id != one.job_id):
            yield one.job_id, one, after.committed_at if after is not None else point.at


def _pace_of(case: Case, run: JobId) -> timedelta:
    """The least time that a checkpoint of this run has taken from one commit to the next."""
    mine = [s for s in flink_commits(case.observation.table) if s.job_id == run]
    spans = ((after.checkpoint_id or 0) - (one.checkpoint_id or 0) for one, after in pairwise(mine))
    took = (after.committed_at - one.committed_at for one, after in pairwise(mine))
    return min((time / ids for ids, time in zip(spans, took, strict=True) if ids > 0), default=timedelta(0))


def has_completed(run: JobRun, number: CheckpointId) -> bool:
    """Whether Flink lists that it completed a checkpoint of this id."""
    return any(is_completed(each, number) for each in run.checkpoints)


def is_completed(checkpoint: CompletedCheckpoint, number: CheckpointId) -> bool:
    """Whether it is that one, and was completed."""
    return checkpoint.checkpoint_id == number and checkpoint.status == "COMPLETED"


def is_younger(run: JobRun, commit: Snapshot) -> bool:
    """Whether the run was started after the commit, by whichever clock."""
    return run.started_at > commit.committed_at + CLOCKS_DIFFER
