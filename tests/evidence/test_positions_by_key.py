"""Of a table that is written by key, rows that newer ones replaced are not missing; what nobody brought still is."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.domain.evidence import Verdict
from bot.domain.findings import PositionGap
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.tables import OrdersTable, rows
from tests.upserts import upserts


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[OrdersTable]:
    """An empty `sales.orders` into which a job writes by key."""
    table = OrdersTable(tmp_path, {"write.upsert.enabled": "true"})
    yield table
    table.close()


def test_replaced_rows_are_not_missing(orders: OrdersTable, asks: Asks) -> None:
    """Those of the window, and from where it begins (position 9) on the older ones whose keys came again in it."""
    before = orders.appends(rows(range(10)))
    upserts(orders, "a", 2, range(10, 15), keys=range(5, 10))
    upserts(orders, "a", 3, range(15, 20), keys=[8, 9, 20, 21, 22])

    answer = asks("missing_positions", orders.ask(before))
    by_partition = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert (answer.verdict, gaps_of(answer).missing, gaps_of(answer).replaced) == (Verdict.RULED_OUT, 0, 3)
    assert by_partition.verdict is answer.verdict
    assert gaps_of(by_partition) == gaps_of(answer).model_copy(update={"tops": {"0": 19}})
    assert answer.headline == (
        "No position is missing up to the highest one that was brought, 19. The rows of 3 positions were replaced or "
        "deleted by their key: these are no missing rows."
    )


def test_what_the_source_skipped_between_commits_is_missing(orders: OrdersTable, asks: Asks) -> None:
    """Also where the first commit behind the hole was replaced altogether."""
    before = orders.appends(rows(range(10)))
    upserts(orders, "a", 2, range(20, 25), keys=range(5))
    upserts(orders, "a", 3, range(25, 30), keys=range(5))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).gaps == (PositionGap(first=10, last=19),)
    assert (gaps_of(answer).missing, gaps_of(answer).is_untold) == (10, False)
    assert answer.headline.startswith("10 positions are missing: 10 to 19.")


@pytest.mark.parametrize("where", ["within a commit", "beside a delete"])
def test_what_deletes_may_account_for_is_open(orders: OrdersTable, asks: Asks, where: str) -> None:
    """A delete of a key leaves no position, and within one commit a sink may write only the newest row of a key."""
    before = orders.appends(rows(range(10)))
    if where == "within a commit":
        upserts(orders, "a", 2, [10, 11, 14], keys=range(20, 23))
    else:
        upserts(orders, "a", 2, [10, 11], keys=range(20, 22), deletes=[1, 2])
        upserts(orders, "a", 3, [14], keys=[22])

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "2 positions (12 to 13) have no row that lives or was replaced" in answer.headline
    assert (gaps_of(answer).missing, gaps_of(answer).is_untold) == (2, True)
    assert answer.rows == (("none", "12", "13", "2"),)


def test_a_hole_beside_an_open_gap_is_missing_alone(orders: OrdersTable, asks: Asks) -> None:
    """What is sure is counted; what is open is named beside it."""
    before = orders.appends(rows(range(10)))
    upserts(orders, "a", 2, [10, 12], keys=[20, 21])
    upserts(orders, "a", 3, [15], keys=[22])

    answer = asks("missing_positions", orders.ask(before))

    assert (answer.verdict, gaps_of(answer).missing) == (Verdict.CONFIRMED, 2)
    assert gaps_of(answer).gaps == (PositionGap(first=13, last=14),)
    assert "1 position (11) has no row" in answer.could_not_look[0].reason


def test_what_was_rolled_back_is_missing_beside_deletes_too(orders: OrdersTable, asks: Asks) -> None:
    """Rows stood there, so no delete accounts for these positions."""
    before = orders.appends(rows(range(10)))
    upserts(orders, "a", 2, range(10, 15), keys=range(20, 25))
    orders.rolls_back_to(before)
    upserts(orders, "a", 3, [15, 16], keys=[30, 31], deletes=[1, 2])

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).gaps == (PositionGap(first=10, last=14),)


def test_what_was_replaced_before_the_window_is_not_its_fault(orders: OrdersTable, asks: Asks) -> None:
    """Positions 0 to 4 and 10 to 14 are gone since then, and a run reads a part of the source again."""
    orders.appends(rows(range(10)))
    upserts(orders, "a", 2, range(10, 15), keys=range(5))
    before = upserts(orders, "a", 3, range(15, 20), keys=range(5))
    upserts(orders, "b", 3, range(12, 22), keys=[2, 3, 4, 0, 1, 2, 3, 4, 40, 41])

    answer = asks("missing_positions", orders.ask(before))

    assert (answer.verdict, gaps_of(answer).replaced) == (Verdict.RULED_OUT, 0)


@pytest.mark.parametrize(("bare", "expected"), [(False, Verdict.CONFIRMED), (True, Verdict.INCONCLUSIVE)])
def test_rows_that_another_writer_took_away_are_no_replaced_ones(
    orders: OrdersTable, asks: Asks, bare: bool, expected: Verdict
) -> None:
    """Their key lives no more, and the job's own deletes each brought a row, unless one may account for them."""
    before = orders.appends(rows(range(10)))
    orders.commits("a", 2, range(10, 20))
    orders.deletes("order_id >= 15 and order_id < 18")
    upserts(orders, "a", 3, range(20, 25), keys=range(10, 15), deletes=[3] if bare else [])

    answer = asks("missing_positions", orders.ask(before))

    assert (answer.verdict, gaps_of(answer).replaced) == (expected, 5)
    assert gaps_of(answer).gaps == (PositionGap(first=15, last=17),)
