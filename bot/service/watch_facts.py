"""How table and job stand, in sentences: what is put beside the words of somebody else who tells of them."""

from datetime import datetime

from bot.diagnosis._case import living
from bot.diagnosis._standstill import standstill
from bot.domain.clock_time import clock_time
from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.ids import short, short_job
from bot.domain.looked import NotSeen


def facts_of(case: Case, now: datetime) -> tuple[str, ...]:
    """The head first, then the runs that write, or why none does. What is not of today (`now`) is told with its day."""
    return (_head(case, now), *_runs(case, now))


def _head(case: Case, now: datetime) -> str:
    head = next(iter(case.observation.table.chain), None)
    if head is None:
        return "The table has no snapshot."
    by = f" by run {short_job(head.job_id)} with checkpoint {head.checkpoint_id}" if head.job_id else ""
    rows = head.counted("added-records")
    added = f"; it added {rows:,} rows" if rows else ""
    when = clock_time(head.committed_at, now, seconds=True)
    return f"The newest commit is {short(head.snapshot_id)}, of {when}{by}{added}."


def _runs(case: Case, now: datetime) -> tuple[str, ...]:
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return (f"Flink could not be asked: {jobs.reason}",)
    alive = living(case)
    if not alive:
        why = standstill(case)
        return (why,) if why is not None else ()
    return tuple(_run(run, now) for run in alive)


def _run(run: JobRun, now: datetime) -> str:
    done = next((c for c in run.checkpoints if c.status == "COMPLETED"), None)
    newest = (
        f"its newest checkpoint is {done.checkpoint_id}, of {clock_time(done.triggered_at, now, seconds=True)}"
        if done is not None
        else "Flink lists no completed checkpoint of it"
    )
    return f"Run {short_job(run.job_id)} is {run.state}; {newest}."
