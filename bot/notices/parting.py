"""In which partitions the rows of wrong commits lie: as their manifests name them, or by event time. Pure.

Where one commit was not looked at, a field is told as not known: half of the partitions would leave the others wrong.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import NamedTuple

from bot.domain.contract import HIDDEN, TableContract
from bot.domain.ids import SnapshotId
from bot.domain.ledger import LedgerRow
from bot.domain.table import MOST_PARTITIONS, Snapshot, TableState, TouchedPartitions, transform_and_column
from bot.notices.whereabouts import Events, changes_rows

_FORMATS = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
"""As engines show such partitions."""
_NUMBER = re.compile(r"-?\d+")


class Partitions(NamedTuple):
    """In words."""

    known: tuple[str, ...]
    """As `day(event_time) 2026-11-02 to 2026-11-03`, `region EU, NA`; values of hidden columns are •••."""
    untold: tuple[str, ...]
    """Fields of the partitioning of which it is not known."""


def partitions_of(
    table: TableState,
    commits: Iterable[Snapshot],
    rows: Mapping[SnapshotId, LedgerRow],
    contract: TableContract,
    events: Events,
) -> Partitions:
    """Of everything that these commits added or took away. `rows`: what a ledger saw of them."""
    changed = [rows.get(commit.snapshot_id) for commit in commits if changes_rows(commit, rows.get(commit.snapshot_id))]
    specs = {spec for row in changed if row is not None for spec in row.spec_ids}
    by_spec = [table.specs.get(spec, ()) for spec in sorted(specs)] or [table.partitioning]
    known: list[str] = []
    untold: list[str] = []
    for field in dict.fromkeys(field for spec in by_spec for field in spec):
        if transform_and_column(field)[0] == "void":
            continue
        told = _told(field, table, changed, contract) or _by_time(field, contract, events)
        (untold if told is None else known).append(told or field)
    return Partitions(tuple(known), tuple(untold))


def _told(field: str, table: TableState, changed: Sequence[LedgerRow | None], contract: TableContract) -> str | None:
    """None where not every commit's partitions were looked at."""
    if any(contract.hides(name) for name in _names(field, table)):
        return f"{field} {HIDDEN}"
    touched = [_by(field, row) for row in changed]
    if not touched or None in touched:
        return None
    found = [each for each in touched if each is not None]
    values = {value for each in found for value in each.values}
    more = max(each.more for each in found)
    if more and transform_and_column(field)[0] in _FORMATS:
        return None  # a list that ends somewhere says less than the range of the event times
    return f"{field} {_listed(transform_and_column(field)[0], values, more)}"


def _names(field: str, table: TableState) -> set[str]:
    """Of the column, and of the field in every spec that has it."""
    named = {each.name for fields in table.spec_fields.values() for each in fields if each.words == field}
    return {transform_and_column(field)[1], *named}


def _by(field: str, row: LedgerRow | None) -> TouchedPartitions | None:
    return next((each for each in row.partitions if each.field == field), None) if row is not None else None


def _listed(transform: str, values: set[str], more: int) -> str:
    """`2026-11-02 to 2026-11-03, 2026-11-07`; `EU, NA and 3 more`."""
    runs: list[list[str]] = []
    for value in sorted(values, key=_place):
        if runs and transform in _FORMATS and _follows(transform, runs[-1][-1], value):
            runs[-1].append(value)
        else:
            runs.append([value])
    told = [run[0] if len(run) == 1 else f"{run[0]} to {run[-1]}" for run in runs]
    left = sum(len(run) for run in runs[MOST_PARTITIONS:])
    unlisted = f" and {'at least ' if more else ''}{left + more} more" if left + more else ""
    return ", ".join(told[:MOST_PARTITIONS]) + unlisted


def _place(value: str) -> tuple[bool, int, str]:
    """Numbers by their size, before texts; as times are written, they are in order."""
    is_number = _NUMBER.fullmatch(value) is not None
    return (not is_number, int(value) if is_number else 0, value)


def _follows(transform: str, first: str, then: str) -> bool:
    numbers = [_number(transform, value) for value in (first, then)]
    return None not in numbers and numbers[0] == (numbers[1] or 0) - 1


def _number(transform: str, value: str) -> int | None:
    """Of years, months, days or hours; None for what is no such time."""
    try:
        at = datetime.strptime(value, _FORMATS[transform]).replace(tzinfo=UTC)
    except ValueError:
        return None
    days = at.toordinal()
    return {"year": at.year, "month": at.year * 12 + at.month, "day": days, "hour": days * 24 + at.hour}[transform]


def _by_time(field: str, contract: TableContract, events: Events) -> str | None:
    transform, column = transform_and_column(field)
    if transform not in _FORMATS or events.since is None or events.until is None or events.untold:
        return None
    if contract.event_time is None or column.casefold() != contract.event_time.casefold():
        return None
    first, last = (f"{each:{_FORMATS[transform]}}" for each in (events.since, events.until))
    return f"{field} {first}" if first == last else f"{field} {first} to {last}"
