"""Copies are traced to the commit that wrote them, through compactions, updates and row lineage."""

import random
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from uuid import UUID

import pyarrow as pa
import pytest
from pyiceberg.types import DoubleType, UUIDType
from pyspark.sql import SparkSession

from bot.observation.evidence import Verdict
from bot.observation.ids import SnapshotId
from spark_tasks._support import before_compaction as _before_compaction
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import BY_TEXT, pairs_of
from tests.merges import MergedTable
from tests.tables import OrdersTable, rows
from tests.upserts import upserts

pytestmark = [pytest.mark.slow, pytest.mark.rotating, pytest.mark.usefixtures("is_large")]

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

    found = answer.finding
    assert (found.keys, found.within_commit, found.across_subtasks, found.hidden) == (5, 5, 5, 0)
    assert pairs_of(answer) == {(doubling, doubling, 5)}


@pytest.mark.long
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
    extra = asks("extra_copies", orders.ask(before)).finding

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
    assert counted.finding.keys == 0


@pytest.mark.long
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
    extra = asks("extra_copies", orders.ask(before)).finding

    found = answer.finding
    assert (found.keys, found.within_commit, found.across_subtasks, found.hidden, found.pairs) == (5, 0, 0, 5, ())
    assert "A compaction has rewritten the copies and hides which commits wrote them" in answer.headline
    assert (extra.rows, extra.hidden, extra.commits) == (5, 5, ())


def test_where_one_of_the_copies_was_deleted_since_nobody_knows_which(orders: OrdersTable, asks: Asks) -> None:
    """Three copies were read by the compaction and two are left: of two commits any may be the writer."""
    before = orders.commits("a", 1, range(20))
    for run in ("a", "b", "c"):
        orders.commits(run, 2, [25])
    orders.compacts(rows([*range(20), 25, 25, 25]))
    orders.compacts(rows([*range(20), 25, 25]))
    upserts(orders, "c", 4, [61], keys=[61])

    found = asks("duplicate_rows", orders.ask(before)).finding

    assert (found.keys, found.hidden, found.pairs) == (1, 1, ())


def replayed(
    session: SparkSession, folder: Path, version: int, mode: str = "copy-on-write"
) -> tuple[MergedTable, SnapshotId, tuple[int, int]]:
    """Five keys come again: (the table, the commit below, the commit that brought them and the one that repeats)."""
    table = MergedTable(session, folder, mode=mode, version=version)
    before = table.commits("a", 1, 0, 10)
    commits = table.commits("a", 2, 10, 20), table.commits("b", 2, 15, 25)
    return table, before, commits


@pytest.mark.parametrize(
    "then",
    ["nothing", pytest.param("a compaction", marks=pytest.mark.long), "a compaction of those below the window too"],
)
def test_rows_that_a_delete_copied_are_those_of_their_writer(
    session: SparkSession, asks: Asks, tmp_path: Path, then: str
) -> None:
    """It copied those beside the row that it took, and so would seem to have brought them itself."""
    table, before, (first, again) = replayed(session, tmp_path, 3)
    table.deletes("order_id = 19")
    if then != "nothing":
        table.compacts("true" if "too" in then else "order_id >= 10")
    ask = table.ask(before)

    copies, extra = asks("duplicate_rows", ask), asks("extra_copies", ask).finding

    assert copies.verdict is Verdict.CONFIRMED
    assert pairs_of(copies) == {(first, again, 4)}
    assert [(each.snapshot_id, each.rows) for each in extra.commits] == [(again, 4)]


@pytest.mark.parametrize(("version", "hidden"), [(3, 0), pytest.param(2, 5, marks=pytest.mark.long)])
def test_behind_a_compaction_that_is_not_looked_behind_rows_name_their_writer(
    session: SparkSession, asks: Asks, tmp_path: Path, version: int, hidden: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In format 2 rows say nothing, and the writer stays hidden."""
    table, before, (first, again) = replayed(session, tmp_path, version, "merge-on-read")
    table.compacts()
    table.deletes("order_id = 0")
    monkeypatch.setattr(_before_compaction, "MAX_COMPACTIONS", 0)
    ask = table.ask(before)

    copies, extra = asks("duplicate_rows", ask), asks("extra_copies", ask).finding

    if version == 3:
        assert pairs_of(copies) == {(first, again, 5)}
        assert [(each.snapshot_id, each.rows) for each in extra.commits] == [(again, 5)]
    assert (copies.finding.keys, copies.finding.across_subtasks) == (5, 0)
    assert (copies.finding.hidden, extra.hidden) == (hidden, hidden)


def test_rows_that_were_compacted_before_the_upgrade_name_nobody(
    session: SparkSession, asks: Asks, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """All of them say the newest commit before the compaction (measured: Iceberg gives its number to the file)."""
    table, before, _ = replayed(session, tmp_path, 2, "merge-on-read")
    table.compacts()
    table.sets("format-version", "3")
    table.commits("b", 3, 25, 30)
    table.deletes("order_id = 0")
    monkeypatch.setattr(_before_compaction, "MAX_COMPACTIONS", 0)

    found = asks("duplicate_rows", table.ask(before)).finding

    assert (found.keys, found.hidden, found.pairs) == (5, 5, ())


BY_UUID = BY_TEXT.model_copy(update={"key": ("id",)})


@pytest.mark.parametrize("where", ["before the window's times", "after them", "without a time"])
def test_an_older_copy_is_found_whatever_its_event_time(orders: OrdersTable, asks: Asks, where: str) -> None:
    """A job that fills the time of arrival, corrects it, or leaves it out makes copies of other times."""
    told = {"before the window's times": 3, "after them": 90_000, "without a time": None}
    before = orders.appends(rows([told[where], 4], orders=[7, 8]))
    orders.appends(rows([100, 101], orders=[7, 9]))

    answer = asks("duplicate_rows", orders.ask(before, contract=BY_TEXT))

    assert answer.verdict is Verdict.CONFIRMED
    assert (answer.finding.keys, answer.finding.extra_rows) == (1, 1)


@pytest.mark.parametrize("seed", [0, *(pytest.param(seed, marks=pytest.mark.long) for seed in (1, 2))])
def test_counts_of_text_keys_agree_with_brute_force(orders: OrdersTable, asks: Asks, seed: int) -> None:
    """Exact on random histories whose event times are spread, or null, and say nothing about the key."""
    dice = random.Random(seed)  # noqa: S311 - a repeatable history, no secret
    written = [[dice.randrange(80) for _ in range(dice.randrange(1, 25))] for _ in range(8)]
    commits = []
    for number, keys in enumerate(written):
        times = [dice.choice([None, dice.randrange(80_000)]) if number < 4 else 40_000 + number for _ in keys]
        commits.append(orders.appends(rows(times, orders=keys)))

    for begin in (1, 4, 6):
        answer = asks("duplicate_rows", orders.ask(commits[begin], contract=BY_TEXT))

        assert counted_by(answer_of := answer.finding) == brute(written, begin + 1)
        assert (answer.verdict is Verdict.CONFIRMED) == bool(answer_of.keys)


@pytest.mark.parametrize("task", ["duplicate_rows", pytest.param("extra_copies", marks=pytest.mark.long)])
def test_uuids_are_compared_over_the_whole_table(orders: OrdersTable, asks: Asks, task: str) -> None:
    """To Spark a UUID is text, to Iceberg 16 bytes: between two texts it finds none."""
    orders.adds_column("id", UUIDType())
    before = orders.appends(with_ids([0x00, 0x30, 0x70, 0x90, 0xF0], position=0))
    orders.appends(with_ids([0x10, 0x30, 0x90, 0xE0], position=100))

    answer = asks(task, orders.ask(before, contract=BY_UUID))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.measures[0].value == 2
    assert answer.sources[1] == "all older rows"


def test_a_key_that_is_no_number_is_a_key_too(orders: OrdersTable, asks: Asks) -> None:
    """NaN equals itself as a key, and bounds nothing."""
    orders.adds_column("weight", DoubleType())
    contract = BY_TEXT.model_copy(update={"key": ("weight",)})
    before = orders.appends(with_column(rows([1, 2, 3]), "weight", [1.5, float("nan"), 9.0]))
    orders.appends(with_column(rows([4, 5, 6]), "weight", [1.0, float("nan"), 9.0]))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.finding.keys == 2


def test_of_two_key_columns_the_narrow_one_bounds(orders: OrdersTable, asks: Asks) -> None:
    """A copy has both: only its order id tells where it can lie."""
    contract = BY_TEXT.model_copy(update={"key": ("customer", "order_id")})
    orders.appends(rows([90_000, None], orders=[3, 500]))
    before = orders.appends(rows([2], orders=[600]))
    orders.appends(rows([10, 11], orders=[3, 4]))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.finding.keys == 1
    assert answer.sources[1] == "older rows with customer and order_id in the window's range"


def counted_by(found: object) -> tuple[int, int, int]:
    """Checked rows, keys and extra rows of a finding."""
    return tuple(getattr(found, name) for name in ("rows_checked", "keys", "extra_rows"))  # type: ignore[return-value]


def brute(written: Sequence[Sequence[int]], first: int) -> tuple[int, int, int]:
    """The same, counted without Spark; the window begins with commit `first`."""
    inside = Counter(key for keys in written[first:] for key in keys)
    everywhere = Counter(key for keys in written for key in keys)
    repeated = [everywhere[key] for key in inside if everywhere[key] > 1]
    return inside.total(), len(repeated), sum(repeated) - len(repeated)


def with_ids(first_bytes: Sequence[int], position: int) -> pa.Table:
    """Rows whose UUIDs begin so and are alike in all else; one event a second from `position` on."""
    ids = [UUID(int=each << 120 | 7).bytes for each in first_bytes]
    stored = pa.ExtensionArray.from_storage(pa.uuid(), pa.array(ids, pa.binary(16)))
    return rows(range(position, position + len(ids))).append_column("id", stored)


def with_column(table: pa.Table, name: str, values: Sequence[float]) -> pa.Table:
    """The rows with one more column."""
    return table.append_column(name, pa.array(values, pa.float64()))
