"""Partitions of a table as people type them, `event_day=2026-11-03/region=eu`, as conditions on columns.

Every partition spec that the table ever had will do, because a condition on the column holds for rows of all of them.
A value is written as in paths: a blank is `%20`, a slash `%2F`.
"""

import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from urllib.parse import unquote

from bot.domain.contract import TableContract
from bot.domain.errors import Refused
from bot.domain.replay import PartitionBound
from bot.domain.table import PartitionField, TableState

_TIMES = {"year": "%Y", "month": "%Y-%m", "day": "%Y-%m-%d", "hour": "%Y-%m-%d-%H"}
_HOW = "Choose positions or event times instead."


def partition_bounds(typed: str, contract: TableContract, table: TableState) -> tuple[PartitionBound, ...]:
    """One condition a field that is named. Raises Refused for a field that is not there or is hidden, a value that is
    none of it, and a transform that is no condition on its column (bucket, truncate)."""
    return tuple(_bound(each, contract, table) for each in typed.split("/") if each)


def _bound(typed: str, contract: TableContract, table: TableState) -> PartitionBound:
    name, _, written = typed.partition("=")
    value = unquote(written)
    columns = {each.name for each in table.columns}
    fields = (field for of_spec in table.spec_fields.values() for field in of_spec)
    known = {field.name: field for field in fields if field.column in columns}
    field = known.get(name) or next((each for each in known.values() if each.words == name), None)
    if field is None or not value:
        raise Refused(
            f"“{contract.veiled(typed)}” is not a partition of {table.name}.",
            f"Expected a partition field and its value; it has {', '.join(sorted(known)) or 'no partitions'}.",
            "Write it as `partition=event_day=2026-11-03`; several fields with / between them.",
        )
    if contract.hides(field.column) or contract.hides(field.name):
        raise Refused(
            f"A replay cannot be bounded by {field.name}: its values are never shown.",
            "Expected bounds that an approver can read.",
            _HOW,
        )
    if field.transform in _TIMES:
        first, end = _times(field, value)
        return PartitionBound(field=field.name, value=value, column=field.column, time_from=first, time_until=end)
    if field.transform != "identity" or _bare(field.type) not in _READ:
        raise Refused(
            f"A replay cannot be bounded by {field.name}: {field.words} is no condition on its column.",
            "Expected a column as it is (whole number, decimal, text, date, boolean), or its year, month, day or hour.",
            _HOW,
        )
    try:
        equals = str(_READ[_bare(field.type)](value))
    except (ValueError, ArithmeticError, KeyError):
        raise _no_value(field, value, f"a value of type {field.type}") from None
    return PartitionBound(field=field.name, value=value, column=field.column, equals=equals)


def _times(field: PartitionField, value: str) -> tuple[datetime, datetime]:
    form = _TIMES[field.transform]
    try:
        first = datetime.strptime(value, form).replace(tzinfo=UTC)
    except ValueError:
        raise _no_value(field, value, f"one like {datetime(2026, 11, 3, 12, tzinfo=UTC):{form}}") from None
    try:
        return first, _end(field.transform, first)
    except (ValueError, OverflowError):
        raise _no_value(field, value, "one that ends before the year 10000") from None


def _end(transform: str, first: datetime) -> datetime:
    """Exclusive. ValueError or OverflowError where no datetime is so late."""
    match transform:
        case "year":
            return first.replace(year=first.year + 1)
        case "month":
            return (first + timedelta(days=31)).replace(day=1)
        case "day":
            return first + timedelta(days=1)
        case _:
            return first + timedelta(hours=1)


def _no_value(field: PartitionField, value: str, expected: str) -> Refused:
    return Refused(
        f"“{value}” is not a value of {field.name}.", f"Expected {expected}, in UTC where it is a time.", "Correct it."
    )


_READ: dict[str, Callable[[str], object]] = {
    "int": int,
    "long": int,
    "decimal": Decimal,
    "date": date.fromisoformat,
    "string": str,
    "boolean": {"true": True, "false": False}.__getitem__,
}
"""Iceberg type -> what reads a value of it."""


def _bare(kind: str) -> str:
    return re.split(r"[\[(]", kind, maxsplit=1)[0]
