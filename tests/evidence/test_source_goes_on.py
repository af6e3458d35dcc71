"""Where a restore lets the Kafka source go on, and whether that fits the table state that pairs with it."""

import pytest

from bot.domain.flink import SourcePosition, StoredCheckpoint
from tests.evidence.conftest import Asks
from tests.evidence.restore_points import stored
from tests.evidence.test_recovery_extent import SOURCE, asked, points_of
from tests.tables import CONTRACT, OrdersTable, job


def reading_on(point: StoredCheckpoint, *following: int) -> StoredCheckpoint:
    """The same with a topic of so many partitions, which goes on there."""
    told = tuple(
        SourcePosition(operator_id=SOURCE, topic="orders", partition=number, following=offset)
        for number, offset in enumerate(following)
    )
    return point.model_copy(update={"source_positions": told})


def test_what_the_source_reads_next_is_told(orders: OrdersTable, asks: Asks) -> None:
    """In the headline, in the row, and where it is said what must still be in the source."""
    good = orders.commits("a", 2, range(160))
    orders.commits("a", 3, range(160, 200))
    point = reading_on(stored(job("a"), 2, owes=()), 160)

    answer = asks("recovery_extent", asked(orders.ask(good, checkpoints=[point])))

    [reach] = points_of(answer)
    assert reach.source_positions == point.source_positions
    assert "and lets its source go on with orders/0 at offset 160; 40 rows" in answer.headline
    assert "orders/0 at offset 160" in answer.rows[0]
    assert reach.cannot == (
        "Records from orders/0 at offset 160 on come back only if the source still holds them; that cannot be seen "
        "from here.",
    )


@pytest.mark.parametrize(
    ("following", "said"),
    [
        (150, "but its table state already holds position 159"),
        (165, "5 records between them made no row"),
        (160, ""),
        (-2, ""),
    ],
    ids=["behind", "ahead", "next", "not-begun"],
)
def test_an_offset_that_does_not_follow_on_the_table_is_said(
    orders: OrdersTable, asks: Asks, following: int, said: str
) -> None:
    """Behind the table: the same rows twice. Ahead: filtered, or lost."""
    good = orders.commits("a", 2, range(160))
    point = reading_on(stored(job("a"), 2, owes=()), following)

    [reach] = points_of(asks("recovery_extent", asked(orders.ask(good, checkpoints=[point]))))

    assert [each for each in reach.cannot if "Its source goes on" in each] == [
        each for each in reach.cannot if said and said in each
    ]
    assert any(said in each for each in reach.cannot) is bool(said)


def test_of_many_partitions_the_first_are_named(orders: OrdersTable, asks: Asks) -> None:
    """They are compared with nothing: the table's highest position is of all partitions together."""
    good = orders.commits("a", 2, range(160))
    point = reading_on(stored(job("a"), 2, owes=()), *range(6))

    [row] = asks("recovery_extent", asked(orders.ask(good, checkpoints=[point]))).rows

    assert "orders/0 at offset 0, orders/1 at offset 1, orders/2 at offset 2, orders/3 at offset 3 and 2 more" in row
    assert "nothing that is known" in row


def test_offsets_are_hidden_with_the_column_that_holds_them(orders: OrdersTable, asks: Asks) -> None:
    """A contract that hides the position hides where its source goes on."""
    good = orders.commits("a", 2, range(160))
    orders.commits("a", 3, range(160, 200))
    point = reading_on(stored(job("a"), 2, owes=()), 157)
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("recovery_extent", asked(orders.ask(good, checkpoints=[point]), contract=hidden))

    words = " ".join([answer.headline, *(cell for row in answer.rows for cell in row)])
    assert "orders/0 at offset •••" in words
    assert "157" not in words
