"""Commits that overwrite may bring new rows, however many they replace; a copy of what was there is none."""

from datetime import timedelta

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_freshness import MIDNIGHT, PROMISE, fresh_of, looked_at
from tests.tables import OrdersTable, rows

CADENCE = TableContract(key=("order_id",), commit_every=timedelta(minutes=1))


@pytest.mark.parametrize("task", ["late_rows", "replayed_rows", "backfill_boundary"])
def test_an_overwrite_of_as_many_rows_rules_nothing_out(orders: OrdersTable, asks: Asks, task: str) -> None:
    """Its rows may be new, and nobody compared them."""
    before = orders.commits("a", 1, range(100))
    orders.rewrites(rows(range(50, 150)))

    answer = asks(task, orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "100 rows in the place of 1 file" in answer.headline


def test_an_overwrite_with_newer_events_keeps_a_table_fresh(orders: OrdersTable, asks: Asks) -> None:
    """A table that is overwritten each time is as fresh as what it holds; a copy makes it no fresher."""
    first = orders.commits("a", 1, range(100))
    new = orders.rewrites(rows(range(200, 300)))
    orders.rewrites(rows(range(200, 300)))
    ask = looked_at(orders.ask(None, contract=PROMISE), MIDNIGHT + timedelta(minutes=10))

    answer = asks("freshness", ask)

    assert answer.verdict is Verdict.RULED_OUT
    assert (fresh_of(answer).newest_commit, fresh_of(answer).event_age_s) == (new, 600 - 299)
    assert first != new


@pytest.mark.parametrize(
    ("summary", "verdict"),
    [({}, Verdict.INCONCLUSIVE), ({"replace-partitions": "true"}, Verdict.RULED_OUT)],
)
def test_without_event_times_an_overwrite_may_have_brought_rows(
    orders: OrdersTable, asks: Asks, summary: dict[str, str], verdict: Verdict
) -> None:
    """The table is not called stale for a commit that may be fresh, nor fresh unless the commit says what it was."""
    old = orders.commits("a", 1, range(100))
    at = orders.state().by_id[old].committed_at
    orders.rewrites(rows(range(100)), summary)
    ask = looked_at(orders.ask(None, contract=CADENCE), at + timedelta(hours=1))
    table = ask.observation.table
    commits = tuple(
        each if each.snapshot_id == old else each.model_copy(update={"committed_at": at + timedelta(hours=1)})
        for each in table.snapshots
    )
    table = type(table)(**{**{name: getattr(table, name) for name in type(table).model_fields}, "snapshots": commits})

    answer = asks(
        "freshness", ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})
    )

    assert answer.verdict is verdict
