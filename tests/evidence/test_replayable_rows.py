"""What the declared source gives of what is missing, and what it does not."""

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import ReplayableFinding
from bot.domain.replay import PositionRange, ReplayRecipe
from tests.evidence.conftest import Asks
from tests.repairs.recipes import declared
from tests.tables import CONTRACT, OrdersTable, rows
from tests.upserts import upserts

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")


@pytest.fixture
def by_key(tmp_path: Path) -> Iterator[OrdersTable]:
    """An empty `sales.orders` into which a job writes by key."""
    table = OrdersTable(tmp_path, {"write.upsert.enabled": "true"})
    yield table
    table.close()


def found_by(answer: Answer) -> ReplayableFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ReplayableFinding)
    return answer.finding


def asking(orders: OrdersTable, recipe: ReplayRecipe | None, contract: TableContract = CONTRACT) -> Ask:
    """About the whole table."""
    return orders.ask(None, contract=contract).model_copy(update={"replay": recipe})


def test_the_source_is_asked_for_the_missing_positions_and_no_more(orders: OrdersTable, asks: Asks) -> None:
    """Two gaps; the source gives the first whole and half of the second."""
    for checkpoint, positions in enumerate((range(10), range(15, 20), range(30, 40))):
        orders.commits("a", checkpoint, positions)

    answer = asks("replayable_rows", asking(orders, declared("range(0, 25)"), BY_PARTITION))

    found = found_by(answer)
    assert found.bounds.positions == (
        PositionRange(first=10, last=14, partition="0"),
        PositionRange(first=20, last=29, partition="0"),
    )
    assert (found.missing, found.given, found.absent, found.not_given, found.elsewhere) == (15, 10, 10, 5, 0)
    assert found.event_from == datetime(2026, 11, 3, 0, 0, 10, tzinfo=UTC)
    assert answer.verdict is Verdict.CONFIRMED
    assert "a replay would write 10 rows; 5 positions it no longer gives" in answer.headline


def test_without_a_hole_the_source_is_not_asked(orders: OrdersTable, asks: Asks) -> None:
    """A source that cannot be read does no harm where nothing is missing."""
    orders.commits("a", 1, range(10))

    answer = asks("replayable_rows", asking(orders, declared("nowhere")))

    assert answer.verdict is Verdict.RULED_OUT
    assert found_by(answer).missing == 0


def test_nothing_declared_is_could_not_look(orders: OrdersTable, asks: Asks) -> None:
    """Never “nothing to replay”: nobody asked the source."""
    orders.commits("a", 1, range(10))

    answer = asks("replayable_rows", asking(orders, None))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Declare `replay`" in answer.could_not_look[0].remedy


def test_without_positions_the_settled_event_times_are_the_bounds(orders: OrdersTable, asks: Asks) -> None:
    """What the job may still bring is never counted as missing."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(20, 60))
    recipe = declared("range(0, 100)").model_copy(update={"settled_after": timedelta(seconds=30)})

    answer = asks("replayable_rows", asking(orders, recipe, BY_TIME))

    found = found_by(answer)
    assert found.bounds.event_until == datetime(2026, 11, 3, 0, 0, 29, tzinfo=UTC)
    assert (found.absent, found.missing) == (10, None)


def test_the_bounds_are_the_windows_own_event_times(orders: OrdersTable, asks: Asks) -> None:
    """An event below the window that lies in the future does not tell how far the job has read."""
    before = orders.commits("a", 1, [*range(20), 5_000])
    orders.commits("a", 2, range(20, 60))
    recipe = declared("range(0, 100)").model_copy(update={"settled_after": timedelta(seconds=30)})

    answer = asks("replayable_rows", orders.ask(before, contract=BY_TIME).model_copy(update={"replay": recipe}))

    found = found_by(answer)
    assert found.bounds.event_from == datetime(2026, 11, 3, 0, 0, 20, tzinfo=UTC)
    assert found.bounds.event_until == datetime(2026, 11, 3, 0, 0, 29, tzinfo=UTC)


def test_of_a_table_written_by_key_deleted_rows_are_not_brought_back(by_key: OrdersTable, asks: Asks) -> None:
    """Their positions are accounted for: what is replayed is what nobody brought."""
    before = by_key.appends(rows(range(10)))
    upserts(by_key, "a", 2, range(10, 15), keys=range(20, 25))
    upserts(by_key, "a", 3, range(20, 25), keys=[30, 31, 32, 33, 20])
    upserts(by_key, "a", 4, [], keys=[], deletes=[21, 22])

    answer = asks("replayable_rows", by_key.ask(before).model_copy(update={"replay": declared("range(0, 100)")}))

    found = found_by(answer)
    assert found.bounds.positions == (PositionRange(first=15, last=19),)
    assert (found.missing, found.absent) == (5, 5)


def test_what_deletes_may_account_for_is_not_replayed(by_key: OrdersTable, asks: Asks) -> None:
    """Nor is it said that nothing is missing."""
    before = by_key.appends(rows(range(10)))
    upserts(by_key, "a", 2, [10, 11, 14], keys=range(20, 23))

    answer = asks("replayable_rows", by_key.ask(before).model_copy(update={"replay": declared("range(0, 100)")}))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "2 positions (12 to 13) have no row that lives or was replaced" in answer.headline
