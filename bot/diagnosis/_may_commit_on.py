"""Whether who made the job's newest commit may still be writing, on a cluster that nobody asks: a job that is restored
beside it is a fork."""

from datetime import timedelta

from bot.diagnosis._case import longest_silence, run_of, time_in
from bot.domain.diagnosis import Case
from bot.domain.flink import CLOCKS_DIFFER, JobRun
from bot.domain.guests import commits_of_job
from bot.domain.ids import short, short_job
from bot.domain.table import Snapshot

_ELSEWHERE = (
    "look for it on every cluster on which the job may run, and name that cluster in the configuration; a job that is "
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
