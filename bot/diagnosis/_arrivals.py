"""Whether what Flink calls completed has reached the table: silence that is wrong, or that nobody explained."""

from datetime import datetime, timedelta

from bot.diagnosis._asked import lacking
from bot.diagnosis._case import listed, longest_silence
from bot.domain.diagnosis import Case
from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import DRAINED, CheckpointId, SnapshotId, short, short_job
from bot.domain.rewinds import flink_commits

ON_ITS_WAY = timedelta(seconds=10)
"""A checkpoint this young, or younger than two intervals, may be about to be committed."""


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
    base = newest.checkpoint_id
    restored = run.restored.checkpoint_id if run.restored is not None else base
    ahead = max([*_completed(run), restored]) - base
    if ahead > longest_silence(case.observation.table):
        return (
            f"Flink completed {ahead} checkpoints of run {short_job(run.job_id)} since {base}, and none of them was "
            "committed: even without rows one would have been."
        )
    return _waiting(case, run)


def unaccounted(case: Case, run: JobRun, checked: SnapshotId | None) -> str | None:
    """What is missing to know that completed checkpoints without a commit carried no rows; None: nothing is.

    Those up to `checked` are vouched for by the evidence, which would have found their positions missing.
    A commit that was taken away with every trace in the metadata leaves its files behind, so a listing of the
    files without an orphan shows that there was none.
    """
    overdue = _overdue(case, run, checked)
    if not overdue:
        return None
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
    rows = sum(m.rows or 0 for m in waiting)
    return (
        f"{len(waiting)} Flink manifests with {rows} rows wait to be committed, although Flink completed their "
        f"checkpoints {listed(sorted({m.checkpoint_id for m in waiting}))} (F11)."
    )


def _overdue(case: Case, run: JobRun, checked: SnapshotId | None) -> tuple[CheckpointId, ...]:
    """Completed ids above `checked` that no commit carries although there was time, rising: those of the run, every
    one while it has no commit up to there, and what it was restored from."""
    interval = timedelta(milliseconds=run.checkpoint_interval_ms or 0)
    until = case.observation.table.read_at - max(2 * interval, ON_ITS_WAY)
    commits = flink_commits(case.observation.table)
    below = {s.snapshot_id for s in case.observation.table.ancestors(checked)}
    newest = next((c for c in reversed(commits) if c.snapshot_id in below), None)
    base = newest.checkpoint_id or CheckpointId(0) if newest else CheckpointId(0)
    own = base if newest is not None and newest.job_id == run.job_id else CheckpointId(0)
    mine = {c.checkpoint_id for c in commits if c.job_id == run.job_id}
    late = {i for i, at in _completed(run).items() if at <= until and i > own and i not in mine}
    restored = run.restored.checkpoint_id if run.restored is not None else base
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
