"""What the declared source gives of what is missing, and what it does not."""

from datetime import UTC, datetime, timedelta

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Ask, Verdict
from bot.domain.findings import ReplayableFinding
from bot.domain.replay import PositionRange, ReplayRecipe
from tests.evidence.conftest import Asks
from tests.repairs.recipes import declared
from tests.tables import CONTRACT, OrdersTable

BY_PARTITION = CONTRACT.model_copy(update={"position_partition": "source_partition"})
BY_TIME = TableContract(key=("order_id",), event_time="event_time")


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
