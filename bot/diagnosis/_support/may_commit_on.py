"""Whether who made the job's newest commit may still be writing, on a cluster that nobody asks: a job that is restored
beside it is a fork.
"""

from datetime import datetime, timedelta

from bot.diagnosis._support.case import living, longest_silence, run_of, time_in
from bot.history.case import Case
from bot.history.other_jobs import commits_of_job
from bot.observation.flink import CLOCKS_DIFFER, Cause, Failure, JobRun, cause_of
from bot.observation.ids import short, short_job
from bot.observation.sentences import clock_time, counted
from bot.observation.table import Snapshot

_ELSEWHERE = (
    "look for it on every cluster on which the job may run, and name that cluster in the configuration. A job that is "
    "started beside it writes each row twice"
)


def may_commit_on(case: Case) -> str | None:
    """What is missing to know that the writer of the job's newest commit has stopped; None: Flink shows it at its end
    or failing since, or lists none at all while even a sink without rows would have committed.

    A commit by a run that Flink does not list proves that somebody writes whom it does not know. Only where a run that
    it lists came after, and the commit is older than two checkpoint intervals, that one has replaced the writer.
    """
    newest = next(reversed(commits_of_job(case)), None)
    if newest is None:
        return None
    writer = run_of(case, newest.job_id)
    if writer is None:
        return _of_another_job(case, newest) or _unlisted(case, newest)
    return _after_its_end(case, writer, newest) if writer.is_terminal else _after_its_failure(case, writer, newest)


def is_forgotten(case: Case) -> bool:
    """Whether Flink lists no run of the job, so that only its long silence shows that it stands still."""
    return not case.runs


def _of_another_job(case: Case, newest: Snapshot) -> str | None:
    """The writer is a run of one of the table's other jobs that has not ended."""
    others = case.observation.others
    alive = [run for run in (others.values if others is not None else ()) if not run.is_terminal]
    run = next((run for run in alive if run.job_id == newest.job_id), None)
    if run is None:
        return None
    return (
        f"whether the job is to go on beside run {short_job(run.job_id)} of {run.name}, which is {run.state} and made "
        f"the newest commit, {_told(case, newest)}: if {run.name} has taken its place, set the table's `job` to that"
    )


def _unlisted(case: Case, newest: Snapshot) -> str | None:
    runs, every = case.runs, _interval(case, newest)
    age = case.observation.table.read_at - newest.committed_at
    replaced = bool(runs) and runs[-1].started_at > newest.committed_at
    if every is not None and replaced and age >= 2 * every:
        return None
    if every is not None and not runs and age >= (longest_silence(case.observation.table) + 1) * every:
        return None
    return (
        f"whether run {short_job(newest.job_id)} still writes the table: the newest commit, {_told(case, newest)}, is "
        f"its own, and Flink does not list it: {_ELSEWHERE}"
    )


def _after_its_end(case: Case, writer: JobRun, newest: Snapshot) -> str | None:
    if writer.ended_at is None or newest.committed_at <= writer.ended_at + CLOCKS_DIFFER:
        return None
    return (
        f"who writes the table as run {short_job(writer.job_id)}: Flink says that it is {writer.state} since "
        f"{time_in(case, writer.ended_at)}, and {_told(case, newest)} came after that: {_ELSEWHERE}"
    )


def _after_its_failure(case: Case, writer: JobRun, newest: Snapshot) -> str | None:
    every, failed = _interval(case, newest), max((f.at for f in writer.failures), default=writer.started_at)
    age = case.observation.table.read_at - newest.committed_at
    if newest.committed_at <= failed or (every is not None and age >= 2 * every):
        return None
    return (
        f"whether run {short_job(writer.job_id)} comes back: {_told(case, newest)} came after its last failure; look "
        "again after two checkpoints"
    )


def _interval(case: Case, newest: Snapshot) -> timedelta | None:
    """The longest time between two checkpoints that anything tells: Flink of the job's runs, the contract, or the
    commits of that run by their checkpoint ids; None: nothing does."""
    told = [timedelta(milliseconds=run.checkpoint_interval_ms) for run in case.runs if run.checkpoint_interval_ms]
    promised = [case.contract.checkpoint_every] if case.contract.checkpoint_every else []
    return max((*told, *promised, *_rhythm(case, newest)), default=None)


def _rhythm(case: Case, newest: Snapshot) -> tuple[timedelta, ...]:
    mine = [s for s in commits_of_job(case) if (s.job_id, s.operator_id) == (newest.job_id, newest.operator_id)]
    steps = (newest.checkpoint_id or 0) - (mine[0].checkpoint_id or 0)
    return ((newest.committed_at - mine[0].committed_at) / steps,) if steps > 0 else ()


def _told(case: Case, newest: Snapshot) -> str:
    return f"{short(newest.snapshot_id)} of {time_in(case, newest.committed_at)}"


LOOP = 3
"""So many failures without a completed checkpoint between them are a loop."""
_AT_LEAST = timedelta(minutes=10)
"""Flink's own timeout of a checkpoint where none is set: state that is written within it can be read within it."""
_AT_MOST = timedelta(hours=1)


def standstill(case: Case) -> str | None:
    """Why nothing is committed, a sentence or two; None while a run is alive and may still come back by itself."""
    runs = case.runs
    if not runs:
        return "Flink knows no run of the job."
    alive = living(case)
    if not alive:
        ended = f" since {clock_time(runs[-1].ended_at, seconds=True)}" if runs[-1].ended_at else ""
        cause = cause_now(case)
        return f"Run {short_job(runs[-1].job_id)} is {runs[-1].state}{ended}.{f' {cause.in_words}' if cause else ''}"
    if len(alive) > 1:
        return None
    return loop(case, alive[-1]) or stuck(case, alive[-1])


def loop(case: Case, run: JobRun) -> str | None:
    """That a living run only fails, with the last exception; None: it does not."""
    failures = since_checkpoint(run)
    if len(failures) < LOOP:
        return None
    return (
        f"Run {short_job(run.job_id)} failed {len(failures)} times since its last completed checkpoint, last with "
        f"{failures[0].exception} at {time_in(case, failures[0].at)}. {cause_of(failures[0]).in_words}"
    )


def cause_now(case: Case) -> Cause | None:
    """Why the newest run fails; None: it did not fail since its newest completed checkpoint."""
    failures = since_checkpoint(case.runs[-1]) if case.runs else []
    return cause_of(failures[0]) if failures else None


def stuck(case: Case, run: JobRun) -> str | None:
    """That a living run has not come up for longer than `recovery_limit`, with what to look at; None: it still may."""
    since, limit = _last_sign(run), recovery_limit(run)
    if run.is_settled or case.observation.table.read_at - since <= limit:
        return None
    minutes = counted(round(limit.total_seconds() / 60), "minute")
    return (
        f"Run {short_job(run.job_id)} is {run.state} and has not come up since {time_in(case, since)}{_waiting(run)}: "
        f"it is waited for {minutes} at most. Look whether the "
        "cluster has free slots, TaskManagers and memory for it, and what the JobManager's log says."
    )


def recovery_limit(run: JobRun) -> timedelta:
    """How long a run may take until every operator runs: the timeout of its checkpoints, ten minutes at least, and two
    checkpoint intervals; an hour at most."""
    timeout = run.settings.timeout_ms if run.settings is not None else None
    interval = timedelta(milliseconds=run.checkpoint_interval_ms or 0)
    return min(max(timedelta(milliseconds=timeout or 0), _AT_LEAST) + 2 * interval, _AT_MOST)


def since_checkpoint(run: JobRun) -> list[Failure]:
    """The failures after the newest completed checkpoint, newest first."""
    after = max(_completed(run), default=run.started_at)
    return sorted((f for f in run.failures if f.at >= after), key=lambda f: f.at, reverse=True)


def _last_sign(run: JobRun) -> datetime:
    """When Flink last told of anything that the run did: Flink does not say since when an operator is what it is."""
    restored = [run.restored.at] if run.restored is not None else []
    return max([run.started_at, *restored, *_completed(run), *(f.at for f in run.failures)])


def _completed(run: JobRun) -> list[datetime]:
    return [c.triggered_at for c in run.checkpoints if c.status == "COMPLETED"]


def _waiting(run: JobRun) -> str:
    """The first operator that does not run, with its state."""
    waiting = run.waiting
    if not waiting:
        return ""
    return f" ({len(waiting)} of {len(run.vertices)} operators do not run: {waiting[0].name} is {waiting[0].status})"
