"""Whether a run started without state over rows of runs that Flink does not list, by another sink's id: they may be
another job's, or the job's own from before its uid was changed."""

from bot.diagnosis._case import in_window, living
from bot.diagnosis._first_rows import first_rows_tell
from bot.domain.beginnings import began_without_state
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.guests import Guests
from bot.domain.ids import short, short_job
from bot.domain.rewinds import flink_commits


def started_over_others(case: Case) -> CannotTell | None:
    """What is missing to know that such a living run began in the right place. None: its first rows were counted, or
    lie below the window, or there is no such run; while it is silent F15 tells. Runs that Flink lists under another
    name are another job's."""
    commits, guests = flink_commits(case.observation.table), Guests(case)
    known, inside = guests.own | guests.of_other_jobs, {s.snapshot_id for s in in_window(case)}
    for run in living(case):
        first = next((s for s in commits if s.job_id == run.job_id and s.committed_at >= run.started_at), None)
        others = (s for s in reversed(commits) if s.committed_at < run.started_at and s.job_id not in known)
        before = next((s for s in others if s.adds_rows), None)
        if first is None or before is None or first.snapshot_id not in inside:
            continue
        begun = (
            f"where run {short_job(run.job_id)} began, without state after {short(before.snapshot_id)} of run "
            f"{short_job(before.job_id)}, which Flink does not list"
        )
        is_empty = began_without_state(run, first.committed_at)
        if is_empty and (left := first_rows_tell(case, begun, run.job_id, first)) is not None:
            return left
    return None
