"""A record of the source that came twice is found, whatever became of its first copy."""

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import ReplayedRowsFinding
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable, of_flink, rows


def replayed_of(answer: Answer) -> ReplayedRowsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ReplayedRowsFinding)
    return answer.finding


def pairs_of(answer: Answer) -> set[tuple[int, int, int]]:
    """(first, second, rows) of every pair."""
    return {(pair.first, pair.second, pair.keys) for pair in replayed_of(answer).pairs}


def test_a_replay_is_paired_with_the_commit_that_it_repeats(orders: OrdersTable, asks: Asks) -> None:
    """Within the window and below it, with the positions that came again."""
    old = orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100, 200))
    first = orders.commits("a", 3, range(200, 300))
    again = orders.commits("b", 2, range(190, 250))

    answer = asks("replayed_rows", orders.ask(before))

    found = replayed_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.rows_checked, found.replayed, found.changed) == (160, 60, 0)
    assert (found.first, found.last) == (190, 249)
    assert pairs_of(answer) == {(before, again, 10), (first, again, 50)}
    assert old not in {pair.first for pair in found.pairs}


def test_rows_that_came_once_are_no_replay(orders: OrdersTable, asks: Asks) -> None:
    """Also where another commit brought the same key from another position: an upsert does so rightly."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200), orders=range(100))

    answer = asks("replayed_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert replayed_of(answer).rows_checked == 100


def test_the_first_copy_may_have_been_rolled_back(orders: OrdersTable, asks: Asks) -> None:
    """After a proper rewind the source is read again: rows on main came again, though none lives twice."""
    before = orders.commits("a", 1, range(100))
    lost = orders.commits("a", 2, range(100, 150))
    orders.rolls_back_to(before)
    again = orders.commits("b", 2, range(100, 160))

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(lost, again, 50)}
    assert replayed_of(answer).rows_checked == 60
    assert "(rolled back)" in answer.rows[0][0]


def test_the_first_copy_may_have_been_deleted_since(orders: OrdersTable, asks: Asks) -> None:
    """A replay onto a table that was cleaned in between is a replay all the same."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 150))
    orders.deletes("order_id >= 100")
    again = orders.commits("b", 2, range(100, 150))

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 50)}


def test_copies_with_other_values_are_counted_apart(orders: OrdersTable, asks: Asks) -> None:
    """A replay that gives other values was not idempotent: deleting either copy loses something."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 100), orders=[90, 91, 92, 93, 94, 95, 96, 1097, 1098, 1099])

    answer = asks("replayed_rows", orders.ask(before))

    assert (replayed_of(answer).replayed, replayed_of(answer).changed) == (10, 3)
    assert "3 of them with other values" in answer.headline
    assert answer.rows[0][3] == "3"


def test_a_value_that_became_null_is_another_value(orders: OrdersTable, asks: Asks) -> None:
    """A hash passes nulls over; the comparison does not."""
    before = orders.commits("a", 1, [7])
    orders.appends(rows([7], orders=[None]))

    answer = asks("replayed_rows", orders.ask(before))

    assert replayed_of(answer).changed == 1


def test_positions_count_within_their_source_partition(orders: OrdersTable, asks: Asks) -> None:
    """Position 5 of another partition is another record."""
    before = orders.commits("a", 1, range(100), partition=0)
    orders.commits("a", 2, range(50), partition=1)
    contract = TableContract(key=("order_id",), position="source_position", position_partition="source_partition")

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT


def test_key_and_event_time_stand_for_a_missing_position(orders: OrdersTable, asks: Asks) -> None:
    """The same key at the same time of the event is the same record."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 110))
    contract = TableContract(key=("order_id",), event_time="event_time")

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert replayed_of(answer).replayed == 10
    assert replayed_of(answer).first is None


def test_without_any_identity_the_answer_says_what_to_name(orders: OrdersTable, asks: Asks) -> None:
    """A key alone does not tell a replay from an update."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10))

    answer = asks("replayed_rows", orders.ask(before, contract=TableContract(key=("order_id",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "contract.position"


def test_a_position_that_the_job_stopped_filling_is_named(orders: OrdersTable, asks: Asks) -> None:
    """All null: nothing can be compared, so nothing is ruled out."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, None], orders=[1, 2]))

    answer = asks("replayed_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "null in every row" in answer.headline


def test_rows_without_a_position_are_told_and_not_vouched_for(orders: OrdersTable, asks: Asks) -> None:
    """Among others that have one: they came twice, and nothing of theirs tells it."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("a", 2))
    orders.commits("a", 3, range(10, 20))
    orders.appends(rows([None] * 5, orders=range(1000, 1005)), of_flink("b", 1))

    answer = asks("replayed_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert replayed_of(answer).rows_checked == 10
    assert "10 of the window's 20 rows have null in source_position" in answer.headline


def test_rows_without_a_position_hide_no_replay(orders: OrdersTable, asks: Asks) -> None:
    """What surely came again is confirmed beside them."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, *range(5, 15)], orders=[1000, *range(5, 15)]), of_flink("b", 1))

    answer = asks("replayed_rows", orders.ask(before))

    assert (answer.verdict, replayed_of(answer).replayed) == (Verdict.CONFIRMED, 5)
    assert answer.could_not_look[0].source == "column source_position of sales.orders"


def test_files_of_one_name_are_kept_apart(orders: OrdersTable, asks: Asks) -> None:
    """Two folders may hold files of one name; each row counts for the commit of its own file."""
    name = "00000-0-11111111-2222-3333-4444-555555555555-00001.parquet"
    before = orders.commits_files("a", 1, {name: range(100)})
    first = orders.commits_files("a", 2, {f"one/{name}": range(100, 150)})
    again = orders.commits_files("b", 2, {f"two/{name}": range(100, 120)})

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 20)}


def test_a_record_that_came_twice_in_one_commit_is_counted(orders: OrdersTable, asks: Asks) -> None:
    """The source was read twice within one checkpoint: no earlier commit has it, and it is there twice."""
    before = orders.commits("a", 1, range(10))
    twice = orders.commits("a", 2, [*range(10, 30), *range(10, 15), 12])
    orders.commits("a", 3, range(30, 40))

    answer = asks("replayed_rows", orders.ask(before))

    found = replayed_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.rows_checked, found.replayed, found.within_commit) == (36, 0, 6)
    assert (found.first, found.last, found.pairs) == (None, None, ())
    assert answer.headline.startswith("No row was brought again by a later commit, but 6 of 36 rows stand in their own")
    assert str(twice)[-6:] in answer.rows[0][0]


def test_a_record_that_came_twice_both_ways_is_counted_apart(orders: OrdersTable, asks: Asks) -> None:
    """By a later commit, and within one."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [*range(5, 15), 14])

    answer = asks("replayed_rows", orders.ask(before))

    found = replayed_of(answer)
    assert (found.replayed, found.within_commit, found.first, found.last) == (5, 1, 5, 9)
    assert "1 row stands in its own commit once more" in answer.headline


def test_rows_made_of_one_record_are_no_replay(orders: OrdersTable, asks: Asks) -> None:
    """One record may make several rows of one commit: of other keys, or of one key with other values."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [10, 10, 11, 11], orders=[100, 101, 102, 103])

    answer = asks("replayed_rows", orders.ask(before))

    assert (answer.verdict, replayed_of(answer).within_commit) == (Verdict.RULED_OUT, 0)
    assert "4 rows of the window had been brought by an earlier commit, nor stands in its own" in answer.headline


def test_without_a_key_equal_rows_of_one_commit_are_not_told_apart(orders: OrdersTable, asks: Asks) -> None:
    """They may be two parts of one record, so the answer speaks of earlier commits alone."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [10, 10, 11])
    contract = TableContract(position="source_position")

    answer = asks("replayed_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "None of 3 rows of the window had been brought by an earlier commit."


def test_rows_without_a_position_are_in_the_sentence_of_a_replay(orders: OrdersTable, asks: Asks) -> None:
    """Who reads that rows came again reads as well that of others nothing is known."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([None, *range(5, 15)], orders=[1000, *range(5, 15)]), of_flink("b", 1))

    answer = asks("replayed_rows", orders.ask(before))

    assert "5 of 10 rows came again" in answer.headline
    assert "1 of the window's 11 rows has null in source_position" in answer.headline


@pytest.mark.parametrize("name", ["plain.parquet", "one+two.parquet", "one two+three.parquet", "one%20two.parquet"])
def test_rows_are_found_whatever_their_file_is_called(orders: OrdersTable, asks: Asks, name: str) -> None:
    """Spark escapes a space and a percent sign in a path, and no plus."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 150))
    again = orders.commits_files("b", 2, {name: range(100, 120)})

    answer = asks("replayed_rows", orders.ask(before))

    assert pairs_of(answer) == {(first, again, 20)}
