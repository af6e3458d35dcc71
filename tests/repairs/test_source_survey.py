"""What the source has within bounds, beside what the table has: what counts as the same row, and what is settled."""

from datetime import UTC, datetime, timedelta

import pytest
from pyspark.sql import SparkSession

from bot.domain.contract import HIDDEN, CopyRule, TableContract
from bot.domain.replay import PartitionBound, PositionRange, ReplayRange, ReplayRecipe, SourceSurvey
from spark_tasks._source_survey import survey
from tests.repairs.recipes import declared
from tests.tables import CONTRACT, OrdersTable, rows

pytestmark = pytest.mark.slow

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")
MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)
FIRST_MINUTE = ReplayRange(event_from=MIDNIGHT, event_until=MIDNIGHT + timedelta(minutes=1))


def surveyed(
    spark: SparkSession,
    orders: OrdersTable,
    bounds: ReplayRange,
    contract: TableContract = CONTRACT,
    *,
    recipe: ReplayRecipe | None = None,
    copies: CopyRule | None = None,
) -> SourceSurvey:
    """At the head."""
    return survey(spark, orders.state(), orders.head, recipe or declared(), bounds, contract, copies or CopyRule())


def test_without_positions_young_events_are_left_to_the_job(spark: SparkSession, orders: OrdersTable) -> None:
    """Newest event at second 59, settled after 30 s: of the missing seconds 20 to 39, those from 29 on are not."""
    orders.commits("a", 1, [*range(20), *range(40, 60)])
    recipe = declared().model_copy(update={"settled_after": timedelta(seconds=30)})

    found = surveyed(spark, orders, FIRST_MINUTE, BY_TIME, recipe=recipe)

    assert (found.given, found.absent, found.unsettled, found.places) == (60, 20, 11, 0)
    assert (found.event_from, found.event_until) == (
        MIDNIGHT + timedelta(seconds=20), MIDNIGHT + timedelta(seconds=39),
    )  # fmt: skip


def test_each_source_partition_has_a_newest_position_of_its_own(spark: SparkSession, orders: OrdersTable) -> None:
    """Partition 1 is far ahead; what partition 0 lacks above its own newest may still come."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(500, 600), partition=1)
    bounds = ReplayRange(positions=(PositionRange(first=5, last=14, partition="0"),))

    found = surveyed(spark, orders, bounds, BY_PARTITION)

    assert (found.given, found.places, found.absent, found.unsettled) == (10, 10, 5, 5)


def test_a_partition_by_a_column_as_it_is(spark: SparkSession, orders: OrdersTable) -> None:
    """The value is compared in the column's type; a quote in one is no more than a value."""
    orders.commits("a", 1, [*range(5), *range(7, 10)])
    orders.commits("a", 2, range(20, 30), partition=1)
    here = PartitionBound(field="source", value="0", column="source_partition", equals="0")
    quoted = PartitionBound(field="customer", value="' OR 1=1", column="customer", equals="' OR 1=1")

    found = surveyed(spark, orders, ReplayRange(partitions=(here,)), recipe=declared("range(0, 10)"))
    nothing = surveyed(spark, orders, ReplayRange(partitions=(here, quoted)), recipe=declared("range(0, 10)"))

    assert (found.given, found.absent, found.differing, found.not_given) == (10, 2, 0, 0)
    assert nothing.given == 0


def test_columns_that_each_writing_sets_anew_make_no_difference(spark: SparkSession, orders: OrdersTable) -> None:
    """As the owners have declared; and a hidden key is not named."""
    orders.commits("a", 1, range(10))
    orders.appends(rows([10, 11]).set_column(4, "customer", [["x", None]]))
    bounds = ReplayRange(positions=(PositionRange(first=8, last=11),))
    hiding = CONTRACT.model_copy(update={"redacted": ("order_id",)})

    as_it_is = surveyed(spark, orders, bounds, hiding)
    ignoring = surveyed(spark, orders, bounds, copies=CopyRule(ignore=("customer",)))

    assert (as_it_is.absent, as_it_is.differing, as_it_is.differing_keys) == (0, 2, ((HIDDEN,), (HIDDEN,)))
    assert (ignoring.absent, ignoring.differing, ignoring.differing_keys) == (0, 0, ())
