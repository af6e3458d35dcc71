"""How table and job stand, in sentences: what is put beside the words of somebody else who tells of them."""

from bot.diagnosis._case import living
from bot.diagnosis.no_snapshot_advanced import standstill
from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.ids import short, short_job
from bot.domain.looked import NotSeen


def facts_of(case: Case) -> tuple[str, ...]:
    """The head first, then the runs that write, or why none does."""
    return (_head(case), *_runs(case))


def _head(case: Case) -> str:
    head = next(iter(case.observation.table.chain), None)
    if head is None:
        return "The table has no snapshot."
    by = f" by run {short_job(head.job_id)} with checkpoint {head.checkpoint_id}" if head.job_id else ""
    rows = head.counted("added-records")
    added = f"; it added {rows:,} rows" if rows else ""
    return f"The newest commit is {short(head.snapshot_id)}, of {head.committed_at:%H:%M:%S} UTC{by}{added}."


def _runs(case: Case) -> tuple[str, ...]:
    jobs = case.observation.jobs
    if isinstance(jobs, NotSeen):
        return (f"Flink could not be asked: {jobs.reason}",)
    alive = living(case)
    if not alive:
        why = standstill(case)
        return (why,) if why is not None else ()
    return tuple(_run(run) for run in alive)


def _run(run: JobRun) -> str:
    done = next((c for c in run.checkpoints if c.status == "COMPLETED"), None)
    newest = (
        f"its newest checkpoint is {done.checkpoint_id}, of {done.triggered_at:%H:%M:%S} UTC"
        if done is not None
        else "Flink lists no completed checkpoint of it"
    )
    return f"Run {short_job(run.job_id)} is {run.state}; {newest}."
