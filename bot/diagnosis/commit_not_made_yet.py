"""F11: checkpoints complete, their files wait in Flink manifests, and nobody tells the sink to commit them.

Flink's notification of a completed checkpoint may be lost, or the commit may fail while checkpoints go on. Nothing is
lost: the next notification or a restart commits everything that waits, so nothing may clean it up (facts F11).
"""

from bot.diagnosis._case import listed, living, longest_silence, rewinds_in, time_in, unseen
from bot.diagnosis._clocks import untold_order
from bot.diagnosis._empty_starts import empty_starts
from bot.diagnosis._leaks import leaks_of
from bot.diagnosis._restoring import restore_in_words
from bot.domain.diagnosis import Act, CannotTell, Case, Examined, Excluded, Matches, Mode, Remedy
from bot.domain.findings import LeakStanding
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import DRAINED, CheckpointId, short, short_job
from bot.domain.looked import NotSeen
from bot.domain.rewinds import flink_commits
from bot.domain.sentences import counted

MODE = Mode(
    code="F11",
    name="commit_not_made_yet",
    title="completed checkpoints wait for their commit",
    needs=(),
    false_positives=(
        "A quiet source: without rows the sink commits every tenth checkpoint, and no manifest waits.",
        "The newest checkpoint: its commit follows within moments.",
    ),
    neighbours={
        "F3": "There a restore from below the head explains the silence; here nothing does, and the next "
        "commit takes everything along.",
        "F4": "There a start without state under the old job id explains the silence, and rows are lost; "
        "here nothing is lost.",
        "F5": "There the newest commit carries Long.MAX_VALUE and none will follow; here it carries an ordinary id.",
        "wait": "There Flink has not settled the run yet; here it runs and completes checkpoints, and only "
        "their commits stay out.",
    },
    act=Act.WAIT,
    remedies=(Remedy.WAIT, Remedy.RESTORE_JOB_ONLY),
)
_ENOUGH = 2
"""So many completed checkpoints below the newest one still wait: that is no commit on its way."""


def examine(case: Case) -> Examined:
    """Matches when manifests of a living run wait for checkpoints that Flink completed some time ago."""
    if isinstance(case.observation.jobs, NotSeen):
        return CannotTell(missing=(unseen(case.observation.jobs),))
    run = next(reversed(living(case)), None)
    if run is None:
        return Excluded(reason="No run of the job is alive, so no commit is about to be made.")
    other = _other_cause(case, run)
    if other is not None:
        return Excluded(reason=other)
    base, newest = _committed(case, run), max(_completed(run), default=CheckpointId(0))
    if newest - base <= 1:
        return Excluded(
            reason=f"Flink's newest completed checkpoint of run {short_job(run.job_id)} is {newest}, and {base} is in "
            "the table or was restored: nothing waits for long."
            if newest
            else f"Flink lists no checkpoint that run {short_job(run.job_id)} completed since its start."
        )
    if (order := untold_order(case)) is not None:
        return CannotTell(missing=(order,))
    listing = case.observation.flink_manifests
    if isinstance(listing, NotSeen):
        return CannotTell(missing=(unseen(listing),))
    waiting = sorted({m.checkpoint_id for m in listing.values if m.job_id == run.job_id and base < m.checkpoint_id})
    old = [checkpoint for checkpoint in waiting if checkpoint < newest]
    if len(old) < _ENOUGH and not _is_overdue(case, run, base):
        return Excluded(
            reason=f"Flink completed {newest - base} checkpoints of run {short_job(run.job_id)} since {base}, and "
            f"{'only ' + str(len(waiting)) if waiting else 'no'} Flink manifest waits on storage: they carried no rows."
        )
    return _matches(case, run, base, newest, waiting)


def _is_overdue(case: Case, run: JobRun, base: CheckpointId) -> bool:
    """Whether evidence found a manifest that waits for longer than a healthy job lets it wait."""
    pending = leaks_of(case, run.job_id, LeakStanding.PENDING)
    return any(leak.is_overdue and leak.checkpoint_id > base for leak in pending)


def _other_cause(case: Case, run: JobRun) -> str | None:
    """A known reason for which the run's commits do not come; these do not come by waiting."""
    newest = next(reversed(flink_commits(case.observation.table)), None)
    if newest is not None and newest.checkpoint_id == DRAINED:
        return f"{short(newest.snapshot_id)} is a drained job's last commit: what follows it never commits (F5)."
    if any(r.run == run.job_id and r.first is None for r in rewinds_in(case)):
        return f"Run {short_job(run.job_id)} was restored from below what is committed, which explains its silence."
    if any(s.run == run.job_id and s.first is None and s.keeps_job_id for s in empty_starts(case)):
        return f"Run {short_job(run.job_id)} started without state under its old job id, which explains its silence."
    return None


def _committed(case: Case, run: JobRun) -> CheckpointId:
    """The newest checkpoint of the run that is in the table, or that it was restored from."""
    commits = flink_commits(case.observation.table)
    mine = [s.checkpoint_id for s in commits if s.job_id == run.job_id and s.checkpoint_id is not None]
    return max([*mine[-1:], *([run.restored.checkpoint_id] if run.restored else [])], default=CheckpointId(0))


def _completed(run: JobRun) -> list[CheckpointId]:
    since = run.restored.at if run.restored else run.started_at
    return [
        c.checkpoint_id
        for c in run.checkpoints
        if c.status == "COMPLETED" and c.kind is CheckpointKind.CHECKPOINT and c.triggered_at >= since
    ]


def _matches(case: Case, run: JobRun, base: CheckpointId, newest: CheckpointId, waiting: list[CheckpointId]) -> Matches:
    head = case.observation.table.head
    overdue = newest - base > longest_silence(case.observation.table)
    reasons = [
        f"Flink completed checkpoint {newest} of run {short_job(run.job_id)}; the table has {base}.",
        f"The Flink manifests of {listed(waiting)} are on storage, above {base}: the next commit takes them along.",
        "Do not remove orphan files and do not expire snapshots meanwhile: these files are the missing rows.",
    ]
    reasons += [
        f"The run failed at {time_in(case, f.at)} with {f.exception}: the commit itself may be refused."
        for f in run.failures[:1]
    ]
    reasons.append(
        f"{newest - base} checkpoints passed without a commit, so waiting no longer helps: a restart from its newest "
        "checkpoint commits what waits."
        if overdue
        else "The next completed checkpoint may commit all of it; look again then."
    )
    return Matches(
        headline=f"The files of {counted(len(waiting), 'completed checkpoint')} of run {short_job(run.job_id)} wait "
        "for their commit; nothing is lost.",
        reasons=tuple(reasons),
        rows=(head,) if head is not None else (),
        last_good=head,
        wrong_run=None,
        remedy=Remedy.RESTORE_JOB_ONLY if overdue else Remedy.WAIT,
        how=restore_in_words(case, is_owed=True) if overdue else None,
    )
