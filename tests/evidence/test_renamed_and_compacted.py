"""A position that was renamed, or replaced by another of its name, after a compaction is told by its field id."""

import pyarrow as pa
import pytest
from pyiceberg.types import LongType

from bot.domain.evidence import Verdict
from bot.domain.findings import PositionGap
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import gaps_of
from tests.tables import CONTRACT, ORDERS, OrdersTable, of_flink, rows

pytestmark = pytest.mark.slow

RENAMED = CONTRACT.model_copy(update={"position": "place"})


def with_places(positions: range) -> pa.Table:
    """Rows as they are written since the position was renamed."""
    made = rows(positions)
    return made.rename_columns(["place" if name == "source_position" else name for name in made.column_names])


def test_a_hole_in_what_was_compacted_shows_after_a_renaming(orders: OrdersTable, asks: Asks) -> None:
    """The compacted files hold the column under its old name, and no row of theirs is without a position."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(12, 20))
    orders.compacts(orders.live())
    orders.renames_column("source_position", "place")
    orders.appends(with_places(range(20, 25)), of_flink("a", 3))
    orders.deletes("place == 24")

    answer = asks("missing_positions", orders.ask(before, contract=RENAMED))

    assert gaps_of(answer).gaps == (PositionGap(first=10, last=11, partition=None),)
    assert not any("null" in each.reason for each in answer.could_not_look)


def test_what_was_compacted_under_another_column_of_the_name_is_not_missing(orders: OrdersTable, asks: Asks) -> None:
    """The position was dropped and added anew: rows from before have none, and nobody knows of theirs."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 15))
    orders.compacts(orders.live())
    table = orders.catalog.load_table(ORDERS)
    table.update_schema().delete_column("source_position").commit()
    table.update_schema().add_column("source_position", LongType()).commit()
    order = ["order_id", "source_partition", "event_time", "customer", "source_position"]
    orders.appends(rows(range(18, 20)).select(order), of_flink("a", 3))
    orders.deletes("order_id == 19")

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding is None
