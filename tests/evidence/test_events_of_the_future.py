"""An event that lies in the future of its commit comes from a wrong clock: it makes no table fresh, no later row late
and no event time stand still."""

from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pytest

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_contract_agreement import terms_of
from tests.evidence.test_freshness import MIDNIGHT, PROMISE, fresh_of, looked_at
from tests.evidence.test_late_rows import FIVE_MINUTES, late_of
from tests.tables import OrdersTable, rows

FAR = datetime(2099, 1, 1, tzinfo=UTC)


def ahead(position: int, event: datetime = FAR) -> pa.Table:
    """One row by a clock that is far ahead."""
    made = rows([position])
    at = made.schema.get_field_index("event_time")
    return made.set_column(at, made.schema.field(at), pa.array([event], made.schema.field(at).type))


@pytest.mark.parametrize("task", ["freshness", "contract_agreement"])
@pytest.mark.parametrize("beside", [True, False])
def test_a_dead_job_is_stale_however_new_its_events_seem(
    orders: OrdersTable, asks: Asks, task: str, beside: bool
) -> None:
    """What was committed an hour ago cannot hold a younger event."""
    commit = orders.appends(pa.concat_tables([ahead(0), rows(range(1, 10 if beside else 1))]))
    hour_later = orders.state().by_id[commit].committed_at + timedelta(hours=1)

    answer = asks(task, looked_at(orders.ask(None, contract=PROMISE), hour_later))

    if task == "freshness":
        assert answer.verdict is Verdict.CONFIRMED
        assert (fresh_of(answer).event_age_s is not None) == beside
    else:
        assert terms_of(answer)["The newest event is at most 15 min old."] is (False if beside else None)


def test_young_commits_of_such_events_alone_keep_no_promise(orders: OrdersTable, asks: Asks) -> None:
    """Nothing tells when they happened; what to name is said."""
    orders.appends(rows(range(10)))
    commit = orders.appends(ahead(10))
    soon = orders.state().by_id[commit].committed_at + timedelta(minutes=1)

    answer = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), soon))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "1 file has no event but such that lie in the future" in answer.could_not_look[0].reason


def test_event_time_rises_after_an_event_of_the_future(orders: OrdersTable, asks: Asks) -> None:
    """F24 is of a stream whose own events get no newer."""
    orders.appends(pa.concat_tables([ahead(0), rows(range(1, 10))]))
    for number in range(1, 5):
        orders.appends(rows(range(10 * number, 10 * number + 10)))

    answer = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=5)))

    assert not fresh_of(answer).is_event_time_stuck
    assert fresh_of(answer).event_age_s == 300 - 49


@pytest.mark.parametrize("beside", [True, False])
def test_rows_after_an_event_of_the_future_are_not_late(orders: OrdersTable, asks: Asks, beside: bool) -> None:
    """The mark is made of what can have happened: beside such an event, and in commits that have none."""
    before = orders.appends(rows(range(900, 1000)))
    orders.appends(pa.concat_tables([ahead(1000), rows(range(1001, 1100 if beside else 1001))]))
    orders.appends(rows(range(1100, 1200)))
    right = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))
    orders.appends(rows(range(890, 900)))

    late = asks("late_rows", orders.ask(before, contract=FIVE_MINUTES))

    assert right.verdict is (Verdict.RULED_OUT if beside else Verdict.INCONCLUSIVE)
    assert (late_of(late).late, late_of(late).worst_s) == (9, 1199 - 890)


def test_clocks_may_be_a_little_apart(orders: OrdersTable, asks: Asks) -> None:
    """Some minutes ahead of the commit is the newest event all the same, and no younger than the commit."""
    commit = orders.appends(ahead(0, datetime.now(UTC) + timedelta(minutes=3)))
    at = orders.state().by_id[commit].committed_at

    answer = asks("freshness", looked_at(orders.ask(None, contract=PROMISE), at + timedelta(minutes=14)))

    assert answer.verdict is Verdict.RULED_OUT
    assert fresh_of(answer).event_age_s == pytest.approx(14 * 60)
