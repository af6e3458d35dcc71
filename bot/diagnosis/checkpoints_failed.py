"""F20: some checkpoints failed or were aborted, or none completes any more. Their files come with the next one that
completes: no row is lost, and until then none arrives. With the V1 sink and unaligned checkpoints rows can be lost."""

from bot.diagnosis._support.arrivals import Silence, checkpoint_silence
from bot.diagnosis._support.asked import unasked
from bot.diagnosis._support.case import checkpoints, living, unseen
from bot.diagnosis.checkpoint_folder_taken import collided
from bot.history.case import Case
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.flink import JobRun, cause_in
from bot.observation.ids import SnapshotId, short_job
from bot.observation.ledger import SkipReason
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted

MODE = Mode(
    code="F20",
    name="checkpoints_failed",
    title="checkpoints failed, or none completes",
    needs=(),
    asks_for=("missing_positions", "leaked_manifests"),
    false_positives=(
        "Checkpoints that were aborted because a savepoint or a stop came first.",
        "A failover: what was in progress is counted as failed.",
        "A checkpoint that is slow: until Flink gives it up, nobody can tell it from one that never completes.",
    ),
    neighbours={
        "F27": "There rows of a failed checkpoint are lost. Here a later checkpoint brings them.",
        "healthy": "Both can hold: a later checkpoint that completed brings the rows along. While checkpoints "
        "fail one after the other, or none completes for too long, `healthy` does not hold.",
    },
    act=Act.NOTE,
    remedies=(Remedy.NOTHING, Remedy.TELL_CONSUMERS),
)
IN_A_ROW = 3
"""So many failures since the newest completed checkpoint are told to consumers: the table stands still meanwhile."""


def examine(case: Case) -> Examined:
    """Matches on failed checkpoints of the run that writes, or that wrote last, and where none completes any more."""
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    runs = living(case) or case.runs
    if not runs:
        return Excluded(reason="Flink knows no run of the job.")
    run = runs[-1]
    quiet = checkpoint_silence(case, run)
    stands_still = quiet is not None and quiet.is_certain
    if collided(case, run) and (_failed_since(run) or not stands_still):
        return Excluded(
            reason=f"The checkpoints of run {short_job(run.job_id)} failed because their folders were taken (F25)."
        )
    if run.failed_count or _failed(run) or stands_still:
        return _matches(case, run, quiet)
    if quiet is not None:
        return CannotTell(missing=(quiet.in_words,))
    return Excluded(
        reason=f"Flink counts {counted(run.completed_count, 'checkpoint')} of run {short_job(run.job_id)}, none of "
        "which failed."
    )


def _failed(run: JobRun) -> list[int]:
    """Ids that Flink still lists as failed, rising."""
    return sorted(c.checkpoint_id for c in run.checkpoints if c.status == "FAILED")


def _newest_completed(run: JobRun) -> int | None:
    return max((c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED"), default=None)


def _failed_since(run: JobRun) -> list[int]:
    newest = _newest_completed(run)
    return [i for i in _failed(run) if newest is None or i > newest]


def fails_in_a_row(run: JobRun, quiet: Silence | None = None) -> bool:
    """Whether a run that goes on has failed so many checkpoints since its newest completed one that it stands still, or
    has failed for longer than one may take. `quiet`: its silence, where somebody looked at the clock."""
    since = _failed_since(run)
    is_long = bool(since) and quiet is not None and quiet.is_certain
    return (len(since) >= IN_A_ROW or is_long) and not run.is_terminal


def _matches(case: Case, run: JobRun, quiet: Silence | None) -> Matches:
    stands_still = quiet is not None and quiet.is_certain
    reasons = [*_what_failed(run), *([quiet.in_words] if quiet is not None and stands_still else [])]
    may_lose = run.may_lose_in_flight and bool(run.failed_count or _failed(run))
    if may_lose:
        reasons.append(
            "The run writes with the V1 sink and unaligned checkpoints: files of a checkpoint that failed may be lost "
            "(F27, apache/iceberg #15846)."
        )
    return Matches(
        headline=_headline(run, quiet),
        reasons=tuple(reasons),
        rows=_after_failures(case),
        remedy=Remedy.TELL_CONSUMERS if stands_still or fails_in_a_row(run) else Remedy.NOTHING,
        asks=unasked(case, "missing_positions", "leaked_manifests") if may_lose else (),
    )


def _headline(run: JobRun, quiet: Silence | None) -> str:
    who, count = f"run {short_job(run.job_id)}", max(run.failed_count, len(_failed(run)))
    if fails_in_a_row(run, quiet):
        return f"Checkpoints of {who} fail one after the other, so nothing reaches the table."
    if quiet is not None and quiet.is_certain:
        return f"Run {short_job(run.job_id)} completes no checkpoint any more, so nothing reaches the table."
    if run.may_lose_in_flight and count:
        return f"{counted(count, 'checkpoint')} of {who} failed, and rows may be lost by that."
    if quiet is not None and _failed_since(run):
        return f"{counted(count, 'checkpoint')} of {who} failed, and none has completed since; no row is lost so far."
    return f"{counted(count, 'checkpoint')} of {who} failed; no row is lost by that."


def _what_failed(run: JobRun) -> list[str]:
    """What Flink counts and lists of failures, and whether one completed after them."""
    failed, newest, since = _failed(run), _newest_completed(run), _failed_since(run)
    count = max(run.failed_count, len(failed))
    reasons = [f"Flink counts {count} failed and {run.completed_count} completed checkpoints of the run."]
    if failed:
        words = sorted({c.failure for c in run.checkpoints if c.status == "FAILED" and c.failure})
        reasons.append(f"It lists {checkpoints(failed)} as failed{': ' + words[0].rstrip('.') if words else ''}.")
        if words and (cause := cause_in(*words)).first is not None:
            reasons.append(cause.in_words)
    if since:
        reasons.append(
            f"None has completed since {newest if newest is not None else 'the start'}: the table gets no rows until "
            "one does."
        )
    elif count and newest is not None and not run.may_lose_in_flight:
        reasons.append(f"Checkpoint {newest} completed after them and carries their rows.")
    return reasons


def _after_failures(case: Case) -> tuple[SnapshotId, ...]:
    """The ledger's rows before which a failed checkpoint was skipped."""
    rows = case.ledger.main if case.ledger else ()
    return tuple(r.snapshot_id for r in rows if any(s.reason is SkipReason.FAILED for s in r.skipped))
