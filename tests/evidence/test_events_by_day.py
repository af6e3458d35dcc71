"""An event time of type `date` tells the day only: no alarm is made of what happens within a day."""

from datetime import UTC, date, datetime, timedelta

import pyarrow as pa
import pytest
from pyiceberg.types import DateType

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_freshness import fresh_of
from tests.tables import OrdersTable, of_flink, rows, with_fields

BY_DAY = TableContract(key=("order_id",), event_time="day")


@pytest.fixture
def days(orders: OrdersTable) -> OrdersTable:
    """The orders with the day of each."""
    orders.adds_column("day", DateType())
    return orders


def appended(days: OrdersTable, run: str, checkpoint: int, day: date) -> None:
    """Ten orders of this day, by one checkpoint."""
    some = rows(range(checkpoint * 10, checkpoint * 10 + 10))
    days.appends(some.append_column("day", pa.array([day] * len(some), pa.date32())), of_flink(run, checkpoint))


def test_within_a_day_no_event_time_stands_still(days: OrdersTable, asks: Asks) -> None:
    """All commits of a day bring events of that day; also the first after midnight may bring those of before."""
    yesterday = datetime.now(UTC).date() - timedelta(days=1)
    for checkpoint in range(1, 7):
        appended(days, "a", checkpoint, yesterday)

    answer = asks("freshness", days.ask(None, contract=BY_DAY))

    assert not fresh_of(answer).is_event_time_stuck
    assert answer.verdict is Verdict.INCONCLUSIVE


def test_an_older_day_that_no_commit_raises_stands_still(days: OrdersTable, asks: Asks) -> None:
    """A whole day has passed since its end."""
    for checkpoint in range(1, 7):
        appended(days, "a", checkpoint, datetime.now(UTC).date() - timedelta(days=3))

    answer = asks("freshness", days.ask(None, contract=BY_DAY))

    assert fresh_of(answer).is_event_time_stuck
    assert answer.verdict is Verdict.CONFIRMED


@pytest.mark.parametrize(
    ("promised_h", "expected"), [(1, Verdict.CONFIRMED), (24, Verdict.INCONCLUSIVE), (31, Verdict.RULED_OUT)]
)
def test_an_event_happened_anywhere_in_its_day(
    days: OrdersTable, asks: Asks, promised_h: int, expected: Verdict
) -> None:
    """Thirty hours after the day began its newest event is between six and thirty hours old."""
    day = datetime.now(UTC).date() - timedelta(days=5)
    appended(days, "a", 1, day)
    ask = days.ask(None, contract=BY_DAY.model_copy(update={"freshness": timedelta(hours=promised_h)}))
    table = ask.observation.table
    committed = datetime.combine(day, datetime.min.time(), UTC) + timedelta(hours=29)
    moved = [each.model_copy(update={"committed_at": committed}) for each in table.snapshots]
    then = with_fields(table, snapshots=moved, read_at=committed + timedelta(hours=1))

    answer = asks(
        "freshness", ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": then})})
    )

    assert answer.verdict is expected
    if expected is Verdict.INCONCLUSIVE:
        assert answer.could_not_look[0].reason.startswith("Column day holds days")


def test_commits_of_two_runs_on_one_day_repeat_nothing_of_each_other(days: OrdersTable, asks: Asks) -> None:
    """Their days are the same, which says nothing of their events."""
    for run, checkpoint in (("a", 1), ("a", 2), ("b", 3), ("b", 4)):
        appended(days, run, checkpoint, date(2026, 11, 3))

    answer = asks("duplicate_commits", days.ask(None, contract=BY_DAY))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "cannot be told" in answer.headline
