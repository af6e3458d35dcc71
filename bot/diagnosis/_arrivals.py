"""Whether what Flink calls completed has reached the table: silence that is wrong, or that nobody explained."""

from datetime import datetime, timedelta

from bot.diagnosis._asked import lacking
from bot.diagnosis._case import in_window, listed, longest_silence, runs_of
from bot.diagnosis._guests import commits_of_job
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import DRAINED, CheckpointId, SnapshotId, short, short_job
from bot.domain.table import Snapshot
from bot.domain.unread_rows import rows_of

ON_ITS_WAY = timedelta(seconds=10)
"""A checkpoint this young, or younger than two intervals, may be about to be committed."""


def silence(case: Case, run: JobRun) -> str | None:
    """What shows that the living run's commits do not arrive, though nothing failed."""
    newest = _newest(case, run)
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
    base = newest.checkpoint_id
    restored = run.restored.checkpoint_id if run.restored is not None else base
    ahead = max([*_completed(run), restored]) - base
    if ahead > longest_silence(case.observation.table):
        return (
            f"Flink completed {ahead} checkpoints of run {short_job(run.job_id)} since {base}, and none of them was "
            "committed: even without rows one would have been."
        )
    return _waiting(case, run)


def _newest(case: Case, run: JobRun) -> Snapshot | None:
    """The newest commit of the run itself, else of the job: ids of other jobs count their own checkpoints."""
    commits = commits_of_job(case)
    return next((s for s in reversed(commits) if s.job_id == run.job_id), commits[-1] if commits else None)


def unaccounted(case: Case, checked: SnapshotId | None) -> str | None:
    """What is missing to know that completed checkpoints without a commit carried no rows; None: nothing is.

    Those up to `checked` are vouched for by the evidence, which would have found their positions missing. A commit
    that was taken away with every trace in the metadata leaves its files behind, so a listing of the files without an
    orphan shows that there was none. Runs that have ended count too: checkpoint ids of two runs may be the same.
    """
    told = [(run, overdue) for run in runs_of(case) if (overdue := _overdue(case, run, checked))]
    if not told:
        return None
    run, overdue = told[-1]
    ids = f"checkpoints {listed(overdue)}" if overdue[1:] else f"checkpoint {overdue[0]}"
    why = f"Flink completed {ids} of run {short_job(run.job_id)}, and no commit carries them"
    if missing := lacking(case, "orphan_files"):
        return f"{missing[0]}: {why}; only the files on storage show whether they carried rows"
    orphans = case.orphans.orphans if case.orphans else 0
    if orphans:
        return f"whose the {orphans} orphan files are: {why}, and these may be their rows"
    return None


def _waiting(case: Case, run: JobRun) -> str | None:
    """Manifests that should have been committed long since (F11)."""
    overdue = set(_overdue(case, run, case.observation.table.head))
    waiting = [m for m in (case.leaked.of(LeakStanding.PENDING) if case.leaked else ()) if m.checkpoint_id in overdue]
    if not waiting:
        return None
    return (
        f"{len(waiting)} Flink manifests with {rows_of(waiting)} wait to be committed, although Flink completed their "
        f"checkpoints {listed(sorted({m.checkpoint_id for m in waiting}))} (F11)."
    )


def _overdue(case: Case, run: JobRun, checked: SnapshotId | None) -> tuple[CheckpointId, ...]:
    """Completed ids above `checked` that no listed commit carries although there was time, rising: those that the run
    took itself since the window began, and what a living run was restored from. Where main has no commit of any listed
    run of the job, all that it completed count: what main begins with may be a guest's."""
    table = case.observation.table
    interval = timedelta(milliseconds=run.checkpoint_interval_ms or 0)
    until = table.read_at - max(2 * interval, ON_ITS_WAY)
    window = in_window(case)
    on_main = {s.job_id for s in table.of_flink}
    is_known = any(each.job_id in on_main for each in runs_of(case))
    since = min(s.committed_at for s in window) if window and run.is_terminal and is_known else run.started_at
    above = {s.snapshot_id for s in table.chain} - {s.snapshot_id for s in table.ancestors(checked)}
    mine = [s for s in table.snapshots if is_known and s.job_id == run.job_id and s.checkpoint_id is not None]
    looked_at = table.place_of(checked)
    own = max((s.checkpoint_id or 0 for s in mine if table.place_of(s.snapshot_id) <= looked_at), default=0)
    carried = {s.checkpoint_id for s in mine}
    late = {i for i, at in _completed(run).items() if since < at <= until and i > own and i not in carried}
    commits = commits_of_job(case)
    base = next((c.checkpoint_id or 0 for c in reversed(commits) if c.snapshot_id not in above), 0)
    restored = run.restored.checkpoint_id if run.restored is not None and not run.is_terminal else CheckpointId(0)
    if restored > base and restored not in {c.checkpoint_id for c in commits}:
        late.add(restored)
    return tuple(sorted(late))


def _completed(run: JobRun) -> dict[CheckpointId, datetime]:
    """What the run completed itself, with the time."""
    return {
        c.checkpoint_id: c.triggered_at
        for c in run.checkpoints
        if c.status == "COMPLETED" and c.kind is CheckpointKind.CHECKPOINT
    }
