"""Columns may have any name, also one that a task uses itself: the answers are those for plain names."""

from collections.abc import Mapping, Sequence

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from bot.domain.findings import CorrectedRowsFinding, ReplayedRowsFinding
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of
from tests.evidence.test_missing_positions import gaps_of
from tests.tables import ORDERS, OrdersTable, of_flink, rows

pytestmark = pytest.mark.slow

PLAIN = ("order_id", "source_partition", "source_position", "event_time")


class NamedTable:
    """`sales.orders`, made anew with other names, and with further columns."""

    def __init__(self, orders: OrdersTable, names: Mapping[str, str], further: Sequence[str]) -> None:
        self.orders, self._names, self._further = orders, names, further
        orders.catalog.drop_table(ORDERS)
        orders._table = orders.catalog.create_table(ORDERS, schema=self.rows(range(1)).schema)
        key, partition, position, event = (names.get(name, name) for name in PLAIN)
        self.contract = TableContract(
            key=(key,), position=position, position_partition=partition, event_time=event
        )  # fmt: skip

    def rows(self, positions: range) -> pa.Table:
        """One row per position."""
        made = rows(positions)
        made = made.rename_columns([self._names.get(name, name) for name in made.column_names])
        for name in self._further:
            made = made.append_column(name, pa.array(["v"] * made.num_rows))
        return made


@pytest.mark.parametrize(
    ("names", "further"),
    [
        ({}, ("name", "snapshot_id", "file_path", "_path", "_name", "at", "of", "partition", "position", "status")),
        pytest.param(
            dict(zip(PLAIN, ("name", "of", "snapshot_id", "latest"), strict=True)), (), marks=pytest.mark.long
        ),
        (dict(zip(PLAIN, ("file_path", "partition", "position", "at"), strict=True)), ()),
        (dict(zip(PLAIN, ("größe", "a b", "pos`x", "event time"), strict=True)), ("ß", "a.b")),
        ({}, ("ORDER_ID", "Source_Position", "Event_Time", "note", "NOTE")),
    ],
    ids=["beside", "of commits", "of files", "odd", "but for case"],
)
def test_what_came_again_and_what_is_gone_is_told_whatever_columns_are_called(
    orders: OrdersTable, asks: Asks, names: Mapping[str, str], further: Sequence[str]
) -> None:
    """Rows of the window's own files are read, older ones, and those that a delete left."""
    table = NamedTable(orders, names, further)
    orders.appends(table.rows(range(5)), of_flink("a", 1))
    before = orders.appends(table.rows(range(5, 10)), of_flink("a", 2))
    orders.appends(table.rows(range(10, 20)), of_flink("a", 3))
    orders.appends(table.rows(range(15, 25)), of_flink("b", 3))
    orders.deletes(EqualTo(table.contract.key[0], 7))
    ask = orders.ask(before, contract=table.contract)

    again, gone, copies, missing, late = (
        asks(task, ask)
        for task in ("replayed_rows", "corrected_rows", "duplicate_rows", "missing_positions", "late_rows")
    )

    assert isinstance(again.finding, ReplayedRowsFinding)
    assert (again.finding.replayed, again.finding.first, again.finding.last) == (5, 15, 19)
    assert isinstance(gone.finding, CorrectedRowsFinding)
    assert (gone.finding.keys, gone.finding.gone) == (0, 1)
    assert duplicates_of(copies).keys == 5
    assert [(gap.first, gap.last) for gap in gaps_of(missing).gaps] == [(7, 7)]
    assert late.verdict is Verdict.CONFIRMED
