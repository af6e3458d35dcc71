"""A backfill is told from ordinary lateness by how far below, and how many rows of a commit, its events lie."""

from datetime import timedelta

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import BackfillFinding
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, rows

DAY = 86_400


def backfill_of(answer: Answer) -> BackfillFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, BackfillFinding)
    return answer.finding


def test_a_backfill_is_bounded_by_its_first_and_last_commit(orders: OrdersTable, asks: Asks) -> None:
    """Commits of old events between those of the stream; the stream goes on in between."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(DAY, DAY + 100))
    first = orders.commits("f", 1, range(50, 150))
    orders.commits("a", 3, range(DAY + 100, DAY + 200))
    last = orders.commits("f", 2, range(150, 200))
    orders.commits("a", 4, range(DAY + 200, DAY + 300))

    answer = asks("backfill_boundary", orders.ask(before))

    found = backfill_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert found.commits == (first, last)
    assert found.rows == 150
    assert found.overlapping == 50
    assert found.event_from is not None
    assert found.event_until is not None
    assert found.event_until - found.event_from == timedelta(seconds=149)


def test_rows_that_are_only_late_are_no_backfill(orders: OrdersTable, asks: Asks) -> None:
    """Less than an hour below is lateness; so is a minority of a commit's rows."""
    before = orders.commits("a", 1, range(DAY, DAY + 100))
    orders.commits("a", 2, range(DAY - 3000, DAY - 2900))
    orders.commits_files("a", 3, {"old.parquet": range(10), "new.parquet": range(DAY + 100, DAY + 111)})

    answer = asks("backfill_boundary", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert backfill_of(answer).commits == ()


def test_what_far_means_follows_from_what_the_contract_calls_late(orders: OrdersTable, asks: Asks) -> None:
    """Ten times the allowed lateness."""
    before = orders.commits("a", 1, range(1000, 1100))
    old = orders.commits("f", 1, range(100))
    contract = CONTRACT.model_copy(update={"late_after": timedelta(minutes=1)})

    answer = asks("backfill_boundary", orders.ask(before, contract=contract))

    assert backfill_of(answer).commits == (old,)


def test_a_key_of_null_overlaps_with_a_key_of_null(orders: OrdersTable, asks: Asks) -> None:
    """Null is a value like any other, and bounds nothing."""
    orders.appends(rows([1, 2], orders=[None, 7]))
    before = orders.commits("a", 2, range(DAY, DAY + 100))
    orders.appends(rows([3, 4], orders=[None, 9]))

    answer = asks("backfill_boundary", orders.ask(before))

    assert backfill_of(answer).overlapping == 1


def test_without_event_time_nothing_is_said(orders: OrdersTable, asks: Asks) -> None:
    """Old and new cannot be told apart."""
    before = orders.commits("a", 1, range(10))

    answer = asks("backfill_boundary", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
