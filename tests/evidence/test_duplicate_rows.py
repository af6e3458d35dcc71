"""Duplicates and parts of the source that came twice are counted exactly."""

import random
from collections import Counter
from collections.abc import Iterable

import pyarrow as pa
import pytest
from pyiceberg.types import DoubleType, LongType, PrimitiveType

from bot.domain.contract import CopyRule, TableContract
from bot.domain.evidence import Answer, Verdict
from bot.domain.findings import (
    CommitRanges,
    DuplicateCommitsFinding,
    DuplicatesFinding,
    ExtraCopiesFinding,
    RepeatedCommit,
)
from bot.domain.ids import SnapshotId, short
from bot.domain.ledger import SourceRange
from bot.domain.looked import NotSeen
from spark_tasks import _copies, _reading, duplicate_commits, extra_copies
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_commits import BY_PARTITION, repeats
from tests.tables import CONTRACT, ORDERS, OrdersTable, of_flink, rows
from tests.upserts import upserts

pytestmark = pytest.mark.usefixtures("is_large")

BY_TEXT = TableContract(key=("customer",), event_time="event_time", position="source_position")


def of_shops(positions: range, shops: list[int], kind: pa.DataType) -> pa.Table:
    """Rows with these whole numbers as source partition."""
    made = rows(positions)
    return made.set_column(made.schema.get_field_index("source_partition"), "source_partition", pa.array(shops, kind))


def widens(orders: OrdersTable, name: str, kind: PrimitiveType) -> None:
    """Another engine widens a column."""
    orders.catalog.load_table(ORDERS).update_schema().update_column(name, kind).commit()


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
    assert answer.headline == "Each key of 50 rows in the window occurs once."


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


def test_rows_without_a_key_are_no_copies_and_nobody_vouches_for_them(orders: OrdersTable, asks: Asks) -> None:
    """Different rows with null there are no alarm; whether one is a copy of another cannot be told either."""
    before = orders.appends(rows([1, 2], orders=[None, 7]))
    orders.appends(rows([3, 4], orders=[None, None]))

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "3 rows have null in order_id" in answer.headline


def test_rows_without_a_key_are_counted_beside_real_copies(orders: OrdersTable, asks: Asks) -> None:
    """They are in neither count, and named."""
    before = orders.appends(rows([1, 2], orders=[None, 7]))
    orders.appends(rows([3, 4], orders=[None, 7]))

    answer = asks("duplicate_rows", orders.ask(before))

    assert (1, 1) == (duplicates_of(answer).keys, duplicates_of(answer).extra_rows)
    assert "2 rows have null in order_id" in answer.could_not_look[0].reason


RANGE = (
    "all live rows with order_id in the window's range, because the window does more than append or begins with the "
    "table"
)
WHOLE = "all live rows, because the window does more than append or begins with the table"


def found(answer: Answer) -> tuple[int, int, int]:
    """Rows of the window, keys that live more than once, rows too many."""
    told = answer.finding
    assert isinstance(told, DuplicatesFinding)
    return told.rows_checked, told.keys, told.extra_rows


def history(orders: OrdersTable, seed: int) -> list[SnapshotId]:
    """Appends, upserts, deletes of another engine and rewritten rows, by chance; keys repeat and are spread a bit."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    commits = [orders.appends(rows(range(40), orders=[dice.randrange(60) for _ in range(40)]))]
    for number in range(1, 8):
        keys = [dice.randrange(10 * number, 10 * number + 40) for _ in range(dice.randrange(1, 8))]
        places = range(100 * number, 100 * number + len(keys))
        match dice.randrange(4):
            case 0:
                commits.append(orders.commits("a", number, places, orders=keys))
            case 1:
                commits.append(orders.overwrites(rows(places, orders=keys), f"order_id = {keys[0]}"))
            case _:
                kept = sorted(set(keys))
                gone = [dice.randrange(80)]
                commits.append(
                    upserts(
                        orders, "a", number, places[: len(kept)], keys=kept, deletes=[g for g in gone if g not in kept]
                    )
                )
    return commits


@pytest.mark.filterwarnings("ignore:Delete operation did not match")
@pytest.mark.slow
@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=pytest.mark.long)])
def test_counts_are_those_of_a_read_of_the_whole_table(
    orders: OrdersTable, asks: Asks, seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every copy of a key that lives in a file of the window lies in the range of these files' keys."""
    commits = history(orders, seed)
    asked = [orders.ask(commits[0], contract=BY_TEXT), orders.ask(commits[4])]

    narrow = [asks("duplicate_rows", ask) for ask in asked]
    monkeypatch.setattr(_copies, "keys_brought", lambda *_: None)
    whole = [asks("duplicate_rows", ask) for ask in asked]

    assert [(each.finding, each.rows) for each in narrow] == [(each.finding, each.rows) for each in whole]


@pytest.mark.parametrize(
    ("window", "key"), [("appends", "weight"), ("upserts", "order_id"), ("brings nothing again", "customer")]
)
def test_a_small_table_is_read_at_once_and_tells_the_same(
    orders: OrdersTable, asks: Asks, key: str, window: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nulls and NaN included, whatever the key's type."""
    orders.adds_column("weight", DoubleType())
    weights = [1.5, float("nan"), None, 0.0]
    older = rows(range(4)).append_column("weight", pa.array(weights))
    before = orders.appends(older)
    places = range(10, 14) if window == "brings nothing again" else range(4)
    newer = [9.5, 8.5, 7.5, 6.5] if window == "brings nothing again" else weights
    orders.appends(rows(places).append_column("weight", pa.array(newer)))
    if window == "upserts":
        upserts(orders, "a", 2, [20], keys=[3], deletes=[1])
    ask = orders.ask(before, contract=CONTRACT.model_copy(update={"key": (key,)}))

    large = [asks(task, ask) for task in ("duplicate_rows", "extra_copies")]
    _copies._SINGLE.clear()
    monkeypatch.setattr(_reading, "_FETCHED_ROWS", 100)
    small = [asks(task, ask) for task in ("duplicate_rows", "extra_copies")]

    assert [(a.verdict, a.finding, a.rows) for a in small] == [(a.verdict, a.finding, a.rows) for a in large]


def test_a_table_that_was_large_where_the_window_began_is_read_in_the_range_of_its_keys(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By now it has few rows."""
    monkeypatch.setattr(_reading, "_FETCHED_ROWS", 100)
    before = orders.appends(rows(range(150)))
    orders.deletes("source_position < 140")
    orders.appends(rows(range(200, 202), orders=[145, 146]))

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert found(answer) == (12, 2, 2)


def test_a_window_with_deletes_reads_only_the_range_of_its_keys(orders: OrdersTable, asks: Asks) -> None:
    """And still finds the older copy that no delete has reached."""
    before = orders.appends(rows(range(100)))
    orders.appends(rows(range(100, 110), orders=range(50, 60)))
    upserts(orders, "a", 2, [200, 201], keys=[55, 300], deletes=[1])
    upserts(orders, "a", 3, [202], keys=[56])

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert found(answer) == (11, 8, 8)


def test_a_file_that_was_taken_out_and_put_in_again_counts(orders: OrdersTable, asks: Asks) -> None:
    """One that only went needs not to be there; what was added last decides."""
    before = orders.appends(rows(range(100)))
    orders.commits_files("a", 2, {"x.parquet": range(7, 9)})
    orders.deletes("source_position < 9")
    orders.names_again("a", 3, ["x.parquet"])

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert found(answer)[1:] == (0, 0)


@pytest.mark.parametrize("why", ["a null in the key", "a renamed key"])
def test_what_the_files_do_not_tell_is_read_whole(orders: OrdersTable, asks: Asks, why: str) -> None:
    """A null bounds nothing; under another name a file holds another column."""
    before = orders.appends(rows(range(10)))
    orders.appends(rows([20, 21], orders=[None if why == "a null in the key" else 5, 5]))
    upserts(orders, "a", 2, [22], keys=[6])
    contract = CONTRACT
    if why == "a renamed key":
        orders.renames_column("order_id", "id")
        orders.appends(rows([23]).rename_columns({"order_id": "id"}))
        contract = CONTRACT.model_copy(update={"key": ("id",)})

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.sources == (WHOLE,)
    assert found(answer)[1] == 1


@pytest.mark.parametrize("window", ["only appends", "deletes too"])
def test_a_key_that_was_renamed_after_the_last_commit_is_still_the_key(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """To Iceberg a snapshot has the names of its own schema; the contract has the present one."""
    before = orders.appends(rows(range(10)))
    orders.appends(rows([20, 21], orders=[5, 30]))
    if window == "deletes too":
        upserts(orders, "a", 2, [22], keys=[6])
    orders.renames_column("order_id", "id")

    answer = asks("duplicate_rows", orders.ask(before, contract=CONTRACT.model_copy(update={"key": ("id",)})))

    assert found(answer)[1:] == (1, 1)


def test_what_one_task_has_ruled_out_another_does_not_read_again(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Copies are looked for once; in another window anew."""
    before = orders.commits("a", 1, range(10))
    after = orders.commits("a", 2, range(10, 20))
    assert asks("duplicate_rows", orders.ask(before)).verdict is Verdict.RULED_OUT
    monkeypatch.setattr(extra_copies, "copies_of", None)

    assert asks("extra_copies", orders.ask(before)).verdict is Verdict.RULED_OUT
    orders.commits("b", 2, range(15, 20))
    with pytest.raises(TypeError):
        asks("extra_copies", orders.ask(after))


Part = tuple[str | None, int, int]


def only(answer: Answer) -> RepeatedCommit:
    """The one repeating commit."""
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    [found] = answer.finding.repeated
    return found


def parts_of(found: RepeatedCommit) -> list[Part]:
    """Each as partition, first and last."""
    return [(each.partition, each.first, each.last) for each in found.parts]


def mixed(of_zero: Iterable[int], of_one: Iterable[int]) -> pa.Table:
    """Rows of two source partitions, in one file."""
    return pa.concat_tables([rows(of_zero, partition=0), rows(of_one, partition=1)])


def test_what_lies_beside_the_repeated_positions_is_there_once(orders: OrdersTable, asks: Asks) -> None:
    """A run began five checkpoints too low and went on: two commits of another hold what it brought again."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    first = orders.commits("a", 3, range(20, 35))
    again = orders.commits("b", 3, range(15, 100))

    answer = asks("duplicate_commits", orders.ask(before))

    assert repeats(answer) == [(first, again, "same-source-range")]
    assert parts_of(only(answer)) == [(None, 15, 34)]
    assert (only(answer).rows, only(answer).rows_again, only(answer).is_at_most) == (85, 20, False)
    assert answer.headline.endswith(", 20 rows of its 85: positions 15 to 34.")
    assert answer.measures[1].value == 20


def test_parts_are_told_by_source_partition(orders: OrdersTable, asks: Asks) -> None:
    """Of one partition that came again in part, and of one that did not."""
    before = orders.commits("a", 1, range(10))
    orders.appends(mixed(range(10, 20), range(100, 120)), of_flink("a", 2))
    orders.appends(mixed(range(16, 30), range(120, 140)), of_flink("b", 2))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert parts_of(only(answer)) == [("0", 16, 19)]
    assert only(answer).rows_again == 4
    assert answer.headline.endswith(", 4 rows of its 34: positions 16 to 19 of partition 0.")


def test_rows_are_counted_where_positions_have_holes(orders: OrdersTable, asks: Asks) -> None:
    """The job filters: bounds do not tell how many of its rows stand at a position that the other has, too."""
    before = orders.commits("a", 1, range(0, 100, 10))
    orders.commits("a", 2, range(100, 200, 10))
    orders.commits("b", 2, range(150, 400, 5), orders=range(1000, 1050))

    found = only(asks("duplicate_commits", orders.ask(before)))

    assert parts_of(found) == [(None, 150, 190)]
    assert (found.rows, found.rows_again, found.is_at_most) == (50, 5, False)


def test_more_rows_than_are_read_are_no_more_than_that(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Then all that the commit brought are as many as it can be."""
    monkeypatch.setattr(duplicate_commits, "MAX_FILES", 1)
    before = orders.commits("a", 1, range(0, 100, 10))
    orders.commits("a", 2, range(100, 200, 10))
    orders.commits("b", 2, range(150, 400, 5), orders=range(1000, 1050))

    answer = asks("duplicate_commits", orders.ask(before))

    assert (only(answer).rows_again, only(answer).is_at_most) == (50, True)
    assert answer.headline.endswith(", up to 50 rows: positions 150 to 190.")


def test_a_commit_without_a_row_in_the_other_s_range_repeats_nothing(orders: OrdersTable, asks: Asks) -> None:
    """A run that was told to skip what another had brought reaches over it."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(20, 30))
    orders.commits("b", 1, [*range(10, 20), *range(30, 40)])

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_run_that_goes_on_in_partitions_that_nobody_names_repeats_nothing(orders: OrdersTable, asks: Asks) -> None:
    """The contract names no source partition: the ranges of two runs overlap, and no position came again."""
    before = orders.commits("a", 1, [*range(10), *range(1000, 1010)])
    orders.commits("a", 2, [*range(10, 20), *range(1010, 1020)])
    orders.commits("b", 3, [*range(20, 30), *range(1020, 1030)])
    orders.commits("b", 4, range(500, 510))

    answer = asks("duplicate_commits", orders.ask(before))

    assert answer.verdict is Verdict.RULED_OUT


def test_a_hidden_position_is_counted_and_not_shown(orders: OrdersTable, asks: Asks) -> None:
    """How many came again is not a value of the column."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20))
    orders.commits("b", 2, range(15, 30))
    hidden = CONTRACT.model_copy(update={"redacted": ("source_position",)})

    answer = asks("duplicate_commits", orders.ask(before, contract=hidden))

    assert (only(answer).rows_again, only(answer).parts) == (5, ())
    assert answer.headline.endswith(", 5 rows of its 15.")


@pytest.mark.parametrize("run", ["a", "b"])
def test_a_source_partition_that_was_widened_is_the_same_one(orders: OrdersTable, asks: Asks, run: str) -> None:
    """Bounds of older files keep it in four bytes, those of newer ones in eight."""
    before = orders.commits("a", 1, range(10))
    first = orders.commits("a", 2, range(10, 20), partition=3, orders=range(100, 110))
    widens(orders, "source_partition", LongType())
    again = orders.appends(of_shops(range(10, 15), [3] * 5, pa.int64()), of_flink(run, 3))
    orders.appends(of_shops(range(20, 25), [3] * 5, pa.int64()), of_flink(run, 4))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert repeats(answer) == [(first, again, "same-source-range")]
    assert parts_of(only(answer)) == [("3", 10, 14)]


def test_what_one_run_read_again_shows_in_files_of_several_partitions(orders: OrdersTable, asks: Asks) -> None:
    """Their bounds tell nothing of each partition, so the rows are read: the job goes back, and goes on."""
    before = orders.commits("a", 1, range(10))
    first = orders.appends(mixed(range(10, 20), range(100, 110)), of_flink("a", 2))
    goes_on = orders.appends(mixed(range(20, 30), range(110, 120)), of_flink("a", 3))
    calm = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))
    again = orders.appends(mixed(range(10, 15), range(120, 130)), of_flink("a", 4))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert (calm.verdict, calm.could_not_look) == (Verdict.RULED_OUT, ())
    assert goes_on not in [each for one, other, _ in repeats(answer) for each in (one, other)]
    assert repeats(answer) == [(first, again, "same-source-range")]
    assert parts_of(only(answer)) == [("0", 10, 14)]


@pytest.mark.parametrize("run", ["a", "b"])
def test_files_of_several_partitions_that_cannot_be_read_rule_nothing_out(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, run: str
) -> None:
    """Also where two runs' event times do not overlap by half. What whole commits tell is told still."""
    why = NotSeen(source="files", reason="They are of another kind.", remedy="None.")
    monkeypatch.setattr(duplicate_commits, "parts_by_commit", lambda *_asked: why)
    before = orders.commits("a", 1, range(10))
    orders.appends(mixed(range(10, 20), range(100, 110)), of_flink("a", 2))
    orders.appends(mixed(range(105, 130), range(110, 130)), of_flink(run, 3))

    answer = asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert isinstance(answer.finding, DuplicateCommitsFinding)
    assert (answer.finding.commits_checked, answer.finding.repeated) == (2, ())
    assert [each.ranges is not None for each in answer.finding.ranges or ()] == [True, False, False]
    assert "bring several source partitions in one file" in answer.headline
    assert "replayed_rows" in answer.could_not_look[0].remedy


def three(*of: Iterable[int]) -> pa.Table:
    """Rows of so many source partitions, in one file."""
    return pa.concat_tables([rows(each, partition=number) for number, each in enumerate(of)])


def test_each_commit_tells_what_it_brought_though_its_files_mix_source_partitions(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two writers read three partitions. Of what another engine wrote nobody reads the rows: it tells nothing, and not
    that it brought nothing."""
    below = orders.commits("a", 1, range(5), partition=2)
    uneven = orders.appends(three([5, 6, 9], range(100, 110), range(5, 6)), of_flink("a", 2))
    silent = orders.appends(three([], range(110, 120), range(6, 10)), of_flink("a", 3))
    others = orders.appends(three(range(10, 12), range(120, 121)))

    finding = asks("duplicate_commits", orders.ask(below, contract=BY_PARTITION)).finding

    def part(partition: int, low: int, high: int, rows_there: int) -> SourceRange:
        return SourceRange(partition=str(partition), low=low, high=high, rows=rows_there)

    assert isinstance(finding, DuplicateCommitsFinding)
    assert finding.ranges == (
        CommitRanges(snapshot_id=below, ranges=(part(2, 0, 4, 5),)),
        CommitRanges(snapshot_id=uneven, ranges=(part(0, 5, 9, 3), part(1, 100, 109, 10), part(2, 5, 5, 1))),
        CommitRanges(snapshot_id=silent, ranges=(part(1, 110, 119, 10), part(2, 6, 9, 4))),
        CommitRanges(snapshot_id=others, ranges=None),
    )
    assert DuplicateCommitsFinding.model_validate_json(finding.model_dump_json()) == finding
    assert "ranges" not in DuplicateCommitsFinding(commits_checked=1, repeated=()).model_dump()

    monkeypatch.setattr(duplicate_commits, "MOST_COMMIT_RANGES", 5)
    cut = asks("duplicate_commits", orders.ask(below, contract=BY_PARTITION)).finding
    hidden = BY_PARTITION.model_copy(update={"redacted": ("source_partition",)})
    unseen = asks("duplicate_commits", orders.ask(below, contract=hidden)).finding

    assert isinstance(cut, DuplicateCommitsFinding)
    assert isinstance(unseen, DuplicateCommitsFinding)
    assert (cut.ranges, unseen.ranges) == (None, None)


def test_rows_without_a_source_partition_are_no_part_of_the_one_beside_them(orders: OrdersTable, asks: Asks) -> None:
    """The file's bounds name one partition, and some of its rows have none."""
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(10, 20), partition=1)
    orders.appends(of_shops(range(10, 20), [1, *[None] * 9], pa.int32()), of_flink("b", 2))  # type: ignore[list-item]

    found = only(asks("duplicate_commits", orders.ask(before, contract=BY_PARTITION)))

    assert parts_of(found) == [("1", 10, 10)]
    assert found.rows_again == 1
