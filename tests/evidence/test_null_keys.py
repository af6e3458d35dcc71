"""Rows whose key is null are told, and are nobody's copies."""

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of
from tests.tables import OrdersTable, rows


def test_rows_without_a_key_are_no_copies_and_nobody_vouches_for_them(orders: OrdersTable, asks: Asks) -> None:
    """Different rows with null there are no alarm; whether one is a copy of another cannot be told either."""
    before = orders.appends(rows([1, 2], orders=[None, 7]))
    orders.appends(rows([3, 4], orders=[None, None]))

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "3 rows have null in order_id" in answer.headline


def test_rows_without_a_key_are_counted_beside_real_copies(orders: OrdersTable, asks: Asks) -> None:
    """They are in neither count, and named."""
    before = orders.appends(rows([1, 2], orders=[None, 7]))
    orders.appends(rows([3, 4], orders=[None, 7]))

    answer = asks("duplicate_rows", orders.ask(before))

    assert (1, 1) == (duplicates_of(answer).keys, duplicates_of(answer).extra_rows)
    assert "2 rows have null in order_id" in answer.could_not_look[0].reason
