"""Times in ORC files, which Spark's own reader fails over or tells otherwise, are not read by it."""

from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_updates_in_place import ask
from tests.format_3 import NAME, OrdersOfFormat3

pytestmark = pytest.mark.slow


@pytest.fixture
def orders(tmp_path: Path, writer: SparkSession) -> OrdersOfFormat3:
    """A table that writes ORC."""
    return OrdersOfFormat3(tmp_path, writer, **{"format-version": "2", "write.format.default": "orc"})


def has_no_zone(orders: OrdersOfFormat3) -> None:
    """The table is made anew, with event times of no zone."""
    orders.says(f"DROP TABLE {NAME}")
    columns = "order_id BIGINT, source_partition INT, source_position BIGINT, event_time TIMESTAMP_NTZ, customer STRING"
    properties = "'format-version' = '2', 'write.format.default' = 'orc'"
    orders.says(f"CREATE TABLE {NAME} ({columns}) USING iceberg TBLPROPERTIES ({properties})")


@pytest.mark.parametrize("zone", ["with a zone", "without"])
@pytest.mark.parametrize("task", ["late_rows", "replayed_rows"])
def test_times_that_spark_cannot_tell_are_not_compared(
    orders: OrdersOfFormat3, asks: Asks, task: str, zone: str
) -> None:
    """The answer says why, and what can be asked instead; no row is called late, and none called new."""
    if zone == "without":
        has_no_zone(orders)
    before = orders.commits("a", 1, range(20))
    orders.commits("b", 1, range(10, 30))

    with pytest.raises(EvidenceFailed, match="Spark's own ORC reader cannot tell the times"):
        asks(task, ask(orders, before))


def test_what_iceberg_reads_is_told_all_the_same(orders: OrdersOfFormat3, asks: Asks) -> None:
    """Copies are counted also where the window deletes; what it deleted behind its last row is left open."""
    before = orders.commits("a", 1, range(20))
    orders.commits("b", 1, range(10, 30))
    orders.deletes(28, 29)

    copies, missing = (asks(task, ask(orders, before)) for task in ("duplicate_rows", "missing_positions"))

    assert copies.finding.keys == 10
    assert missing.verdict is Verdict.INCONCLUSIVE
    assert "Spark's own ORC reader" in missing.could_not_look[0].reason


def test_whole_numbers_are_read_where_no_time_has_a_zone(orders: OrdersOfFormat3, asks: Asks) -> None:
    """Only the times are told otherwise."""
    has_no_zone(orders)
    before = orders.commits("a", 1, range(20))
    orders.commits("a", 2, range(20, 30))
    orders.deletes(28, 29)

    answer = asks("missing_positions", ask(orders, before))

    assert "brought behind the last live row were deleted or replaced in it (28 to 29)" in answer.headline
