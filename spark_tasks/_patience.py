"""How long a Flink manifest may wait to be committed, by the pace of its run."""

from datetime import datetime, timedelta

from bot.domain.checkpoint_pace import completed_at, interval_of, longest_of
from bot.domain.evidence import Ask
from bot.domain.flink import FlinkManifest, JobRun

_INTERVALS = 5
_AT_LEAST = timedelta(minutes=2)


def is_overdue(leak: FlinkManifest, ask: Ask) -> bool:
    """Whether a pending manifest waits longer than a healthy job lets it wait: a V2 sink commits a checkpoint some
    moments after it, or, for a savepoint, with the next one."""
    run = next((run for run in ask.observation.jobs.values if run.job_id == leak.job_id), None)
    if run is None or run.is_terminal or (since := _waits_since(leak, run)) is None:
        return False
    return ask.observation.table.read_at - since > patience(ask, run)


def _waits_since(leak: FlinkManifest, run: JobRun) -> datetime | None:
    """Nothing commits what was written at the barrier before the checkpoint completes; None: it is in progress, or
    nobody knows when it was written."""
    its_own = next((c for c in run.checkpoints if c.checkpoint_id == leak.checkpoint_id), None)
    if its_own is None or its_own.status not in {"COMPLETED", "IN_PROGRESS"}:
        return leak.written_at
    return completed_at(its_own) if its_own.status == "COMPLETED" else None


def patience(ask: Ask, run: JobRun | None) -> timedelta:
    """Five checkpoint intervals, two minutes at the least, and what the longest checkpoint took, for the next one may
    take as long; by the contract where Flink does not tell the interval."""
    told = interval_of(run) if run is not None else None
    interval = told or ask.contract.checkpoint_every or ask.contract.commit_every or timedelta(0)
    took = longest_of(run) if run is not None else timedelta(0)
    return max(_INTERVALS * interval, _AT_LEAST) + took
