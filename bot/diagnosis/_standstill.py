"""Whether the job has come to a standstill that waiting does not end: no run, one that only fails, or one that does not
come up."""

from datetime import datetime, timedelta

from bot.diagnosis._case import living, time_in
from bot.domain.diagnosis import Case
from bot.domain.flink import Failure, JobRun
from bot.domain.ids import short_job
from bot.domain.sentences import clock_time, counted

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
        return f"Run {short_job(runs[-1].job_id)} is {runs[-1].state}{ended}."
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
        f"{failures[0].exception} at {time_in(case, failures[0].at)}."
    )


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
