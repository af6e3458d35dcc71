"""Bounds of a file's columns, as Iceberg stores them, turned into whole numbers by Spark."""

from collections.abc import Mapping

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.table import Column as TableColumn
from bot.domain.table import TableState

_WHOLE = frozenset({"int", "long"})
_TIMES = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "date"})
NULLS = {"null_value_counts": "array<struct<key: int, value: bigint>>"}
"""A field of data files: name -> type."""
_EDGES = {"from": "lower_bounds", "until": "upper_bounds"}
_INT_DIGITS, _LONG_DIGITS = 8, 16
_INT_SIGN = 1 << 31
_LOW_DIGITS = 0x0F0F_0F0F_0F0F_0F0F


def range_columns(table: TableState, contract: TableContract) -> tuple[TableColumn | None, TableColumn | None]:
    """(event time, position) as the contract names them, where their type has bounds that are whole numbers and
    their values may be shown."""
    event, position = whole_columns(table, contract)
    return (
        event if event is not None and not contract.hides(event.name) else None,
        position if position is not None and not contract.hides(position.name) else None,
    )


def whole_columns(table: TableState, contract: TableContract) -> tuple[TableColumn | None, TableColumn | None]:
    """The same, hidden ones too: for what is compared and never shown."""
    by_name = {column.name: column for column in table.columns}
    event = by_name.get(contract.event_time) if contract.event_time else None
    position = by_name.get(contract.position) if contract.position else None
    return (
        event if event is not None and event.type in _TIMES else None,
        position if position is not None and position.type in _WHOLE else None,
    )


def with_bounds(read: DataFrame, columns: Mapping[str, TableColumn | None]) -> DataFrame:
    """`read` (entries with bounds) and NAME_from and NAME_until (bigint) for each of `columns`.

    A bound is little-endian two's complement of four or eight bytes (Iceberg spec, appendix D); a file older than the
    promotion of its column to long keeps four. Null without a column, or where none is stated.

    In steps, each of which names a value once: an expression that repeats it is planned and compiled as often.
    """
    ids = {name: column.field_id if column is not None else None for name, column in columns.items()}
    bounds = {f"{name}_{end}": stored(edge, ids[name]) for name in columns for end, edge in _EDGES.items()}
    steps = read.withColumns(bounds)
    steps = steps.withColumns({f"{name}_digits": F.length(name) for name in bounds})
    steps = steps.withColumns({name: F.conv(F.reverse(name), 16, -10).cast("bigint") for name in bounds})
    steps = steps.withColumns({name: _in_order(name) for name in bounds})
    return steps.withColumns({name: _signed(name) for name in bounds}).drop(*(f"{name}_digits" for name in bounds))


def stored(edge: str, field_id: int | None) -> Column:
    """A bound as stored, in hexadecimal digits; null where none is stated."""
    if field_id is None:
        return F.lit(None).cast("string")
    return F.hex(F.get(F.filter(edge, lambda entry: entry["key"] == field_id), F.lit(0))["value"])


def _in_order(name: str) -> Column:
    """Reversed digits put the last byte first, and also the two digits of each byte: these are changed back."""
    low = F.col(name).bitwiseAND(F.lit(_LOW_DIGITS))
    high = F.shiftrightunsigned(name, 4).bitwiseAND(F.lit(_LOW_DIGITS))
    return F.shiftleft(low, 4).bitwiseOR(high)


def _signed(name: str) -> Column:
    digits = F.col(f"{name}_digits")
    of_four = F.col(name).bitwiseXOR(F.lit(_INT_SIGN)) - F.lit(_INT_SIGN)
    return F.when(digits == _LONG_DIGITS, F.col(name)).when(digits == _INT_DIGITS, of_four)
