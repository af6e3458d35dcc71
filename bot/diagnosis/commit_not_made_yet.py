"""F11: checkpoints complete, their files wait in Flink manifests, and nobody tells the sink to commit them.

Flink's notification of a completed checkpoint may be lost, or the commit may fail while checkpoints go on. Nothing is
lost: the next notification or a restart commits everything that waits, so nothing may clean it up (facts F11).
"""

from collections.abc import Sequence
from typing import NamedTuple

from bot.diagnosis._support.arrivals import stretches
from bot.diagnosis._support.asked import untold_order
from bot.diagnosis._support.case import by_sink, empty_starts, listed, living, rewinds_in, sinks_of, time_in, unseen
from bot.diagnosis._support.leaks import leaks_of
from bot.diagnosis._support.other_branch import commits_anywhere, commits_on_branches
from bot.diagnosis._support.restoring import restore_in_words
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.history.starts import came_up_at, flink_commits
from bot.incident.diagnosis import Act, CannotTell, Examined, Excluded, Matches, Mode, Remedy
from bot.observation.findings import LeakStanding
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import DRAINED, CheckpointId, OperatorId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted

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
        "F5": "There the newest commit carries Long.MAX_VALUE and none will follow. Here it carries an ordinary id.",
        "wait": "There Flink has not settled the run yet. Here it runs and completes checkpoints, and only "
        "their commits stay out.",
    },
    act=Act.WAIT,
    remedies=(Remedy.WAIT, Remedy.RESTORE_JOB_ONLY),
)
_NOTHING = CheckpointId(0)
_ENOUGH = 2
"""So many completed checkpoints below the newest one still wait: that is no commit on its way."""
_SURELY_STUCK = 9
"""So many, of the ten or so that Flink lists, completed above the first that waits: a sink with files commits at each,
whatever failed long ago."""


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
    sinks, newest = _sinks(case, run), max(_completed(run), default=CheckpointId(0))
    reached = min(sink.reached for sink in sinks)
    if newest - reached <= 1:
        return Excluded(reason=_nothing_waits(case, run, reached, newest))
    if (order := untold_order(case)) is not None:
        return CannotTell(missing=(order,))
    listing = case.observation.flink_manifests
    if isinstance(listing, NotSeen):
        return CannotTell(missing=(unseen(listing),))
    stuck = [
        sink for sink in sinks if sum(1 for i in sink.waiting if i < newest) >= _ENOUGH or _is_overdue(case, run, sink)
    ]
    if not stuck:
        return Excluded(reason=_carried_nothing(run, sinks, newest))
    return _matches(case, run, newest, stuck)


class _Sink(NamedTuple):
    """One of the sinks through which the run writes the table."""

    operator: OperatorId | None
    base: CheckpointId
    """The newest checkpoint that main has of it, or that the run was restored from."""
    reached: CheckpointId
    """The same of every branch."""
    waiting: tuple[CheckpointId, ...]
    """Above `base`, on storage, and on no branch; rising."""


def _sinks(case: Case, run: JobRun) -> tuple[_Sink, ...]:
    return tuple(_sink(case, run, operator) for operator in sinks_of(case, run))


def _sink(case: Case, run: JobRun, operator: OperatorId | None) -> _Sink:
    everywhere = {s.checkpoint_id for s in by_sink(commits_anywhere(case), operator) if s.job_id == run.job_id}
    mine = [s for s in by_sink(flink_commits(case.observation.table), operator) if s.job_id == run.job_id]
    restored = [run.restored.checkpoint_id] if run.restored else []
    base = max([*(s.checkpoint_id for s in mine[-1:] if s.checkpoint_id is not None), *restored], default=_NOTHING)
    aside = everywhere - {s.checkpoint_id for s in mine}
    manifests = (m for m in case.observation.flink_manifests.values if m.job_id == run.job_id)
    waiting = {m.checkpoint_id for m in manifests if operator in (None, m.operator_id) and m.checkpoint_id > base}
    reached = max([base, *(i for i in aside if i is not None)])
    return _Sink(operator, base, reached, tuple(sorted(waiting - aside)))


def _nothing_waits(case: Case, run: JobRun, reached: CheckpointId, newest: CheckpointId) -> str:
    if not newest:
        return f"Flink lists no checkpoint that run {short_job(run.job_id)} completed since its start."
    beside = [
        branch
        for branch, commits in commits_on_branches(case).items()
        if any(s.job_id == run.job_id and s.checkpoint_id == reached for s in commits)
    ]
    where = f"on branch {beside[0]}, which is not main" if beside else "in the table or was restored"
    return (
        f"Flink's newest completed checkpoint of run {short_job(run.job_id)} is {newest}, and {reached} is {where}: "
        "nothing waits for long."
    )


def _carried_nothing(run: JobRun, sinks: tuple[_Sink, ...], newest: CheckpointId) -> str:
    """Of the sink that is behind most."""
    behind = min(sinks, key=lambda sink: sink.reached)
    waiting = f"only {len(behind.waiting)}" if behind.waiting else "no"
    return (
        f"Flink completed {newest - behind.reached} checkpoints of run {short_job(run.job_id)} since {behind.reached}"
        f"{_named((behind,), sinks)}, and {waiting} Flink manifest waits on storage: they carried no rows."
    )


def _named(some: Sequence[_Sink], sinks: Sequence[_Sink]) -> str:
    """Which of the sinks these are, where the run has others."""
    return f" of its sink {', '.join(str(sink.operator)[:6] for sink in some)}" if len(sinks) > len(some) else ""


def _is_overdue(case: Case, run: JobRun, sink: _Sink) -> bool:
    """Whether evidence found a manifest that waits for longer than a healthy job lets it wait."""
    pending = leaks_of(case, run.job_id, LeakStanding.PENDING)
    mine = (leak for leak in pending if sink.operator in (None, leak.operator_id))
    return any(leak.is_overdue and leak.checkpoint_id > sink.base for leak in mine)


def _other_cause(case: Case, run: JobRun) -> str | None:
    """A known reason for which the run's commits do not come; these do not come by waiting."""
    newest = next(reversed(commits_of_job(case)), None)
    if newest is not None and newest.checkpoint_id == DRAINED:
        return f"{short(newest.snapshot_id)} is a drained job's last commit: what follows it never commits (F5)."
    if any(r.run == run.job_id and r.first is None for r in rewinds_in(case)):
        return f"Run {short_job(run.job_id)} was restored from below what is committed, which explains its silence."
    if any(s.run == run.job_id and s.first is None and s.keeps_job_id for s in empty_starts(case)):
        return f"Run {short_job(run.job_id)} started without state under its old job id, which explains its silence."
    return None


def _completed(run: JobRun) -> list[CheckpointId]:
    since = came_up_at(run)
    return [
        c.checkpoint_id
        for c in run.checkpoints
        if c.status == "COMPLETED" and c.kind is CheckpointKind.CHECKPOINT and c.triggered_at >= since
    ]


def _matches(case: Case, run: JobRun, newest: CheckpointId, stuck: list[_Sink]) -> Matches:
    """`stuck`: the sinks of the run whose manifests wait."""
    head, base = case.observation.table.head, min(sink.base for sink in stuck)
    waiting = sorted({checkpoint for sink in stuck for checkpoint in sink.waiting})
    passed = (each for sink in stuck for each in stretches(case, run, sink.operator, sink.base, [run]))
    since = sum(1 for each in _completed(run) if each > min(waiting, default=newest))
    is_stuck = since >= _SURELY_STUCK
    overdue = next((each for each in passed if each.is_too_long or (is_stuck and each.may_be_too_long)), None)
    whose = _named(stuck, _sinks(case, run))
    reasons = [
        f"Flink completed checkpoint {newest} of run {short_job(run.job_id)}; the table has {base}{whose}.",
        f"The Flink manifests of {listed(waiting)} are on storage, above {base}: the next commit takes them along.",
        "Do not remove orphan files and do not expire snapshots meanwhile: these files are the missing rows.",
    ]
    reasons += [
        f"The run failed at {time_in(case, f.at)} with {f.exception}: the commit itself may be refused."
        for f in run.failures[:1]
    ]
    reasons.append(
        f"At least {max(overdue.surely, since)} checkpoints passed without a commit, so waiting no longer helps: a "
        "restart from its newest checkpoint commits what waits."
        if overdue is not None
        else "The next completed checkpoint may commit all of it; look again then."
    )
    return Matches(
        headline=f"The files of {counted(len(waiting), 'completed checkpoint')} of run {short_job(run.job_id)} wait "
        "for their commit; nothing is lost.",
        reasons=tuple(reasons),
        rows=(head,) if head is not None else (),
        last_good=head,
        remedy=Remedy.RESTORE_JOB_ONLY if overdue is not None else Remedy.WAIT,
        how=restore_in_words(case, is_owed=True) if overdue is not None else None,
    )
