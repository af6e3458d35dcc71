"""Duplicates are counted exactly, with the commits that their copies came from."""

import random
from collections import Counter

import pytest

from bot.domain.contract import TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import DuplicatesFinding
from bot.domain.ids import short
from tests.evidence.conftest import Asks
from tests.tables import OrdersTable, rows


def duplicates_of(answer: Answer) -> DuplicatesFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, DuplicatesFinding)
    return answer.finding


def pairs_of(answer: Answer) -> set[tuple[int, int, int]]:
    """(first, second, keys) of every pair."""
    return {(pair.first, pair.second, pair.keys) for pair in duplicates_of(answer).pairs}


def test_a_replay_within_the_window_is_paired_with_what_it_repeats(orders: OrdersTable, asks: Asks) -> None:
    """Each pair names the older commit and the one that wrote the same keys again."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, range(100, 200))
    again = orders.commits("b", 2, range(150, 230))

    answer = asks("duplicate_rows", orders.ask(before))

    found = duplicates_of(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.rows_checked, found.keys, found.extra_rows) == (180, 50, 50)
    assert pairs_of(answer) == {(first, again, 50)}
    assert answer.rows[0][:2] == ("150", "2")


def test_a_copy_below_the_window_is_found_with_its_commit(orders: OrdersTable, asks: Asks) -> None:
    """The older copy may lie below the window; its commit is read from the manifests there."""
    old = orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100, 200))
    again = orders.commits("b", 1, range(90, 110))

    answer = asks("duplicate_rows", orders.ask(before))

    assert duplicates_of(answer).keys == 20
    assert pairs_of(answer) == {(old, again, 10), (before, again, 10)}


def test_of_a_key_that_lives_often_the_oldest_copies_are_named(orders: OrdersTable, asks: Asks) -> None:
    """One empty key can have a million copies: a row names the first commits, and says how many more there are."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, [7] * 3)
    orders.commits("a", 3, [7] * 10_000)

    answer = asks("duplicate_rows", orders.ask(before))

    assert duplicates_of(answer).extra_rows == 10_003
    assert (duplicates_of(answer).keys, duplicates_of(answer).within_commit) == (1, 1)
    key, copies, commits = answer.rows[0]
    assert (key, copies) == ("7", "10,004")
    assert commits.startswith(f"{short(before)} → {short(first)} → {short(first)} → {short(first)} → ")
    assert commits.endswith(" → 9,996 more")


def test_copies_that_lie_wholly_below_the_window_are_not_its_fault(orders: OrdersTable, asks: Asks) -> None:
    """A duplicate counts only if at least one copy came with the window."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100))
    orders.commits("a", 3, range(100, 150))

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert answer.headline == "Every key of 50 rows in the window lives exactly once."


def test_copies_below_a_window_that_deletes_are_not_its_fault_either(orders: OrdersTable, asks: Asks) -> None:
    """The rule is the same where rows are told apart by their files."""
    orders.commits("a", 1, range(100))
    before = orders.commits("a", 2, range(100))
    orders.commits("a", 3, range(200, 250))
    orders.deletes("order_id >= 240")

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert duplicates_of(answer).rows_checked == 40


def test_rows_of_rolled_back_commits_do_not_live(orders: OrdersTable, asks: Asks) -> None:
    """What was rolled back is no copy of anything."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200))
    orders.rolls_back_to(before)
    orders.commits("a", 2, range(100, 200))

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert duplicates_of(answer).rows_checked == 100


def test_deleted_copies_do_not_count(orders: OrdersTable, asks: Asks) -> None:
    """Where the window also deletes, rows are counted as they live at its end."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(50, 150))
    orders.deletes("order_id < 80")

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is Verdict.CONFIRMED
    assert duplicates_of(answer).keys == 20
    assert duplicates_of(answer).extra_rows == 20


def test_redacted_keys_are_never_shown(orders: OrdersTable, asks: Asks) -> None:
    """A key column that the contract redacts is compared, and hidden in the sample."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 110))
    contract = TableContract(key=("customer",), event_time="event_time", redacted=("customer",))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert duplicates_of(answer).keys == 10
    assert {row[0] for row in answer.rows} == {"•••"}
    assert "customer-" not in answer.model_dump_json()


def test_the_answer_names_the_range_in_which_older_copies_were_looked_for(orders: OrdersTable, asks: Asks) -> None:
    """Nothing but the key bounds them: a copy may carry another event time."""
    before = orders.commits("a", 1, range(100))
    orders.commits("b", 1, range(90, 110))
    contract = TableContract(key=("customer",), event_time="event_time")

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.sources[1] == "older rows with customer in the window's range"


def test_a_key_that_the_table_does_not_have_is_named(orders: OrdersTable, asks: Asks) -> None:
    """A wrong contract makes the question unanswerable, not answered."""
    before = orders.commits("a", 1, range(10))

    answer = asks("duplicate_rows", orders.ask(before, contract=TableContract(key=("order_no",))))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "order_no" in answer.headline
    assert answer.could_not_look[0].source == "column order_no of sales.orders"


@pytest.mark.slow
def test_counts_agree_with_brute_force_on_random_histories(orders: OrdersTable, asks: Asks) -> None:
    """Keys, extra rows and checked rows are exact, whatever the commits and wherever the window begins."""
    dice = random.Random(20261103)  # noqa: S311 - a repeatable history, no secret
    written = [[dice.randrange(60) for _ in range(dice.randrange(1, 25))] for _ in range(9)]
    commits = [orders.appends(rows(range(len(keys)), orders=keys)) for keys in written]

    for begin in (0, 4, 7):
        answer = asks("duplicate_rows", orders.ask(commits[begin]))

        inside = Counter(key for keys in written[begin + 1 :] for key in keys)
        everywhere = Counter(key for keys in written for key in keys)
        repeated = {key: everywhere[key] for key in inside if everywhere[key] > 1}
        found = duplicates_of(answer)
        assert (found.rows_checked, found.keys, found.extra_rows) == (
            inside.total(),
            len(repeated),
            sum(repeated.values()) - len(repeated),
        )


@pytest.mark.parametrize("keeps", [True, False])
def test_a_compaction_is_passed_over_if_it_kept_all_rows(orders: OrdersTable, asks: Asks, keeps: bool) -> None:
    """One that wrote more or fewer rows than it read is looked at: the copies may be its own."""
    orders.commits("a", 1, range(20))
    before = orders.commits("a", 2, range(20, 40))
    first = orders.commits("a", 3, range(40, 60))
    orders.compacts(rows([*range(60), *(() if keeps else (7, 45))]))
    again = orders.commits("b", 3, range(55, 70))

    answer = asks("duplicate_rows", orders.ask(before))

    assert (duplicates_of(answer).keys, duplicates_of(answer).extra_rows) == ((5, 5) if keeps else (7, 7))
    assert ("rows that the window appended" in answer.sources) == keeps
    if keeps:
        assert duplicates_of(answer).rows_checked == 35
        assert pairs_of(answer) == {(first, again, 5)}


def test_a_window_that_begins_at_a_rolled_back_commit_is_read_from_where_main_left_it(
    orders: OrdersTable, asks: Asks
) -> None:
    """The last snapshot believed good may have been rolled back since."""
    start = orders.commits("a", 1, range(100))
    since = orders.commits("a", 2, range(100, 200))
    orders.rolls_back_to(start)
    orders.commits("b", 2, range(90, 130))

    answer = asks("duplicate_rows", orders.ask(since))

    assert duplicates_of(answer).rows_checked == 40
    assert duplicates_of(answer).keys == 10


def test_copies_by_one_commit_are_counted_apart(orders: OrdersTable, asks: Asks) -> None:
    """Two copies by one commit, in one file or two, are what its own equality deletes cannot undo (F16)."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 120), orders=[7, 7, *range(102, 120)])
    orders.commits("a", 3, range(200, 210), orders=range(110, 120))

    answer = asks("duplicate_rows", orders.ask(before))

    assert (duplicates_of(answer).keys, duplicates_of(answer).within_commit) == (11, 1)


def test_copies_by_different_subtasks_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """As far as file names tell; two files of one subtask are one writer (F17)."""
    uuid = "11111111-2222-3333-4444-555555555555"
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {f"00000-0-{uuid}-00001.parquet": range(10, 30)})
    orders.commits_files("a", 3, {f"00000-0-{uuid}-00002.parquet": range(10, 15)})
    orders.commits_files("a", 4, {f"00001-0-{uuid}-00001.parquet": range(15, 22)})

    answer = asks("duplicate_rows", orders.ask(before))

    assert (duplicates_of(answer).keys, duplicates_of(answer).across_subtasks) == (12, 7)
    assert duplicates_of(answer).across_partitions == 0


def test_copies_in_different_partitions_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """A key whose partition changed lives in both (F17); also where rows are told apart by their files."""
    orders.partitions_by_day("event_time")
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, [*range(90_000, 90_004), 5], orders=range(1, 6))

    appended = asks("duplicate_rows", orders.ask(before))
    orders.deletes("order_id = 9")
    rewritten = asks("duplicate_rows", orders.ask(before))

    assert (duplicates_of(appended).keys, duplicates_of(appended).across_partitions) == (5, 4)
    assert duplicates_of(rewritten).across_partitions == 4


def test_without_a_key_no_row_is_a_duplicate(orders: OrdersTable, asks: Asks) -> None:
    """A contract that names no key makes the question unanswerable: all rows are not one fact."""
    before = orders.commits("a", 1, range(10))

    answer = asks("duplicate_rows", orders.ask(before, contract=TableContract()))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == "contract.key"
