"""Rows that live more than once are counted exactly, and of each key the copies that are too many are named."""

import random
from collections import Counter
from collections.abc import Mapping
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.types import DoubleType

from bot.observation.contract import CopyRule, TableContract
from bot.observation.evidence import Answer, Verdict
from bot.observation.findings import ExtraCopiesFinding
from bot.observation.ids import SnapshotId, short
from spark_tasks._support import copies as _copies
from spark_tasks._support import reading as _reading
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.tables import CONTRACT, OrdersTable, rows
from tests.upserts import upserts

pytestmark = pytest.mark.usefixtures("is_large")

BY_TEXT = TableContract(key=("customer",), event_time="event_time", position="source_position")
BY_ID = CONTRACT.model_copy(update={"key": ("id",)})
RANGE = (
    "all live rows with order_id in the window's range, because the window does more than append or begins with the "
    "table"
)
WHOLE = "all live rows, because the window does more than append or begins with the table"


def counts(answer: Answer) -> tuple[int, int, int]:
    """Rows of the window, keys that live more than once, rows too many."""
    found = answer.finding
    return found.rows_checked, found.keys, found.extra_rows


def pairs_of(answer: Answer) -> set[tuple[int, int, int]]:
    """(first, second, keys) of every pair."""
    return {(pair.first, pair.second, pair.keys) for pair in answer.finding.pairs}


COPIES: Mapping[str, tuple[str, tuple[int, int, int], set[tuple[int, int, int]]]] = {
    "within the window and below it; copies that all lie below are not its fault": (
        "a1[0:100] a2[100:200] a3[0:10] | a4[200:300] b4[250:330] b1[90:110]",
        (200, 70, 70), {(3, 4, 50), (0, 5, 10), (1, 5, 10)},
    ),
    "only below the window, and in a commit that was rolled back": (
        "a1[0:100] a2[0:100] | a3[100:150] back a3[100:150]", (50, 0, 0), set(),
    ),
    "only below a window that deletes": ("a1[0:100] a2[0:100] | a3[200:250] drop[240:250]", (40, 0, 0), set()),
    "deleted copies do not count": ("a1[0:100] | a2[50:150] drop[0:80]", (90, 20, 20), {(2, 2, 20)}),
    "a window that begins at a rolled-back commit begins where main left it": (
        "a1[0:100] a2[100:200] | back0 b2[90:130]", (40, 10, 10), {(0, 2, 10)},
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "counted", "pairs"), COPIES.values(), ids=COPIES)
def test_copies_of_the_windows_rows(
    orders: OrdersTable, asks: Asks, line: str, counted: tuple[int, int, int], pairs: set[tuple[int, int, int]]
) -> None:
    """Pairs are the older commit, the one that wrote the same keys again, and how many; they count the line's."""
    before, commits = write(orders, line)

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is (Verdict.CONFIRMED if pairs else Verdict.RULED_OUT)
    assert counts(answer) == counted
    place = commits.index
    assert {(place(first), place(second), keys) for first, second, keys in pairs_of(answer)} == pairs
    if not pairs:
        assert answer.headline == f"Each key of {counted[0]} rows in the window occurs once."


def test_of_a_key_that_lives_often_the_oldest_copies_are_named(orders: OrdersTable, asks: Asks) -> None:
    """One empty key can have a million copies: a row names the first commits, and says how many more there are."""
    before = orders.commits("a", 1, range(100))
    first = orders.commits("a", 2, [7] * 3)
    orders.commits("a", 3, [7] * 10_000)

    answer = asks("duplicate_rows", orders.ask(before))

    assert counts(answer)[1:] == (1, 10_003)
    assert answer.finding.within_commit == 1
    key, copies, commits = answer.rows[0]
    assert (key, copies) == ("7", "10,004")
    assert commits.startswith(f"{short(before)} → {short(first)} → {short(first)} → {short(first)} → ")
    assert commits.endswith(" → 9,996 more")


def test_redacted_keys_are_never_shown(orders: OrdersTable, asks: Asks) -> None:
    """A key column that the contract redacts is compared, and hidden in the sample. Nothing but the key bounds which
    older rows are read: a copy may carry another event time."""
    before, _ = write(orders, "a1[0:100] | b1[90:110]")
    contract = TableContract(key=("customer",), event_time="event_time", redacted=("customer",))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.finding.keys == 10
    assert {row[0] for row in answer.rows} == {"•••"}
    assert "customer-" not in answer.model_dump_json()
    assert answer.sources[1] == "older rows with customer in the window's range"


@pytest.mark.parametrize(
    ("task", "key", "unseen"),
    [
        ("duplicate_rows", ("order_no",), "column order_no of sales.orders"),
        ("duplicate_rows", (), "contract.key"),
        ("extra_copies", (), "contract.key"),
    ],
)
def test_without_a_key_no_row_is_a_duplicate(
    orders: OrdersTable, asks: Asks, task: str, key: tuple[str, ...], unseen: str
) -> None:
    """A contract that names none, or one that the table lacks, makes the question unanswerable, not answered."""
    before, _ = write(orders, "a1[0:10] | a2[0:10]")

    answer = asks(task, orders.ask(before, contract=CONTRACT.model_copy(update={"key": key})))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.could_not_look[0].source == unseen


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
        assert counts(answer) == (inside.total(), len(repeated), sum(repeated.values()) - len(repeated))


@pytest.mark.parametrize("keeps", [True, False])
def test_a_compaction_is_passed_over_if_it_kept_all_rows(orders: OrdersTable, asks: Asks, keeps: bool) -> None:
    """One that wrote more or fewer rows than it read is looked at: the copies may be its own."""
    before, [*_, first] = write(orders, "a1[0:20] a2[20:40] | a3[40:60]")
    orders.compacts(rows([*range(60), *(() if keeps else (7, 45))]))
    again = orders.commits("b", 3, range(55, 70))

    answer = asks("duplicate_rows", orders.ask(before))

    assert counts(answer)[1:] == ((5, 5) if keeps else (7, 7))
    assert ("rows that the window appended" in answer.sources) == keeps
    if keeps:
        assert answer.finding.rows_checked == 35
        assert pairs_of(answer) == {(first, again, 5)}


def test_copies_by_one_commit_are_counted_apart(orders: OrdersTable, asks: Asks) -> None:
    """Two copies by one commit, in one file or two, are what its own equality deletes cannot undo (F16)."""
    before, _ = write(orders, "a1[0:100] | a2[100:120]k[7,7,102:120] a3[200:210]k110")

    answer = asks("duplicate_rows", orders.ask(before))

    assert (answer.finding.keys, answer.finding.within_commit) == (11, 1)


def test_copies_by_different_subtasks_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """As far as file names tell; two files of one subtask are one writer (F17)."""
    uuid = "11111111-2222-3333-4444-555555555555"
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {f"00000-0-{uuid}-00001.parquet": range(10, 30)})
    orders.commits_files("a", 3, {f"00000-0-{uuid}-00002.parquet": range(10, 15)})
    orders.commits_files("a", 4, {f"00001-0-{uuid}-00001.parquet": range(15, 22)})

    answer = asks("duplicate_rows", orders.ask(before))

    assert (answer.finding.keys, answer.finding.across_subtasks) == (12, 7)
    assert answer.finding.across_partitions == 0


def test_copies_in_different_partitions_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """A key whose partition changed lives in both (F17); also where rows are told apart by their files."""
    orders.partitions_by_day("event_time")
    before, _ = write(orders, "a1[0:10] | a2[90000:90004,5]k1")

    appended = asks("duplicate_rows", orders.ask(before))
    orders.deletes("order_id = 9")
    rewritten = asks("duplicate_rows", orders.ask(before))

    assert (appended.finding.keys, appended.finding.across_partitions) == (5, 4)
    assert rewritten.finding.across_partitions == 4


@pytest.mark.parametrize(
    ("keys", "verdict", "said"),
    [
        ("[-,-]", Verdict.INCONCLUSIVE, "3 rows have null in order_id"),
        ("[-,7]", Verdict.CONFIRMED, "2 rows have null in order_id"),
    ],
    ids=["alone", "beside real copies"],
)
def test_rows_without_a_key_are_no_copies_and_nobody_vouches_for_them(
    orders: OrdersTable, asks: Asks, keys: str, verdict: Verdict, said: str
) -> None:
    """Different rows with null there are no alarm; whether one is a copy of another cannot be told either."""
    before, _ = write(orders, f"+[1,2]k[-,7] | +[3,4]k{keys}")

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.verdict is verdict
    assert said in answer.could_not_look[0].reason
    if verdict is Verdict.CONFIRMED:
        assert counts(answer)[1:] == (1, 1)


def spans_of(found: ExtraCopiesFinding) -> list[tuple[tuple[int, int], ...]]:
    """The runs of places, file by file."""
    return [each.spans for each in found.places]


IGNORING = CopyRule(ignore=("source_position", "event_time"))
EXTRA: Mapping[str, tuple[str, CopyRule, dict[str, Any], dict[int, int], str]] = {
    "the later copy is extra; one below the window stays, whoever wrote it, and all of the window's are extra": (
        "a1[0:100] a1[0:5] | a2[100:200] b2[150:230] b1[0:5] b3[0:5]", CopyRule(),
        {"keys": 55, "rows": 60, "differing": 0, "twice_named": 0}, {3: 50, 4: 5, 5: 5}, "",
    ),
    "later copies with another value are no repetition: people say which is right; null differs": (
        "a1[0:10] | a2[10:20] +[30,31,12]k10 +[-]k13", CopyRule(),
        {"keys": 4, "rows": 4, "differing": 3, "columns": {"source_position": 3, "event_time": 3}}, {2: 3, 3: 1}, "",
    ),
    "in columns that each writing sets anew, as the table's owners declare, copies may differ": (
        "a1[0:10] | +[30,31]k8", IGNORING,
        {"keys": 2, "rows": 2, "differing": 0, "columns": {}, "rule": IGNORING}, {1: 2},
        "all copies of a key are equal but source_position and event_time",
    ),
    "where the newest copy is right the older ones are extra; a key with one copy in the window alone is left": (
        "a1[0:10] a2[10:20] | b1[0:5] b2[0:2] b3[20:30]", CopyRule(keep="newest"),
        {"keys": 5, "rows": 7, "below": 5}, {2: 2}, "older copies of a key that the window wrote again",
    ),
    "copies wholly below the window are not its own": (
        "a1[0:10] a1[0:10] | a2[10:20]", CopyRule(), {"keys": 0, "rows": 0}, {}, "",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("line", "rule", "expected", "by_commit", "said"), EXTRA.values(), ids=EXTRA)
def test_which_copies_are_too_many(
    orders: OrdersTable,
    asks: Asks,
    line: str,
    rule: CopyRule,
    expected: dict[str, Any],
    by_commit: dict[int, int],
    said: str,
) -> None:
    """`by_commit`: how many rows of the line's commits are extra. In each file they are named as runs of places."""
    before, commits = write(orders, line)

    answer = asks("extra_copies", orders.ask(before).model_copy(update={"copies": rule}))

    found = answer.finding
    assert answer.verdict is (Verdict.CONFIRMED if by_commit else Verdict.RULED_OUT)
    assert {name: getattr(found, name) for name in expected} == expected
    assert {commits.index(each.snapshot_id): each.rows for each in found.commits} == by_commit
    assert said in answer.headline
    runs = sorted([((0, many - 1),) for many in by_commit.values()] + [((0, 4),)] * bool(found.below))
    assert sorted(spans_of(found)) == runs


def test_a_sample_says_what_differs(orders: OrdersTable, asks: Asks) -> None:
    """An ignored column that the table has not is told: a rule that is out of date must make no copies equal."""
    before, _ = write(orders, "a1[0:10] | b1[5:10]")
    outdated = {"copies": CopyRule(ignore=("loaded_at",))}

    plain = asks("extra_copies", orders.ask(before))
    refused = asks("extra_copies", orders.ask(before).model_copy(update=outdated))

    assert plain.rows[0] == ("5", "1", "nothing")
    assert refused.verdict is Verdict.INCONCLUSIVE
    assert "loaded_at" in refused.headline


def test_rows_of_a_file_that_is_named_twice_are_told(orders: OrdersTable, asks: Asks) -> None:
    """Deleting such a row by its place would delete both: whoever acts on the answer must know."""
    before = orders.commits("a", 1, range(10))
    orders.commits_files("a", 2, {"a.parquet": range(10, 20)}, times=2)

    found = asks("extra_copies", orders.ask(before)).finding

    assert (found.rows, found.twice_named) == (10, 10)


def test_scattered_copies_agree_with_brute_force(orders: OrdersTable, asks: Asks) -> None:
    """Of every key exactly the oldest copy stays, whatever the order in which commits bring it."""
    chance = random.Random(7)  # noqa: S311 - a fixed order, no secret
    orders.commits("a", 1, range(5))
    brought = [chance.sample(range(40), 15) for _ in range(4)]
    for checkpoint, positions in enumerate(brought, start=2):
        orders.commits("a", checkpoint, positions)

    found = asks("extra_copies", orders.ask(None)).finding

    seen: set[int] = set(range(5))
    expected = []
    for positions in brought:
        expected.append(sorted(place for place, key in enumerate(positions) if key in seen))
        seen |= set(positions)
    told = [sorted(p for first, last in spans for p in range(first, last + 1)) for spans in spans_of(found)]
    assert sorted(told) == sorted(filter(None, expected))


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
                gone = [each for each in (dice.randrange(80),) if each not in kept]
                commits.append(upserts(orders, "a", number, places[: len(kept)], keys=kept, deletes=gone))
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
    before = orders.appends(rows(range(4)).append_column("weight", pa.array(weights)))
    again = (range(10, 14), [9.5, 8.5, 7.5, 6.5]) if window == "brings nothing again" else (range(4), weights)
    orders.appends(rows(again[0]).append_column("weight", pa.array(again[1])))
    if window == "upserts":
        upserts(orders, "a", 2, [20], keys=[3], deletes=[1])
    ask = orders.ask(before, contract=CONTRACT.model_copy(update={"key": (key,)}))

    large = [asks(task, ask) for task in ("duplicate_rows", "extra_copies")]
    monkeypatch.setattr(_reading, "_FETCHED_ROWS", 100)
    small = [asks(task, ask) for task in ("duplicate_rows", "extra_copies")]

    assert [(a.verdict, a.finding, a.rows) for a in small] == [(a.verdict, a.finding, a.rows) for a in large]


def test_a_table_that_was_large_where_the_window_began_is_read_in_the_range_of_its_keys(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By now it has few rows."""
    monkeypatch.setattr(_reading, "_FETCHED_ROWS", 100)
    before, _ = write(orders, "+[0:150] | drop[0:140] +[200:202]k145")

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert counts(answer) == (12, 2, 2)


def test_a_window_with_deletes_reads_only_the_range_of_its_keys(orders: OrdersTable, asks: Asks) -> None:
    """And still finds the older copy that no delete has reached."""
    before, _ = write(orders, "+[0:100] | +[100:110]k50")
    upserts(orders, "a", 2, [200, 201], keys=[55, 300], deletes=[1])
    upserts(orders, "a", 3, [202], keys=[56])

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert counts(answer) == (11, 8, 8)


def test_a_file_that_was_taken_out_and_put_in_again_counts(orders: OrdersTable, asks: Asks) -> None:
    """One that only went needs not to be there; what was added last decides."""
    before = orders.appends(rows(range(100)))
    orders.commits_files("a", 2, {"x.parquet": range(7, 9)})
    orders.deletes("source_position < 9")
    orders.names_again("a", 3, ["x.parquet"])

    answer = asks("duplicate_rows", orders.ask(before))

    assert answer.sources == (RANGE,)
    assert counts(answer)[1:] == (0, 0)


@pytest.mark.parametrize("why", ["a null in the key", "a renamed key"])
def test_what_the_files_do_not_tell_is_read_whole(orders: OrdersTable, asks: Asks, why: str) -> None:
    """A null bounds nothing; under another name a file holds another column."""
    is_renamed = why == "a renamed key"
    before, _ = write(orders, "+[0:10] | +[20,21]k[5,5]" if is_renamed else "+[0:10] | +[20,21]k[-,5]")
    upserts(orders, "a", 2, [22], keys=[6])
    if is_renamed:
        orders.renames_column("order_id", "id")
        orders.appends(rows([23]).rename_columns({"order_id": "id"}))

    answer = asks("duplicate_rows", orders.ask(before, contract=BY_ID if is_renamed else CONTRACT))

    assert answer.sources == (WHOLE,)
    assert answer.finding.keys == 1


@pytest.mark.parametrize("window", ["only appends", "deletes too"])
def test_a_key_that_was_renamed_after_the_last_commit_is_still_the_key(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """To Iceberg a snapshot has the names of its own schema; the contract has the present one."""
    before, _ = write(orders, "+[0:10] | +[20,21]k[5,30]")
    if window == "deletes too":
        upserts(orders, "a", 2, [22], keys=[6])
    orders.renames_column("order_id", "id")

    answer = asks("duplicate_rows", orders.ask(before, contract=BY_ID))

    assert counts(answer)[1:] == (1, 1)
