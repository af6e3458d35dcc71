"""Rows that the window brought and deleted again are not passed over where no later row shows a gap."""

import pyarrow as pa

from bot.domain.evidence import Verdict
from tests.evidence.conftest import Asks
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.tables import OrdersTable, of_flink, rows


def test_rows_deleted_behind_the_last_live_one_leave_it_open(orders: OrdersTable, asks: Asks) -> None:
    """Nothing lives above them, so no gap tells."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.deletes("source_position >= 15")

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "5 positions that the window brought behind the last live row were deleted" in answer.headline
    assert "(15 to 19)" in answer.headline


def test_a_deleted_file_that_is_gone_from_storage_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """What it held can no longer be read; the table does not need it, so nothing fails."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    there = set(orders.data_folder.rglob("*.parquet"))
    orders.commits("a", 3, range(20, 30))
    [file] = set(orders.data_folder.rglob("*.parquet")) - there
    orders.deletes("source_position >= 20")
    file.unlink()

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "gone from storage" in answer.headline


def test_a_file_that_ends_below_the_last_live_row_is_not_read(orders: OrdersTable, asks: Asks) -> None:
    """Its bounds tell that it held nothing behind that, so that it is gone from storage leaves nothing open."""
    before = orders.commits("a", 1, range(10))
    there = set(orders.data_folder.rglob("*.parquet"))
    orders.commits("a", 2, range(10, 20))
    [file] = set(orders.data_folder.rglob("*.parquet")) - there
    orders.commits("a", 3, range(20, 30))
    orders.deletes("source_position >= 10 AND source_position < 20")
    file.unlink()

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert gaps_of(answer).missing == 10
    assert not any("gone from storage" in each.reason for each in answer.could_not_look)


def test_a_partition_that_came_in_the_window_and_was_deleted_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """It wrote nothing below the window, so it is not known as one that fell silent."""
    before = orders.commits("a", 1, range(10))
    both = [rows(range(10, 20)), rows(range(10), partition=1, orders=range(1000, 1010))]
    orders.appends(pa.concat_tables(both), of_flink("a", 2))
    orders.commits("a", 3, range(20, 30))
    orders.deletes("source_partition == 1")

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "0 to 9 of partition 1" in answer.headline


def test_copies_that_were_deleted_again_are_not_missing(orders: OrdersTable, asks: Asks) -> None:
    """A partition came again in the window and its copies were taken away: older rows carry its positions."""
    first = [rows(range(10)), rows(range(10), partition=1, orders=range(1000, 1010))]
    orders.appends(pa.concat_tables(first), of_flink("a", 1))
    before = orders.commits("a", 2, range(10, 20))
    orders.appends(rows(range(10), partition=1, orders=range(2000, 2010)), of_flink("b", 1))
    orders.commits("a", 3, range(20, 30))
    orders.deletes("order_id >= 2000")

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert "deleted or replaced" not in answer.headline


def test_a_hole_between_negative_positions_is_a_hole(orders: OrdersTable, asks: Asks) -> None:
    """A source may count from below zero: what lies below the window is looked for there, too."""
    before = orders.commits("a", 1, range(-30, -20))
    orders.commits("a", 2, range(-10, 5))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert (gaps_of(answer).missing, gaps_of(answer).gaps[0].first) == (10, -20)


def test_a_hole_that_ends_at_position_0_is_a_hole(orders: OrdersTable, asks: Asks) -> None:
    """That the window begins there does not say that the source does."""
    before = orders.commits("a", 1, range(-30, -20))
    orders.commits("a", 2, range(5))

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert (gaps_of(answer).missing, gaps_of(answer).gaps[0].first) == (20, -20)


def test_rows_that_a_compaction_lost_behind_the_last_live_one_leave_it_open(orders: OrdersTable, asks: Asks) -> None:
    """It wrote fewer rows than it read; one that kept its rows is not looked behind."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.compacts(rows(range(20)))
    whole = asks("missing_positions", orders.ask(before))
    orders.compacts(rows(range(15)))

    answer = asks("missing_positions", orders.ask(before))

    assert whole.verdict is Verdict.RULED_OUT
    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "(15 to 19)" in answer.headline
