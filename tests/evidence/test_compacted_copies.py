"""A compaction writes rows anew and is the writer of none: copies are traced to the commit before it."""

from pathlib import Path

import pytest

from bot.domain.evidence import Verdict
from bot.domain.ids import SnapshotId
from spark_tasks import _before_compaction
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of, pairs_of
from tests.evidence.test_extra_copies import found_by
from tests.tables import OrdersTable, rows
from tests.upserts import upserts

pytestmark = pytest.mark.slow

_NAME = "0000{}-0-11111111-2222-3333-4444-555555555555-00001.parquet"
FIRST, SECOND = _NAME.format(0), _NAME.format(1)


def doubled(orders: OrdersTable) -> tuple[SnapshotId, SnapshotId]:
    """Five keys come twice in one commit, from two subtasks: (the commit below, that commit)."""
    before = orders.commits("a", 1, range(50))
    return before, orders.commits_files("a", 2, {FIRST: range(50, 60), SECOND: range(50, 55)})


def compacted(orders: OrdersTable) -> SnapshotId:
    """All of it becomes one file; an upsert follows, so that the window does more than append."""
    compaction = orders.compacts(rows([*range(60), *range(50, 55)]))
    upserts(orders, "a", 4, [61], keys=[61])
    return compaction


def test_a_compaction_changes_neither_writers_nor_subtasks(orders: OrdersTable, asks: Asks) -> None:
    """F17 stays F17: the copies came from two subtasks, whatever file they stand in now."""
    before, doubling = doubled(orders)
    compacted(orders)

    answer = asks("duplicate_rows", orders.ask(before))

    found = duplicates_of(answer)
    assert (found.keys, found.within_commit, found.across_subtasks, found.hidden) == (5, 5, 5, 0)
    assert pairs_of(answer) == {(doubling, doubling, 5)}


def test_a_replay_is_named_behind_two_compactions(orders: OrdersTable, asks: Asks) -> None:
    """Also where the older copy lies below the window, in a file that a compaction wrote there."""
    old = orders.commits("a", 1, range(20))
    orders.compacts(rows(range(20)))
    before = orders.commits("a", 2, range(20, 30))
    again = orders.commits("b", 2, range(15, 25))
    orders.compacts(rows([*range(30), *range(15, 25)]))
    orders.commits("b", 3, range(30, 40))
    orders.compacts(rows([*range(40), *range(15, 25)]))
    upserts(orders, "b", 4, [50], keys=[50])

    answer = asks("duplicate_rows", orders.ask(before))
    extra = found_by(asks("extra_copies", orders.ask(before)))

    assert pairs_of(answer) == {(old, again, 5), (before, again, 5)}
    assert [(each.snapshot_id, each.rows) for each in extra.commits] == [(again, 10)]
    assert (extra.keys, extra.rows, extra.hidden) == (10, 10, 0)


def test_copies_that_are_all_older_are_not_the_windows_fault(orders: OrdersTable, asks: Asks) -> None:
    """A compaction within the window writes them anew, and that makes them no rows of the window."""
    doubled(orders)
    before = orders.commits("a", 3, range(60, 61))
    compacted(orders)

    counted = asks("duplicate_rows", orders.ask(before))
    extra = asks("extra_copies", orders.ask(before))

    assert (counted.verdict, extra.verdict) == (Verdict.RULED_OUT, Verdict.RULED_OUT)
    assert duplicates_of(counted).keys == 0


@pytest.mark.parametrize("why", ["its files are gone", "it is one compaction more than is looked behind"])
def test_a_writer_that_cannot_be_seen_is_not_guessed(
    orders: OrdersTable, asks: Asks, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The compaction is named as the one that hides it, and never as the writer."""
    before, _ = doubled(orders)
    compacted(orders)
    if why == "its files are gone":
        (Path(orders.data_folder) / SECOND).unlink()
    else:
        monkeypatch.setattr(_before_compaction, "MAX_COMPACTIONS", 0)

    answer = asks("duplicate_rows", orders.ask(before))
    extra = found_by(asks("extra_copies", orders.ask(before)))

    found = duplicates_of(answer)
    assert (found.keys, found.within_commit, found.across_subtasks, found.hidden, found.pairs) == (5, 0, 0, 5, ())
    assert "a compaction has rewritten the copies and hides which commits wrote them" in answer.headline
    assert (extra.rows, extra.hidden, extra.commits) == (5, 5, ())


def test_where_one_of_the_copies_was_deleted_since_nobody_knows_which(orders: OrdersTable, asks: Asks) -> None:
    """Three copies were read by the compaction and two are left: of two commits any may be the writer."""
    before = orders.commits("a", 1, range(20))
    for run in ("a", "b", "c"):
        orders.commits(run, 2, [25])
    orders.compacts(rows([*range(20), 25, 25, 25]))
    orders.compacts(rows([*range(20), 25, 25]))
    upserts(orders, "c", 4, [61], keys=[61])

    found = duplicates_of(asks("duplicate_rows", orders.ask(before)))

    assert (found.keys, found.hidden, found.pairs) == (1, 1, ())
