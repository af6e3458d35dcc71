"""A job that stands still and has never committed to this table: what it has left behind, and from where it goes on.

Others may have written the table; the job itself owes it what its checkpoints hold, and nothing else.
"""

from bot.diagnosis._case import unseen
from bot.domain.diagnosis import CannotTell, Case, Matches, Remedy
from bot.domain.flink import JobRun, StoredCheckpoint
from bot.domain.ids import JobId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.pairing import owed_checkpoints
from bot.domain.sentences import counted

_TAKES_ROWS = frozenset({"delete", "replace"})
"""Operations with which no table begins: they need rows that were there before."""
_BY_HAND = "mend what keeps the job from committing, then start it by hand"


def never_committed(case: Case, why: str) -> Matches | CannotTell | None:
    """The match; None where a run of Flink has committed to the table, or may have, or Flink lists no run that failed.
    `why`: what shows that it stands still."""
    runs, table = case.runs, case.observation.table
    has_expired = bool(table.chain) and table.chain[-1].has_commit_below
    if not runs or runs[-1].state == "FINISHED" or has_expired or any(s.job_id for s in table.snapshots):
        return None
    if table.chain and table.chain[-1].operation in _TAKES_ROWS:
        root = table.chain[-1]
        gone = f"main begins with {short(root.snapshot_id)}, a {root.operation}, and so something lay below it"
        return CannotTell(missing=(f"whether the job had committed to this table before: {gone}",))
    if not any(run.completed_count or run.checkpoints or run.restored is not None for run in runs):
        return _match(case, runs, why, _before_any(runs), f"{_BY_HAND} as it is deployed: it has no state yet")
    if isinstance(case.observation.checkpoints, NotSeen):
        return CannotTell(missing=(unseen(case.observation.checkpoints),))
    point = _newest(case.observation.checkpoints.values, {run.job_id for run in runs})
    if point is None:
        left = "Its checkpoints were completed, and storage shows none that can be read: what they held is read again."
        return _match(case, runs, why, left, f"{_BY_HAND} from nothing, its source set to where it began")
    owes = owed_checkpoints(point, table)
    waits = f"still owes {counted(len(owes), 'checkpoint')}" if owes else "holds what was not committed"
    left = (
        f"Checkpoint {point.checkpoint_id} at {point.path} is its newest, and {waits}: a restore from it commits that "
        "first, if its Flink manifests are on storage. A start from nothing would lose its state, and leave these "
        "files behind."
    )
    return _match(case, runs, why, left, f"{_BY_HAND} from {point.path}")


def _before_any(runs: tuple[JobRun, ...]) -> str:
    if len(runs) == 1:
        return "It has completed no checkpoint and was restored from none: it owes the table nothing."
    return (
        f"None of its {len(runs)} runs that Flink lists has completed a checkpoint or was restored from one: they owe "
        "the table nothing."
    )


def _match(case: Case, runs: tuple[JobRun, ...], why: str, left: str, how: str) -> Matches:
    newest = max(runs[-1].failures, key=lambda each: each.at, default=None)
    said = f"Flink says: {newest.exception}: {newest.message.rstrip('.')}." if newest is not None else None
    return Matches(
        headline=f"The job has never committed to this table, and run {short_job(runs[-1].job_id)} is "
        f"{runs[-1].state}: recover the job, not the table.",
        reasons=(why, "No commit by Flink is listed.", left, *((said,) if said is not None else ())),
        rows=(),
        last_good=case.observation.table.head,
        wrong_run=None,
        remedy=Remedy.RESTORE_JOB_ONLY,
        how=how,
    )


def _newest(stored: tuple[StoredCheckpoint, ...], runs: set[JobId]) -> StoredCheckpoint | None:
    fit = [each for each in stored if each.job_id in runs and each.problem is None and each.checkpoint_id is not None]
    return max(fit, key=lambda each: (each.written_at, each.checkpoint_id or 0), default=None)
