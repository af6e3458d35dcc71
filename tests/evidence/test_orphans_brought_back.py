"""A file that storage gave back bears the time of that: whatever names it, it is no orphan."""

import os
from datetime import timedelta

import pytest

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_orphan_files import ask_about, finding_of, left
from tests.tables import OrdersTable, of_flink, rows


@pytest.mark.parametrize("ref", ["main", "audit"])
def test_a_file_of_an_older_commit_that_was_brought_back_is_named(orders: OrdersTable, asks: Asks, ref: str) -> None:
    """Its commit lies far below the window, on main or on a branch; what nothing names is told beside it."""
    orders.commits("a", 1, range(10))
    if ref == "audit":
        orders.branches_off("audit", orders.head)
        orders.appends(rows(range(20, 30)), of_flink("b", 2), branch="audit")
    old = list(orders.data_folder.rglob("*.parquet"))
    before = orders.commits("a", 3, range(30, 40))
    ask = ask_about(orders, before, later=timedelta(hours=3))
    since = ask.observation.table.by_id[before].committed_at
    moved = [
        each.model_copy(update={"committed_at": each.committed_at - timedelta(hours=1)})
        if each.snapshot_id != before
        else each
        for each in ask.observation.table.snapshots
    ]
    table = type(ask.observation.table).model_validate(
        {name: getattr(ask.observation.table, name) for name in type(ask.observation.table).model_fields}
        | {"snapshots": tuple(moved)}
    )
    ask = ask.model_copy(update={"observation": ask.observation.model_copy(update={"table": table})})
    now = since.timestamp() + 3600
    for file in (*old, left(orders, "lost.parquet")):
        os.utime(file, (now, now))

    answer = asks("orphan_files", ask)

    assert answer.verdict is Verdict.CONFIRMED
    assert [path.rsplit("/", 1)[-1] for path in finding_of(answer).paths] == ["lost.parquet"]
