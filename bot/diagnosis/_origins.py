"""Whose checkpoint a run was restored from: ids begin anew with some restores, so two runs can have the same one."""

from datetime import timedelta

from bot.diagnosis._case import in_window, living
from bot.diagnosis._read_again_once import uncounted
from bot.diagnosis._which_point import which_point
from bot.domain.checkpoint_pace import interval_of
from bot.domain.diagnosis import Case
from bot.domain.flink import CLOCKS_DIFFER, JobRun, names_run
from bot.domain.guests import Guests
from bot.domain.ids import DRAINED, CheckpointId, JobId, short, short_job
from bot.domain.kin import writer_of
from bot.domain.predecessors import Predecessors
from bot.domain.rewinds import flink_commits, origin_of
from bot.domain.table import Snapshot

_FASTER = 10
"""So many times as often as now a run may have taken checkpoints, by its settings of then and savepoints beside."""


def other_state(case: Case) -> str | None:
    """What is missing to know that the state of a living run that has committed nothing, or nothing that was counted,
    was main's: Flink restored it from a checkpoint of another run than that of the job's newest commit before, and
    nothing shows that this one had gone on from there. So a start without state looks once the run was taken over. None
    where there is no such doubt."""
    if (two := which_point(case)) is not None:
        return two
    commits, guests = flink_commits(case.observation.table), Guests(case)
    before = Predecessors(case.observation.table, case.runs)
    for run in living(case):
        place = before.first_of(run.job_id)
        if run.restored is None or (place is not None and not _is_uncounted(case, run, commits[place])):
            continue
        until = place if place is not None else len(commits)
        own = (s for s in before.newest(run, until) if not guests.has_run(s.job_id))
        told = (s for s in own if s.job_id is not None and s.checkpoint_id not in (None, DRAINED))
        newest = next((s for s in told if not _goes_on_from(case, run, s)), None)
        if newest is None:
            continue
        return (
            f"whose state run {short_job(run.job_id)} has: Flink restored it from {run.restored.path}, which is not of "
            f"run {short_job(newest.job_id)}, whose checkpoint {newest.checkpoint_id} is the newest on main before it "
            f"({short(newest.snapshot_id)}), and nothing shows that it goes on from there; its first rows tell, once "
            "they are counted"
        )
    return None


def _is_uncounted(case: Case, run: JobRun, first: Snapshot) -> bool:
    """Whether the run's first commit was made in the window, and its rows have not been held against what main had:
    where Flink still shows the restore that led to it, also one to a checkpoint of its own, before which main had
    nothing of the run."""
    point = run.restored
    led = point is not None and point.at <= first.committed_at + CLOCKS_DIFFER
    is_shown = point is not None and (led or not names_run(point.path, run.job_id))
    is_inside = any(s.snapshot_id == first.snapshot_id for s in in_window(case))
    return is_shown and is_inside and uncounted(case, run.job_id, first.snapshot_id) is not None


def _goes_on_from(case: Case, run: JobRun, newest: Snapshot) -> bool:
    return _leads_to(case, run, newest, frozenset()) or _is_beyond(case, run, newest)


def _leads_to(case: Case, run: JobRun, newest: Snapshot, passed: frozenset[JobId]) -> bool:
    """Whether the path of its restore names the run of this commit, or one that is shown to have gone on from there; or
    no run at all, as where a savepoint was moved. One that was started from its own checkpoint hides where it had begun
    before. `passed`: runs that such paths have led through."""
    path = run.restored.path if run.restored is not None else None
    if path is None:
        return not passed
    if writer_of(path) is None or names_run(path, newest.job_id or JobId("")):
        return True
    if names_run(path, run.job_id):
        began, own = origin_of(run), run.restored.checkpoint_id if run.restored is not None else None
        return began is not None and began >= (newest.checkpoint_id or 0) and began != own
    seen, others = case.observation.jobs.values, case.observation.others
    listed = (*seen, *(others.values if others is not None else ()))
    before = next((each for each in listed if names_run(path, each.job_id) and each.job_id not in passed), None)
    return before is not None and _leads_to(case, before, newest, passed | {run.job_id})


def _is_beyond(case: Case, run: JobRun, newest: Snapshot) -> bool:
    """Whether its restored checkpoint has an id that no run can have reached that began at 1 after this commit."""
    intervals = [each for listed in case.runs if (each := interval_of(listed))]
    if run.restored is None or not intervals:
        return False
    since = max(run.restored.at - newest.committed_at, timedelta(0))
    return run.restored.checkpoint_id > _FASTER * (1 + since / min(intervals))


def _writer_of(case: Case, checkpoint: CheckpointId, run: JobRun) -> JobId | None:
    """The other run whose commit of that id main carries last; None where there is none, or it is the run's own.

    A commit that came after the run had ended cannot be what it was restored from.
    """
    ended, guests = run.ended_at, Guests(case)
    writers = [
        s.job_id
        for s in flink_commits(case.observation.table)
        if s.checkpoint_id == checkpoint and not guests.has_run(s.job_id) and (ended is None or s.committed_at < ended)
    ]
    return writers[-1] if writers and writers[-1] != run.job_id else None
