"""A snapshot is read by its columns' field ids: one that was added since is null, a renamed one has its new name."""

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from bot.domain.findings import GapsFinding, ReplayedRowsFinding
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of
from tests.evidence.test_extra_copies import found_by
from tests.tables import CONTRACT, OrdersTable, of_flink, rows

pytestmark = pytest.mark.slow

BY_PLACE = CONTRACT.model_copy(update={"position": "place"})
BY_LINE = CONTRACT.model_copy(update={"key": ("order_id", "line")})


def with_column(name: str, positions: range) -> pa.Table:
    """Rows that have the new column too, with the position in it."""
    return rows(positions).append_column(name, pa.array(list(positions), pa.int64()))


def commits_with(orders: OrdersTable, run: str, checkpoint: int, name: str, positions: range) -> None:
    """One checkpoint of a Flink run that fills the new column."""
    orders.appends(with_column(name, positions), of_flink(run, checkpoint, None))


def test_a_position_that_was_added_in_the_window_tells_of_later_rows_alone(orders: OrdersTable, asks: Asks) -> None:
    """Rows from before have none: whether they came again is not known, and is not called ruled out."""
    before = orders.commits("a", 1, range(50))
    orders.adds_column("place", LongType())
    commits_with(orders, "a", 2, "place", range(50, 70))

    fresh = asks("replayed_rows", orders.ask(before, contract=BY_PLACE))
    commits_with(orders, "b", 2, "place", range(60, 75))
    again = asks("replayed_rows", orders.ask(before, contract=BY_PLACE))

    assert fresh.verdict is Verdict.INCONCLUSIVE
    assert "Column place was added after the window begins" in fresh.headline
    assert isinstance(again.finding, ReplayedRowsFinding)
    assert (again.verdict, again.finding.replayed) == (Verdict.CONFIRMED, 10)


@pytest.mark.parametrize("window", ["only appends", "deletes too"])
def test_a_key_column_that_was_added_in_the_window_is_null_in_older_rows(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """Copies among the later rows are found; that there is none at all is not said."""
    before = orders.commits("a", 1, range(50))
    orders.adds_column("line", LongType())
    commits_with(orders, "a", 2, "line", range(40, 70))
    if window == "deletes too":
        orders.deletes("order_id < 5")

    fresh = [asks(task, orders.ask(before, contract=BY_LINE)) for task in ("duplicate_rows", "extra_copies")]
    commits_with(orders, "b", 2, "line", range(60, 75))
    again = [asks(task, orders.ask(before, contract=BY_LINE)) for task in ("duplicate_rows", "extra_copies")]

    assert [each.verdict for each in fresh] == [Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE]
    assert (duplicates_of(again[0]).keys, found_by(again[1]).rows) == (10, 10)


def test_a_key_column_that_was_added_after_the_last_commit_is_null_everywhere(orders: OrdersTable, asks: Asks) -> None:
    """The window's end has it not either."""
    before = orders.commits("a", 1, range(50))
    orders.commits("a", 2, range(45, 60))
    orders.adds_column("line", LongType())

    counted = asks("duplicate_rows", orders.ask(before, contract=BY_LINE))
    extra = asks("extra_copies", orders.ask(before, contract=BY_LINE))

    assert (duplicates_of(counted).keys, found_by(extra).rows) == (5, 5)


def test_a_position_that_was_renamed_after_the_last_commit_is_still_the_position(
    orders: OrdersTable, asks: Asks
) -> None:
    """Iceberg knows a pushed filter by the present name alone, and the snapshot by its old one."""
    before = orders.commits("a", 1, range(50))
    orders.commits("a", 2, range(60, 70))
    orders.renames_column("source_position", "place")

    answer = asks("missing_positions", orders.ask(before, contract=BY_PLACE))

    assert isinstance(answer.finding, GapsFinding)
    assert (answer.verdict, answer.finding.missing) == (Verdict.CONFIRMED, 10)


def test_two_columns_that_changed_names_are_not_mixed_up(orders: OrdersTable, asks: Asks) -> None:
    """Each is read by its field id: the present key was called otherwise when the window began."""
    before = orders.commits("a", 1, range(10), orders=range(100, 110))
    orders.commits("a", 2, range(100, 103), orders=range(200, 203))
    for old, new in (("order_id", "spare"), ("source_position", "order_id"), ("spare", "source_position")):
        orders.renames_column(old, new)
    contract = TableContract(key=("order_id",))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT
