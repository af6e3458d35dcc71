"""What follows the commit of a job that was drained, or whose source has ended: a run that takes it for its own never
commits with the V1 sink (F5), and of any other nothing but its rows tells where it began in its source."""

from bot.diagnosis._case import committer_ids, in_window, living, writes_as_v1
from bot.diagnosis._first_rows import first_rows_tell
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import JobRun
from bot.domain.guests import commits_of_job
from bot.domain.ids import DRAINED, short, short_job
from bot.domain.table import Snapshot


def takes_for_its_own(case: Case, run: JobRun, drained: Snapshot) -> bool | None:
    """None while only an unknown sink could tell.

    V1 looks for the job whose state it restored; V2 for its own job id, restored or not.
    """
    v1 = writes_as_v1(run, drained.operator_id)
    ids = committer_ids(case, run)
    if v1 and drained.operator_id is not None and ids and drained.operator_id not in ids:
        return False
    if run.job_id == drained.job_id:
        return run.restored is not None if v1 else True if v1 is False else None
    if run.restored is None:
        return False if run.vertices or v1 is False else None
    return v1


def started_after_a_drain(case: Case) -> CannotTell | None:
    """What is missing to know that a living run, started where the job's newest commit was a drained one, began in the
    right place: that commit names no id to which its restore point could be held. None: its first rows were counted, or
    lie below the window, or there is no such run."""
    commits, inside = commits_of_job(case), {s.snapshot_id for s in in_window(case)}
    for run in living(case):
        first = next((s for s in commits if s.job_id == run.job_id and s.committed_at >= run.started_at), None)
        before = [s for s in commits if s.committed_at < run.started_at]
        if not before or before[-1].checkpoint_id != DRAINED or (first and first.snapshot_id not in inside):
            continue
        begun = f"where run {short_job(run.job_id)} began, after the drained commit {short(before[-1].snapshot_id)}"
        if (left := first_rows_tell(case, begun, run.job_id, first)) is not None:
            return left
    return None
