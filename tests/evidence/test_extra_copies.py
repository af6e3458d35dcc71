"""Extra copies are told by file and place, with what stays and what differs."""

import random

from bot.domain.copies import CopyRule
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import ExtraCopiesFinding
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, rows


def found_by(answer: Answer) -> ExtraCopiesFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, ExtraCopiesFinding)
    return answer.finding


def spans_of(found: ExtraCopiesFinding) -> list[tuple[tuple[int, int], ...]]:
    """The runs of places, file by file."""
    return [each.spans for each in found.places]


def test_the_later_copy_is_extra_and_is_told_by_its_place(orders: OrdersTable, asks: Asks) -> None:
    """A replay's rows are named as runs in its own file; what it brought anew is not among them."""
    before = orders.commits("a", 1, range(100))
    orders.commits("a", 2, range(100, 200))
    again = orders.commits("b", 2, range(150, 230))

    answer = asks("extra_copies", orders.ask(before))

    found = found_by(answer)
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.keys, found.rows, found.differing, found.twice_named) == (50, 50, 0, 0)
    assert [(each.snapshot_id, each.rows) for each in found.commits] == [(again, 50)]
    assert spans_of(found) == [((0, 49),)]
    assert answer.rows[0] == ("150", "1", "nothing")


def test_a_copy_below_the_window_stays_whoever_wrote_it(orders: OrdersTable, asks: Asks) -> None:
    """Where the older copy lies below the window, all of the window's copies are extra; those below stay."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 1, range(10))
    orders.commits("b", 1, range(5))
    orders.commits("b", 2, range(5))

    answer = asks("extra_copies", orders.ask(before))

    found = found_by(answer)
    assert (found.keys, found.rows) == (5, 10)
    assert spans_of(found) == [((0, 4),), ((0, 4),)]


def test_copies_that_differ_are_counted_with_the_columns(orders: OrdersTable, asks: Asks) -> None:
    """A later copy with another value is no repetition: which of both is right is for people to say. Null differs."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.appends(rows([30, 31, 12], orders=[10, 11, 12]))
    orders.appends(rows([None], orders=[13]))

    found = found_by(asks("extra_copies", orders.ask(before)))

    assert (found.keys, found.rows, found.differing) == (4, 4, 3)
    assert found.columns == {"source_position": 3, "event_time": 3}


def test_copies_that_differ_in_an_ignored_column_alone_are_the_same_row(orders: OrdersTable, asks: Asks) -> None:
    """The table's owners have declared that each writing sets it anew."""
    before = orders.commits("a", 1, range(10))
    orders.appends(rows([30, 31], orders=[8, 9]))
    rule = CopyRule(ignore=("source_position", "event_time"))

    answer = asks("extra_copies", orders.ask(before).model_copy(update={"copies": rule}))

    found = found_by(answer)
    assert (found.keys, found.rows, found.differing, found.columns) == (2, 2, 0, {})
    assert found.rule == rule
    assert "all copies of a key are equal but source_position and event_time" in answer.headline


def test_where_the_newest_copy_is_right_the_older_ones_are_extra(orders: OrdersTable, asks: Asks) -> None:
    """Wherever they were written; a key of which the window has only one copy, and none lives below, is left alone."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 2, range(10, 20))
    middle = orders.commits("b", 1, range(5))
    orders.commits("b", 2, range(2))
    orders.commits("b", 3, range(20, 30))

    answer = asks("extra_copies", orders.ask(before).model_copy(update={"copies": CopyRule(keep="newest")}))

    found = found_by(answer)
    assert (found.keys, found.rows, found.below) == (5, 7, 5)
    assert [(each.snapshot_id, each.rows) for each in found.commits] == [(middle, 2)]
    assert sorted(spans_of(found)) == [((0, 1),), ((0, 4),)]
    assert "older copies of a key that the window wrote again" in answer.headline


def test_an_ignored_column_that_the_table_has_not_is_told(orders: OrdersTable, asks: Asks) -> None:
    """A rule that is out of date must not make copies equal by accident."""
    before = orders.commits("a", 1, range(10))
    orders.commits("b", 1, range(5))

    answer = asks("extra_copies", orders.ask(before).model_copy(update={"copies": CopyRule(ignore=("loaded_at",))}))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "loaded_at" in answer.headline


def test_rows_of_a_file_that_is_named_twice_are_told(orders: OrdersTable, asks: Asks) -> None:
    """Deleting such a row by its place would delete both: whoever acts on the answer must know."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"a.parquet": range(10, 20)}, times=2)

    found = found_by(asks("extra_copies", orders.ask(before)))

    assert (found.rows, found.twice_named) == (10, 10)


def test_a_window_without_a_copy_is_ruled_out(orders: OrdersTable, asks: Asks) -> None:
    """Copies wholly below the window are not its own; a window of new keys has none."""
    orders.commits("a", 1, range(10))
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))

    answer = asks("extra_copies", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert found_by(answer).rows == 0


def test_a_contract_without_a_key_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """Nothing is guessed."""
    orders.commits("a", 1, range(10))

    answer = asks("extra_copies", orders.ask(None, contract=CONTRACT.model_copy(update={"key": ()})))

    assert answer.verdict is Verdict.INCONCLUSIVE


def test_scattered_copies_agree_with_brute_force(orders: OrdersTable, asks: Asks) -> None:
    """Of every key exactly the oldest copy stays, whatever the order in which commits bring it."""
    chance = random.Random(7)  # noqa: S311 - a fixed order, no secret
    orders.commits("a", 1, range(5))
    brought = [chance.sample(range(40), 15) for _ in range(4)]
    for checkpoint, positions in enumerate(brought, start=2):
        orders.commits("a", checkpoint, positions)

    found = found_by(asks("extra_copies", orders.ask(None)))

    seen: set[int] = set(range(5))
    expected = []
    for positions in brought:
        expected.append(sorted(place for place, key in enumerate(positions) if key in seen))
        seen |= set(positions)
    told = [sorted(p for first, last in spans for p in range(first, last + 1)) for spans in spans_of(found)]
    assert sorted(told) == sorted(filter(None, expected))
