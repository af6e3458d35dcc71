"""Whether main is an unbroken chain of the job's own commits, as far as metadata and Flink can show."""

from itertools import pairwise

from bot.diagnosis._case import in_window, rewinds_in
from bot.domain.diagnosis import Case
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import DRAINED, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.rewinds import flink_commits
from bot.domain.rollbacks import Rollback, Sequel, rollbacks
from bot.domain.suspicion import is_unexplained
from bot.domain.table import TableState

EMPTY_COMMITS = "flink.max-continuous-empty-commits"
"""Table property: without rows the sink commits every so many checkpoints; 10 when it is not set (facts 1.1)."""


def break_in_chain(case: Case) -> str | None:
    """The first thing in the window's commits that an unbroken job would not leave behind."""
    for found in rewinds_in(case):
        return (
            f"Run {short_job(found.run)} was restored from below checkpoint {found.reached}, which was on the table "
            "already."
        )
    for lost in rollbacks(case.observation.table):
        if lost.is_within(case.window, case.observation.table) and _is_hole(case, lost):
            return f"Main was rolled back to {short(lost.target)} and lost {len(lost.left)} commits."
    foreign = next((s for s in in_window(case) if s.job_id is None and s.operation != "replace"), None)
    if foreign is not None:
        return f"{short(foreign.snapshot_id)} ({foreign.operation}) was committed by {foreign.engine}, not by the job."
    return _fall(case)


def _is_hole(case: Case, lost: Rollback) -> bool:
    """Whether it is known to be one: before Flink was asked, a rollback with nothing on top is not."""
    if lost.sequel is Sequel.NOTHING_YET and isinstance(case.observation.jobs, NotSeen):
        return False
    return is_unexplained(lost, case.observation.jobs)


def _fall(case: Case) -> str | None:
    inside = {s.snapshot_id for s in in_window(case)}
    commits = flink_commits(case.observation.table)
    for before, after in pairwise(commits):
        if after.snapshot_id in inside and (after.checkpoint_id or 0) <= (before.checkpoint_id or 0):
            return (
                f"The checkpoint ids on main do not rise: {short(before.snapshot_id)} carries "
                f"{before.checkpoint_id}, and {short(after.snapshot_id)} after it {after.checkpoint_id}."
            )
    return None


def silence(case: Case, run: JobRun) -> str | None:
    """What shows that the living run's commits do not arrive, though nothing failed."""
    commits = flink_commits(case.observation.table)
    newest = commits[-1] if commits else None
    if newest is None or newest.checkpoint_id is None:
        return None
    if newest.checkpoint_id == DRAINED:
        return (
            f"{short(newest.snapshot_id)} was committed by a drained job, above which the V1 sink never commits again "
            "(F5)."
        )
    if run.restored is None and run.started_at > newest.committed_at:
        return (
            f"Run {short_job(run.job_id)} started without state after checkpoint {newest.checkpoint_id} was "
            "committed (F4, F15)."
        )
    base = run.restored.checkpoint_id if run.restored else 0
    if newest.job_id == run.job_id:
        base = max(base, newest.checkpoint_id)
    done = [c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED" and c.kind is CheckpointKind.CHECKPOINT]
    ahead = max(done, default=base) - base
    if ahead > _longest_silence(case.observation.table):
        return (
            f"Flink completed {ahead} checkpoints of run {short_job(run.job_id)} since {base}, and none of them was "
            "committed: even without rows one would have been."
        )
    return None


def _longest_silence(table: TableState) -> int:
    """Checkpoints that may pass without a commit; one more, because the newest may be on its way."""
    value = table.properties.get(EMPTY_COMMITS, "")
    return (int(value) if value.isdigit() else 10) + 1
