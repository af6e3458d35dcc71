"""F20: some checkpoints failed or were aborted. Their files come with the next one that completes: no row is lost."""

from bot.diagnosis._case import listed, living, runs_of, unseen
from bot.diagnosis.checkpoint_folder_taken import collided
from bot.domain.diagnosis import Act, CannotTell, Case, Examined, Excluded, Matches, Mode, Remedy
from bot.domain.flink import JobRun
from bot.domain.ids import SnapshotId, short_job
from bot.domain.ledger import SkipReason
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted

MODE = Mode(
    code="F20",
    name="checkpoints_failed",
    title="checkpoints failed",
    needs=(),
    false_positives=(
        "Checkpoints that were aborted because a savepoint or a stop came first.",
        "A failover: what was in progress is counted as failed.",
    ),
    neighbours={
        "F25": "There just those numbers fail whose folders an earlier start under the same job id has "
        "filled; here checkpoints fail for another reason.",
        "healthy": "Both can hold: a later checkpoint that completed brings the rows along. While checkpoints "
        "fail one after the other, `healthy` does not hold.",
        "wait": "There the job itself is being restarted; here it runs, and checkpoints of it failed.",
    },
    act=Act.NOTE,
    remedies=(Remedy.NOTHING, Remedy.TELL_CONSUMERS),
)
IN_A_ROW = 3
"""So many failures since the newest completed checkpoint are told to consumers: the table stands still meanwhile."""


def examine(case: Case) -> Examined:
    """Matches on failed checkpoints of the run that writes, or that wrote last."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    runs = living(case) or runs_of(case)
    if not runs:
        return Excluded(reason="Flink knows no run of the job.")
    run = runs[-1]
    if not run.failed_count and not _failed(run):
        return Excluded(
            reason=f"Flink counts {counted(run.completed_count, 'checkpoint')} of run {short_job(run.job_id)}, none of "
            "which failed."
        )
    if collided(case, run):
        return Excluded(
            reason=f"The checkpoints of run {short_job(run.job_id)} failed because their folders were taken (F25)."
        )
    return _matches(case, run)


def _failed(run: JobRun) -> list[int]:
    """Ids that Flink still lists as failed, rising."""
    return sorted(c.checkpoint_id for c in run.checkpoints if c.status == "FAILED")


def _newest_completed(run: JobRun) -> int | None:
    return max((c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED"), default=None)


def _failed_since(run: JobRun) -> list[int]:
    newest = _newest_completed(run)
    return [i for i in _failed(run) if newest is None or i > newest]


def fails_in_a_row(run: JobRun) -> bool:
    """Whether a run that goes on has failed so many checkpoints since its newest completed one that it stands still."""
    return len(_failed_since(run)) >= IN_A_ROW and not run.is_terminal


def _matches(case: Case, run: JobRun) -> Matches:
    failed = _failed(run)
    newest, since = _newest_completed(run), _failed_since(run)
    goes_on = fails_in_a_row(run)
    count = max(run.failed_count, len(failed))
    reasons = [f"Flink counts {count} failed and {run.completed_count} completed checkpoints of the run."]
    if failed:
        words = sorted({c.failure for c in run.checkpoints if c.status == "FAILED" and c.failure})
        reasons.append(f"It lists {listed(failed)} as failed{': ' + words[0].rstrip('.') if words else ''}.")
    if since:
        reasons.append(
            f"None has completed since {newest if newest is not None else 'the start'}: the table gets no rows until "
            "one does."
        )
    elif newest is not None:
        reasons.append(f"Checkpoint {newest} completed after them and carries their rows.")
    return Matches(
        headline=f"Checkpoints of run {short_job(run.job_id)} fail one after the other, so nothing reaches the table."
        if goes_on
        else f"{counted(count, 'checkpoint')} of run {short_job(run.job_id)} failed; no row is lost by that.",
        reasons=tuple(reasons),
        rows=_after_failures(case),
        last_good=None,
        wrong_run=None,
        remedy=Remedy.TELL_CONSUMERS if goes_on else Remedy.NOTHING,
    )


def _after_failures(case: Case) -> tuple[SnapshotId, ...]:
    """The ledger's rows before which a failed checkpoint was skipped."""
    rows = case.ledger.main if case.ledger else ()
    return tuple(r.snapshot_id for r in rows if any(s.reason is SkipReason.FAILED for s in r.skipped))
