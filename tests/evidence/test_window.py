"""The window holds the commits under review, and not the rollbacks of an earlier incident."""

import pytest

from bot.domain.evidence import Verdict
from bot.domain.table import Window
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable, with_fields


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


TASKS = ("replayed_rows", "corrected_rows", "late_rows", "backfill_boundary", "schema_drift")


@pytest.mark.parametrize("task", TASKS)
def test_from_the_first_listed_commit_nothing_is_ruled_out_against_what_has_expired(
    orders: OrdersTable, asks: Asks, task: str
) -> None:
    """What the expired commit brought could have come again, been changed, or been newer; PyIceberg takes its id out
    of the commit above."""
    gone = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 200))
    orders.commits("a", 3, range(200, 300))
    orders.expires(gone)

    answer = asks(task, orders.ask(None))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == f"what lay below snapshot {first} of sales.orders"


def test_a_commit_that_names_an_expired_parent_is_not_the_first(orders: OrdersTable, asks: Asks) -> None:
    """Iceberg's own expiry leaves the parent's id, also above a commit without rows."""
    orders.commits("a", 1, range(100))
    table = orders.state()
    parented = with_fields(table, snapshots=[s.model_copy(update={"parent_id": 12345}) for s in table.snapshots])
    ask = orders.ask(None)
    above = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": parented})})

    answer = asks("replayed_rows", above)

    assert answer.verdict is Verdict.INCONCLUSIVE


@pytest.mark.parametrize("task", ["replayed_rows", "corrected_rows"])
def test_below_the_very_first_commit_lies_nothing(orders: OrdersTable, asks: Asks, task: str) -> None:
    """It has no parent and counts no older row, so the window begins with the table."""
    orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks(task, orders.ask(None))

    assert answer.verdict is Verdict.RULED_OUT
