"""What a table's data contract should say, from what was observed: each change with the reason that a reader checks.

A promise is never loosened because it was broken: an outage is mended, not promised. It is changed only where the
contract says something else than table or configuration do, or says nothing where the incident needed an answer.
"""

from collections.abc import Iterator, Sequence
from datetime import timedelta
from itertools import pairwise
from statistics import median
from typing import Annotated, Literal

from pydantic import Field

from bot.domain.contract import TableContract
from bot.domain.evidence import Observation
from bot.domain.record import Record
from bot.domain.schema_terms import ABSENT, contract_differences
from bot.domain.spans import span
from bot.domain.table import TableState

Part = Literal["position", "position_partition", "event_time"]
_MINUTE = timedelta(minutes=1)


class PromiseSpan(Record):
    """A service level that the contract does not name."""

    kind: Literal["span"] = "span"
    of: Literal["commit_every", "checkpoint_every", "keep_snapshots"]
    takes: timedelta
    why: str


class PromiseKey(Record):
    """The columns that together name one business fact."""

    kind: Literal["key"] = "key"
    columns: tuple[str, ...]
    why: str


class PromisePart(Record):
    """Which column has a part that evidence relies on."""

    kind: Literal["part"] = "part"
    part: Part
    column: str
    why: str


class PromiseType(Record):
    """A promised column has another type in the table."""

    kind: Literal["type"] = "type"
    column: str
    type: str
    why: str


class PromiseColumn(Record):
    """A column of the table that the contract does not describe."""

    kind: Literal["column"] = "column"
    column: str
    type: str
    required: bool
    why: str


ContractChange = Annotated[
    PromiseSpan | PromiseKey | PromisePart | PromiseType | PromiseColumn, Field(discriminator="kind")
]


def contract_changes(
    observation: Observation, filed: TableContract, effective: TableContract
) -> tuple[ContractChange, ...]:
    """`filed` is what the file says alone; `effective` is what evidence went by: the configuration wins over it."""
    return (
        *_of_the_schema(observation.table, filed),
        *_of_the_configuration(filed, effective),
        *_of_time(observation, filed, effective),
    )


def _of_the_schema(table: TableState, filed: TableContract) -> Iterator[ContractChange]:
    if not filed.columns:
        return
    for apart in contract_differences(table.columns, filed):
        if apart.found != ABSENT:
            why = f"The table has {apart.column} as {apart.found}; the contract promises {apart.expected}."
            yield PromiseType(column=apart.column, type=apart.found, why=why)
    described = {column.name for column in filed.columns}
    for column in table.columns:
        if column.name not in described:
            why = f"The table has a column {column.name} that the contract does not describe."
            yield PromiseColumn(column=column.name, type=column.type, required=column.is_required, why=why)


def _of_the_configuration(filed: TableContract, effective: TableContract) -> Iterator[ContractChange]:
    if effective.key and effective.key != filed.key:
        why = "Duplicates are counted by this key, which only Waterline's configuration names."
        yield PromiseKey(columns=effective.key, why=why)
    parts: Sequence[tuple[Part, str]] = (
        ("position", "gaps"),
        ("position_partition", "gaps"),
        ("event_time", "late rows"),
    )
    for part, told in parts:
        column = getattr(effective, part)
        if column is not None and getattr(filed, part) != column:
            words = part.replace("_", " ")
            why = f"Evidence tells {told} by {column}; only Waterline's configuration says that it is the {words}."
            yield PromisePart(part=part, column=column, why=why)


def _of_time(observation: Observation, filed: TableContract, effective: TableContract) -> Iterator[ContractChange]:
    commits = effective.commit_every or _usual_pause(observation.table)
    if filed.commit_every is None and commits is not None:
        why = f"Commits come about every {span(commits)}; without a promise nobody can call a pause too long."
        yield PromiseSpan(of="commit_every", takes=commits, why=why)
    set_to = [run for run in observation.jobs.values if run.checkpoint_interval_ms]
    newest = max(set_to, key=lambda run: run.started_at, default=None)
    if filed.checkpoint_every is None and newest is not None and newest.checkpoint_interval_ms is not None:
        interval = timedelta(milliseconds=newest.checkpoint_interval_ms)
        why = f"The job takes a checkpoint every {span(interval)}; the contract does not say so."
        yield PromiseSpan(of="checkpoint_every", takes=interval, why=why)
    if filed.keep_snapshots is None and effective.keep_snapshots is not None:
        why = "Only Waterline's configuration says how long consumers and recovery can go back."
        yield PromiseSpan(of="keep_snapshots", takes=effective.keep_snapshots, why=why)


def _usual_pause(table: TableState) -> timedelta | None:
    """The median pause between commits of main, in whole minutes above one; None of fewer than four commits."""
    times = [snapshot.committed_at for snapshot in reversed(table.chain)]
    pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    if len(pauses) < 3:
        return None
    usual = timedelta(seconds=max(1, round(median(pauses))))
    return usual if usual < _MINUTE else _MINUTE * -(-usual // _MINUTE)
