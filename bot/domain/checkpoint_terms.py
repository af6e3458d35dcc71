"""The checkpoint contract: how often, how surely, where to, and whether each one reaches the table."""

from datetime import timedelta
from itertools import pairwise
from statistics import median
from urllib.parse import urlsplit

from bot.domain.empty_commits import empty_commits_allowed
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.flink import JobRun
from bot.domain.ids import short_job
from bot.domain.looked import NotSeen

_SLACK = 2
"""A checkpoint may take up to this many intervals before the interval counts as not kept."""
_LOCAL = {"", "file"}


def checkpoint_terms(observation: Observation) -> tuple[Finding, ...]:
    """Interval, failures, arrival in the table, storage; of the newest run that Flink knows."""
    if isinstance(observation.jobs, NotSeen):
        looked = f"Could not look: {observation.jobs.reason}"
        return (_finding("Checkpoints complete, on time, on durable storage.", looked, None, observation.jobs.remedy),)
    run = max(observation.jobs.values, key=lambda run: run.started_at, default=None)
    if run is None:
        return (
            _finding(
                "Checkpoints complete, on time, on durable storage.",
                "Flink remembers no run of this job.",
                None,
                "Start the job, or name it in the configuration as Flink names it.",
            ),
        )
    return (_on_time(run), _without_failures(run), _arrive(run, observation), _durable(run))


def _finding(term: str, observed: str, holds: bool | None, action: str) -> Finding:
    return Finding(contract="checkpoint", term=term, observed=observed, holds=holds, action=action)


def _on_time(run: JobRun) -> Finding:
    term = "Checkpoints complete about every interval."
    times = sorted(c.triggered_at for c in run.checkpoints if c.status == "COMPLETED")
    gaps = [later - earlier for earlier, later in pairwise(times)]
    if run.checkpoint_interval_ms is None or not gaps:
        found = f"Run {short_job(run.job_id)} tells too little: {len(times)} completed checkpoints are known."
        return _finding(term, found, None, "Look again when the job has run for some intervals.")
    interval = timedelta(milliseconds=run.checkpoint_interval_ms)
    typical = timedelta(seconds=median(gap.total_seconds() for gap in gaps))
    holds = typical <= _SLACK * interval
    observed = f"Interval {_seconds(interval)}, typically {_seconds(typical)} between completed checkpoints."
    action = "Nothing to do." if holds else "Find what holds the barrier up (backpressure, large state, slow storage)."
    return _finding(term, observed, holds, action)


def _without_failures(run: JobRun) -> Finding:
    total = run.completed_count + run.failed_count
    holds = run.failed_count == 0 if total else None
    failures = [c.failure for c in run.checkpoints if c.failure]
    newest = f" The newest failure: {failures[0]}" if failures else ""
    return _finding(
        "Checkpoints do not fail.",
        f"{run.failed_count} of {total} checkpoints of run {short_job(run.job_id)} failed.{newest}",
        holds,
        "Nothing to do." if holds else "Read the failures; set how many the job may tolerate on purpose.",
    )


def _arrive(run: JobRun, observation: Observation) -> Finding:
    term = "What a checkpoint completes reaches the table."
    completed = max((c.checkpoint_id for c in run.checkpoints if c.status == "COMPLETED"), default=None)
    committed = max(
        (s.checkpoint_id for s in observation.table.chain if s.job_id == run.job_id and s.checkpoint_id is not None),
        default=None,
    )
    name = f"run {short_job(run.job_id)}"
    allowed = empty_commits_allowed(observation.table.properties)
    if completed is None:
        return _finding(term, f"No completed checkpoint of {name} is known.", None, "Look again later.")
    if committed is None:
        return _finding(
            term,
            f"Checkpoint {completed} of {name} is complete; the table carries no commit of it.",
            None if run.completed_count <= allowed else False,
            "See whether the source is idle; if not, the sink withholds its commits.",
        )
    behind = completed - committed
    holds = True if behind <= 1 else (False if behind > allowed else None)
    observed = f"Checkpoint {completed} of {name} is complete, {committed} is in the table: {max(behind, 0)} behind."
    action = "Nothing to do." if holds else "See whether the source is idle; if not, the sink withholds its commits."
    return _finding(term, observed, holds, action)


def _durable(run: JobRun) -> Finding:
    term = "Checkpoints are on storage that outlives the machines."
    paths = [c.path for c in run.checkpoints if c.path]
    if not paths:
        return _finding(term, "No checkpoint's path is known.", None, "Look again when one has completed.")
    schemes = sorted({urlsplit(path).scheme for path in paths})
    holds = not _LOCAL & set(schemes)
    action = "Nothing to do." if holds else "Set execution.checkpointing.dir to object storage or HDFS."
    written_to = ", ".join(f"{scheme}:" if scheme else "a local path" for scheme in schemes)
    return _finding(term, f"They are written to {written_to}.", holds, action)


def _seconds(span: timedelta) -> str:
    return f"{span.total_seconds():g} s"
