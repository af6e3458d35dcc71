"""Columns of which files state bounds that are whole numbers."""

from bot.domain.contract import TableContract
from bot.domain.table import Column as TableColumn
from bot.domain.table import TableState

_WHOLE = frozenset({"int", "long"})
_TIMES = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "date"})
NULLS = {"null_value_counts": "array<struct<key: int, value: bigint>>"}
"""A field of data files: name -> type."""


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
