"""What the contract promises in figures, against how job and table are set and what they did; and against itself.

A term that the contract does not promise is left out: it is no term.
"""

from datetime import timedelta
from typing import Literal

from bot.domain.contract import TableContract
from bot.domain.entries import Finding
from bot.domain.evidence import Observation
from bot.domain.flink import JobRun
from bot.domain.ids import short, short_job
from bot.domain.looked import NotSeen
from bot.domain.schema_terms import contract_differences
from bot.domain.table import TableState

_NOTHING = "Nothing to do."
_MAX_AGE = "history.expire.max-snapshot-age-ms"
_DEFAULT_MAX_AGE = timedelta(days=5)
_MS = timedelta(milliseconds=1)


def promised_terms(observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    """State, checkpoint and table terms in this order."""
    return (*_of_the_job(observation, contract), *_of_the_table(observation.table, contract), *_of_itself(contract))


def _finding(
    of: Literal["state", "checkpoint", "table"], term: str, observed: str, holds: bool | None, action: str
) -> Finding:
    return Finding(contract=of, term=term, observed=observed, holds=holds, action=_NOTHING if holds else action)


def _of_the_job(observation: Observation, contract: TableContract) -> tuple[Finding, ...]:
    survives, exactly = "State outlives a run that is cancelled.", "Checkpoints are exactly-once."
    every = None if contract.checkpoint_every is None else f"A checkpoint every {_span(contract.checkpoint_every)}."
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
        f"Run {short_job(run.job_id)} is set to one every {_span(found)}.",
        found <= promised,
        action,
    )


def _of_the_table(table: TableState, contract: TableContract) -> tuple[Finding, ...]:
    found = []
    if contract.columns:
        apart = contract_differences(table.columns, contract)
        told = "; ".join(f"{each.column}: promised {each.expected}, found {each.found}" for each in apart[:4])
        found.append(
            _finding(
                "table", "The table has every promised column.",
                f"{told}." if apart else "Each is there in the promised type.",
                not apart, "Bring the table's schema and the contract together.",
            )
        )  # fmt: skip
    if contract.keep_snapshots is not None:
        found.append(_retention(table, contract.keep_snapshots))
    return tuple(found)


def _retention(table: TableState, promised: timedelta) -> Finding:
    """By what expiry has left, and by what the table lets it take."""
    term = f"Snapshots stay readable for {_span(promised)}."
    written = table.properties.get(_MAX_AGE, "")
    allowed = int(written) * _MS if written.isdigit() else _DEFAULT_MAX_AGE
    action = f"Set {_MAX_AGE} to at least the promised time, and let maintenance obey it."
    oldest = table.chain[-1] if table.chain else None
    if oldest is not None and oldest.parent_id is not None and table.read_at - oldest.committed_at < promised:
        age = _span(table.read_at - oldest.committed_at)
        gone = f"The oldest listed commit, {short(oldest.snapshot_id)}, is {age} old, and those before it were expired."
        return _finding("table", term, gone, False, action)
    by = "as the table sets" if written else "Iceberg's own default"
    return _finding(
        "table", term, f"Expiry may take what is older than {_span(allowed)} ({by}).", allowed >= promised, action
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
                    f"{name} is {_span(shorter)}, longer than {longer_name}, {_span(longer)}.",
                    False, f"A commit comes with a checkpoint: promise {longer_name} no shorter than {name}.",
                )
            )  # fmt: skip
    return tuple(told)


def _known(value: bool | None, yes: str, no: str) -> str:
    return "perhaps kept (not told)" if value is None else yes if value else no


def _span(span: timedelta) -> str:
    seconds = span.total_seconds()
    for size, unit in ((86_400, "d"), (3600, "h"), (60, "min")):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds:g} s"
