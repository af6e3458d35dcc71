"""What to add to a table's data contract, as YAML of the Open Data Contract Standard to paste, each line with why.

No promise is loosened because it broke: only what table or configuration say, and the contract does not.
"""

import json
from collections.abc import Iterator
from datetime import timedelta
from itertools import pairwise
from statistics import median

from bot.domain.contract import TableContract
from bot.domain.evidence import Observation
from bot.domain.schema_terms import ABSENT, contract_differences
from bot.domain.table import TableState

_MINUTE = timedelta(minutes=1)


def contract_snippet(observation: Observation, filed: TableContract, effective: TableContract) -> str | None:
    """`filed`: what the file says; `effective`: with the configuration, which wins. None: nothing to add."""
    table = json.dumps(observation.table.name)
    columns, whole = [*_columns(observation.table, filed, effective)], [*_of_job(observation, filed)]
    levels = [
        f"- {{property: {name}, value: {round(takes.total_seconds())}, unit: s, element: {table}}}  # {why}"
        for name, takes, why in _levels(observation.table, filed, effective)
    ]
    lines = ["schema:", f"- physicalName: {table}"] if columns or whole else []
    lines += ["  customProperties:", *whole] if whole else []
    lines += ["  properties:", *columns] if columns else []
    return "\n".join([*lines, *(["slaProperties:", *levels] if levels else [])]) or None


def _columns(table: TableState, filed: TableContract, effective: TableContract) -> Iterator[str]:
    """One line a column of which the contract says too little or something else."""
    described = {column.name for column in filed.columns}
    apart = {each.column: each for each in contract_differences(table.columns, filed) if each.found != ABSENT}
    key = effective.key if effective.key != filed.key else ()
    parts = {
        getattr(effective, part): name
        for part, name in (
            ("position", "sourcePosition"), ("position_partition", "sourcePartition"), ("event_time", "eventTime")
        )
        if getattr(effective, part) not in (None, getattr(filed, part))
    }  # fmt: skip
    for column in table.columns:
        said, why = [f"name: {json.dumps(column.name)}"], []
        if column.name in apart or (filed.columns and column.name not in described):
            is_new = column.name not in apart
            physical = "timestamp_ntz" if column.type == "timestamp" else column.type
            said += [
                f"physicalType: {json.dumps(physical)}",
                *(["required: true"] if is_new and column.is_required else []),
            ]
            why.append("not described" if is_new else f"the contract promises {apart[column.name].expected}")
        if column.name in key:
            said += ["primaryKey: true", f"primaryKeyPosition: {key.index(column.name) + 1}"]
            why.append("the configuration counts duplicates by this key")
        if column.name in parts:
            said.append(f"customProperties: [{{property: {parts[column.name]}, value: true}}]")
            why.append("the configuration says so")
        if why:
            yield f"  - {{{', '.join(said)}}}  # {'; '.join(why)}"


def _of_job(observation: Observation, filed: TableContract) -> Iterator[str]:
    set_to = [run for run in observation.jobs.values if run.checkpoint_interval_ms]
    newest = max(set_to, key=lambda run: run.started_at, default=None)
    if filed.checkpoint_every is None and newest is not None and newest.checkpoint_interval_ms is not None:
        every = newest.checkpoint_interval_ms / 1000
        yield f"  - {{property: checkpointEvery, value: PT{every:g}S}}  # as the job is set"


def _levels(table: TableState, filed: TableContract, effective: TableContract) -> Iterator[tuple[str, timedelta, str]]:
    commits = effective.commit_every or _usual_pause(table)
    if filed.commit_every is None and commits is not None:
        yield "frequency", commits, "commits come about so often"
    if filed.keep_snapshots is None and effective.keep_snapshots is not None:
        yield "retention", effective.keep_snapshots, "the configuration promises it"


def _usual_pause(table: TableState) -> timedelta | None:
    """The median pause between commits of main, in whole minutes above one; None of fewer than four commits."""
    times = [snapshot.committed_at for snapshot in reversed(table.chain)]
    pauses = [(later - earlier).total_seconds() for earlier, later in pairwise(times)]
    if len(pauses) < 3:
        return None
    usual = timedelta(seconds=max(1, round(median(pauses))))
    return usual if usual < _MINUTE else _MINUTE * -(-usual // _MINUTE)
