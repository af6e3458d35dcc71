"""The window holds the commits under review, and not the rollbacks of an earlier incident."""

from bot.domain.table import Window
from tests.tables import OrdersTable


def test_commits_that_were_rolled_back_to_the_beginning_are_of_the_window(orders: OrdersTable) -> None:
    """They descend from `since`, so they are under review, beside what main has now."""
    since = orders.commits("a", 1, range(10))
    lost = orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(since)
    kept = orders.commits("a", 3, range(20, 30))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [lost, kept]


def test_a_rollback_to_below_the_window_is_not_of_it(orders: OrdersTable) -> None:
    """An earlier incident's rolled-back commits stay listed for days; they are not this window's."""
    start = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(start)
    since = orders.commits("b", 2, range(10, 20))
    kept = orders.commits("b", 3, range(20, 30))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [kept]


def test_a_branch_of_a_branch_is_of_the_window(orders: OrdersTable) -> None:
    """Two rollbacks after each other leave two branches, both under review."""
    since = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20))
    second = orders.commits("a", 3, range(20, 30))
    orders.rolls_back_to(first)
    third = orders.commits("a", 4, range(30, 40))
    orders.rolls_back_to(since)
    kept = orders.commits("b", 2, range(10, 50))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [first, second, third, kept]


def test_from_a_snapshot_that_was_itself_rolled_back_the_window_begins_where_main_left_it(
    orders: OrdersTable,
) -> None:
    """The last commit that both share bounds it; what main lost after that is in it."""
    orders.commits("a", 1, range(10))
    since = orders.commits("a", 2, range(10, 20))
    orders.rolls_back_to(orders.state().snapshots[0].snapshot_id)
    kept = orders.commits("b", 2, range(10, 30))

    inside = Window(since=since, until=kept).of(orders.state())

    assert [s.snapshot_id for s in inside] == [since, kept]
