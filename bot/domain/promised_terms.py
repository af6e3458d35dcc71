"""What the contract promises in figures, against how job and table are set and what they did; and against itself.

A term that the contract does not promise is left out: it is no term.
"""

from collections.abc import Collection
from datetime import timedelta
from typing import Literal

from bot.domain.column_terms import column_terms
from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.flink import JobRun
from bot.domain.ids import short_job
from bot.domain.looked import NotSeen
from bot.domain.retention_terms import retention_terms
from bot.domain.spans import span

_NOTHING = "Nothing to do."
_MS = timedelta(milliseconds=1)


def promised_terms(
    observation: Observation, contract: TableContract, left_null: Collection[str] = ()
) -> tuple[Finding, ...]:
    """Of the job, of columns, of retention, of the contract itself. `left_null`: columns that evidence found without
    any value."""
    return (
        *_of_the_job(observation, contract),
        *column_terms(observation.table.columns, contract, left_null),
        *retention_terms(observation, contract),
        *_of_itself(contract),
    )


def _finding(
    of: Literal["state", "checkpoint", "table"], term: str, observed: str, holds: bool | None, action: str
) -> Finding:
    return Finding(contract=of, term=term, observed=observed, holds=holds, action=_NOTHING if holds else action)


def _of_the_job(observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    survives, exactly = "State outlives a run that is cancelled.", "Checkpoints are exactly-once."
    every = None if contract.checkpoint_every is None else f"A checkpoint every {span(contract.checkpoint_every)}."
    if isinstance(observation.jobs, NotSeen):
        looked, remedy = f"Could not look: {observation.jobs.reason}", observation.jobs.remedy
        terms = [
            _finding("state", survives, looked, None, remedy),
            _finding("checkpoint", exactly, looked, None, remedy),
        ]
        return (*terms, *([_finding("checkpoint", every, looked, None, remedy)] if every else []))
    run = max(observation.jobs.values, key=lambda each: each.started_at, default=None)
    kept = run.settings.survives_cancel if run is not None and run.settings is not None else None
    mode = run.settings.mode if run is not None and run.settings is not None else None
    nobody = "Flink remembers no run of this job."
    who = "" if run is None else f"Run {short_job(run.job_id)}:"
    outlives = f"{who} its checkpoints are {_known(kept, 'kept', 'deleted')} when it is cancelled."
    return (
        _finding(
            "state", survives,
            outlives if run else nobody, kept,
            "Set execution.checkpointing.externalized-checkpoint-retention to RETAIN_ON_CANCELLATION.",
        ),
        _finding(
            "checkpoint", exactly,
            f"{who} the mode is {mode or 'not told'}." if run else nobody,
            None if mode is None else mode == "exactly_once", "Set execution.checkpointing.mode to EXACTLY_ONCE.",
        ),
        *([_interval(run, contract.checkpoint_every, every)] if every and contract.checkpoint_every else []),
    )  # fmt: skip


def _interval(run: JobRun | None, promised: timedelta, term: str) -> Finding:
    action = "Set execution.checkpointing.interval as promised, or promise what is set."
    if run is None or run.checkpoint_interval_ms is None:
        return _finding("checkpoint", term, "Flink does not tell the interval of any run.", None, action)
    found = run.checkpoint_interval_ms * _MS
    return _finding(
        "checkpoint",
        term,
        f"Run {short_job(run.job_id)} is set to one every {span(found)}.",
        found <= promised,
        action,
    )


def _of_itself(contract: TableContract) -> tuple[Finding, ...]:
    """Promises that cannot hold together, whatever job and table do."""
    told = []
    for name, shorter, longer_name, longer in (
        ("checkpoint_every", contract.checkpoint_every, "commit_every", contract.commit_every),
        ("commit_every", contract.commit_every, "freshness", contract.freshness),
        ("checkpoint_every", contract.checkpoint_every, "freshness", contract.freshness),
    ):
        if shorter is not None and longer is not None and shorter > longer:
            told.append(
                _finding(
                    "table", f"{longer_name} can be kept with {name}.",
                    f"{name} is {span(shorter)}, longer than {longer_name}, {span(longer)}.",
                    False, f"A commit comes with a checkpoint: promise {longer_name} no shorter than {name}.",
                )
            )  # fmt: skip
    return tuple(told)


def _known(value: bool | None, yes: str, no: str) -> str:
    return "perhaps kept (not told)" if value is None else yes if value else no
