"""F5: the job was stopped with `drain: true`, and a job restored from there never commits again.

A drained V1 sink commits its last rows under Long.MAX_VALUE. Every later checkpoint id is below it, so a run that
is restored from that state, or from any older one of that job, takes each of its checkpoints for committed (facts 0.6).
"""

from bot.diagnosis._support.case import listed, takes_for_its_own, unseen
from bot.diagnosis._support.leaks import in_words, leaks_of, never_let_in
from bot.diagnosis._support.restoring import can_rewind_to
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.history.starts import came_up_at
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LeakStanding
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import DRAINED, CheckpointId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot

MODE = Mode(
    code="F5",
    name="job_was_drained",
    title="the job was drained, and what is restored from it never commits",
    needs=("checkpoint_pairing",),
    false_positives=(
        "A bounded or batch job that has finished: it ends with the same mark, and nothing is restored from it.",
        "A new job, without state or under another uid of its sink: the mark does not concern it.",
    ),
    neighbours={
        "F4": "There a start without state counts from 1 below an ordinary maximum. Here the newest commit "
        "carries Long.MAX_VALUE.",
        "F11": "There the newest commit carries an ordinary id and the next one brings all that waits. Here "
        "none will come.",
    },
    act=Act.RECOVER,
    remedies=(
        Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
        Remedy.CHANGE_OPERATOR_UID,
        Remedy.RECOVER_LEAKED_MANIFESTS,
        Remedy.REPLAY_SOURCE_RANGE,
    ),
)


def examine(case: Case) -> Examined:
    """Matches when the newest Flink commit is a drained one and a run came after it that takes it for its own; also
    when such a run was replaced since, and rows are left that it wrote."""
    newest = next(reversed(commits_of_job(case)), None)
    drained = newest if newest is not None and newest.checkpoint_id == DRAINED else None
    if drained is None:
        return never_let_in(case) or _unseen(case) or Excluded(reason=_why_not(case))
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    after = [run for run in case.runs if came_up_at(run) > drained.committed_at]
    if not after:
        return Excluded(
            reason=f"{short(drained.snapshot_id)} was committed by a job that ended on purpose (Long.MAX_VALUE), and "
            "no run came after it. Do not restore its last savepoint: a V1 sink would never commit again."
        )
    run = after[-1]
    concerned = takes_for_its_own(case, run, drained)
    if concerned is None:
        return CannotTell(missing=(f"the operators of run {short_job(run.job_id)} (Flink lists none)",))
    ids = _completed(run)
    if not concerned or (run.is_terminal and not ids):
        return never_let_in(case) or Excluded(
            reason=f"{short(drained.snapshot_id)} is the last commit of a drained or finished job, and run "
            f"{short_job(run.job_id)} does not take it for its own: it has another job id or sink, or no state of it."
            if not concerned
            else f"Run {short_job(run.job_id)} came after the drained commit and ended before its first checkpoint."
        )
    return _matches(case, drained, run, ids)


def _unseen(case: Case) -> CannotTell | None:
    """Whether a run came after an older drained commit is not known where Flink was not seen."""
    jobs = case.observation.jobs
    is_marked = any(s.checkpoint_id == DRAINED for s in commits_of_job(case))
    return CannotTell(missing=(unseen(jobs),)) if is_marked and isinstance(jobs, NotSeen) else None


def _why_not(case: Case) -> str:
    marked = [s for s in commits_of_job(case) if s.checkpoint_id == DRAINED]
    if marked:
        return f"After the drained commit {short(marked[-1].snapshot_id)} further checkpoints were committed."
    return "No commit on main carries Long.MAX_VALUE, which a drained or finished job leaves."


def _completed(run: JobRun) -> list[CheckpointId]:
    """All of the run's: a failover in between forgets none of them."""
    return sorted(
        c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED" and c.kind is CheckpointKind.CHECKPOINT
    )


def _matches(case: Case, drained: Snapshot, run: JobRun, ids: list[CheckpointId]) -> Matches:
    possible = can_rewind_to(case, drained.snapshot_id)
    reasons = [
        f"{short(drained.snapshot_id)} was committed by run {short_job(drained.job_id)} under checkpoint {DRAINED}, as "
        "`drain: true` does it.",
        f"Run {short_job(run.job_id)} came after it"
        + (f", restored from checkpoint {run.restored.checkpoint_id}." if run.restored else " under the same job id."),
        f"Flink completed {listed(ids)} since, and no snapshot carries them."
        if ids
        else "It has completed no checkpoint yet; none of them will be committed.",
        "Stop it before more is read: what it reads reaches files and no snapshot.",
    ]
    dropped = leaks_of(case, run.job_id, LeakStanding.DROPPED)
    if dropped:
        again = "a rollback of table and job reads them again, so do not append them as well."
        reasons.append(f"{in_words(dropped)[:-1]}: {again}")
    if possible is False:
        reasons.append(
            "No durable restore point pairs with main before the drained commit, so the sink needs a new uid: it then "
            "starts without the mark, and what was read since the drained savepoint is read again."
        )
    return Matches(
        headline=f"Run {short_job(run.job_id)} was restored after a drained job: it runs, and it will never commit.",
        reasons=tuple(reasons),
        rows=(drained.snapshot_id,),
        last_good=drained.snapshot_id,
        wrong_run=run.job_id,
        remedy=Remedy.CHANGE_OPERATOR_UID if possible is False else Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
    )
