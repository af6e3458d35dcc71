"""Changed, gone and compacted keys are counted between two states, however the writer changes rows."""

import json
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.history.other_writers import rows_lost_by_replacing
from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Verdict
from bot.observation.ids import SnapshotId
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.merges import MergedTable
from tests.tables import OrdersTable, rows
from tests.upserts import upserts


@pytest.mark.parametrize(("mode", "version"), [("copy-on-write", 2), ("merge-on-read", 2), ("merge-on-read", 3)])
def test_a_merge_changes_what_it_updates_and_not_what_it_copies(
    session: SparkSession, asks: Asks, tmp_path: Path, mode: str, version: int
) -> None:
    """By copied files, by position deletes and by deletion vectors alike; a new key is no correction."""
    table = MergedTable(session, tmp_path, mode=mode, version=version)
    before = table.inserts(0, 100)
    table.inserts(100, 150)
    table.merges(90, 160, "nobody")
    table.deletes("order_id IN (3, 5)")

    answer = asks("corrected_rows", table.ask(before))

    found = answer.finding
    assert answer.verdict is Verdict.CONFIRMED
    assert (found.keys, found.gone, found.columns) == (10, 2, {"customer": 10})
    assert answer.rows[0] == ("90", "changed", "customer")
    assert answer.rows[-1] == ("5", "gone", "")


def test_a_merge_that_changes_nothing_is_no_correction(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """Rows were written again with the values that they had."""
    table = MergedTable(session, tmp_path, mode="merge-on-read")
    table.inserts(0, 100)
    before = table.merges(10, 20, "nobody")
    table.merges(10, 20, "nobody")

    answer = asks("corrected_rows", table.ask(before))

    assert answer.verdict is Verdict.RULED_OUT
    assert "same values" in answer.headline


def test_new_rows_among_copied_ones_keep_lateness_undecided(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """A merge by copying mixes old rows with new: which are new is not known, so nothing is ruled out."""
    table = MergedTable(session, tmp_path, mode="copy-on-write")
    before = table.inserts(0, 100)
    table.merges(90, 120, "nobody")

    late = asks("late_rows", table.ask(before))
    replayed = asks("replayed_rows", table.ask(before))

    assert (late.verdict, replayed.verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert "in the place of 1 file" in late.headline


def test_an_upsert_changes_what_its_equality_deletes_replace(orders: OrdersTable, asks: Asks) -> None:
    """A row that is replaced is changed, one that is only deleted is gone, a new one is neither."""
    before = orders.commits("a", 1, range(100))
    upserts(orders, "a", 2, [200, 201, 202], keys=[7, 8, 300], deletes=[9])

    answer = asks("corrected_rows", orders.ask(before))

    found = answer.finding
    assert (found.keys, found.gone) == (2, 1)
    assert found.columns == {"event_time": 2, "source_position": 2}


def test_equality_deletes_by_another_column_tell_no_key(orders: OrdersTable, asks: Asks) -> None:
    """Which keys they touched is not in them, so nothing is ruled out."""
    before = orders.commits("a", 1, range(100))
    upserts(orders, "a", 2, [], keys=[], deletes=[5], by="source_position")

    answer = asks("corrected_rows", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "do not name the key" in answer.headline


@pytest.mark.parametrize(
    ("line", "verdict", "columns"),
    [
        pytest.param("a1[0:100] | b1[90:110]", Verdict.RULED_OUT, {}, id="new keys, and a row once more: a duplicate"),
        pytest.param("a1[0:100] | drop[0:10] back a2[100:110]", Verdict.RULED_OUT, {}, id="rolled back: states count"),
        pytest.param(
            "a1[0:100] | a2[500,501]k[7,8]",
            Verdict.CONFIRMED,
            {"event_time": 2, "source_position": 2},
            id="both rows live: the key does not say what it said before",
        ),
    ],
)
def test_what_other_commits_bring_of_a_key(
    orders: OrdersTable, asks: Asks, line: str, verdict: Verdict, columns: dict[str, int]
) -> None:
    """A key is corrected where it has other values in the end."""
    answer = asks("corrected_rows", orders.ask(write(orders, line).before))

    found = answer.finding
    assert (answer.verdict, found.columns) == (verdict, columns)
    assert (found.keys, found.gone) == (max(columns.values(), default=0), 0)


def test_null_and_a_value_differ(orders: OrdersTable, asks: Asks) -> None:
    """In both directions."""
    before = orders.appends(rows([1, None], orders=[1, 2]))
    orders.overwrites(rows([None, 2], orders=[1, 2]), "order_id <= 2")

    answer = asks("corrected_rows", orders.ask(before))

    assert answer.finding.columns == {"event_time": 2, "source_position": 2}


def test_columns_that_were_added_since_are_not_compared(orders: OrdersTable, asks: Asks) -> None:
    """The older state does not have them."""
    before = orders.commits("a", 1, range(100))
    orders.adds_column("city")
    orders.deletes("order_id = 9")

    answer = asks("corrected_rows", orders.ask(before))

    assert (answer.finding.keys, answer.finding.gone) == (0, 1)


def test_without_a_key_nothing_is_said(orders: OrdersTable, asks: Asks) -> None:
    """What to name in the contract is said instead; so is a window whose beginning is gone."""
    before = orders.commits("a", 1, range(10))
    orders.deletes("order_id = 9")
    ask = orders.ask(before)
    cut = ask.model_copy(update={"window": ask.window.model_copy(update={"since": 12345})})

    unnamed = asks("corrected_rows", orders.ask(before, contract=TableContract()))
    expired = asks("corrected_rows", cut)

    assert (unnamed.verdict, expired.verdict) == (Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE)
    assert unnamed.could_not_look[0].source == "contract.key"


def test_redacted_keys_are_hidden(orders: OrdersTable, asks: Asks) -> None:
    """Keys are compared and not shown."""
    before = orders.commits("a", 1, range(10))
    orders.deletes("order_id = 9")
    contract = TableContract(key=("customer",), redacted=("customer",))

    answer = asks("corrected_rows", orders.ask(before, contract=contract))

    assert answer.finding.gone == 1
    assert "customer-" not in answer.model_dump_json()


def lost_of(answer: Answer) -> dict[SnapshotId, int]:
    """Compaction -> rows that it lost."""
    return {each.snapshot_id: each.lost for each in answer.finding.compactions}


def as_compaction(table: MergedTable) -> SnapshotId:
    """The newest commit, told as a compaction: files were replaced, and what it says of its rows is all true."""
    location = Path(table.state().metadata_location.removeprefix("file://"))
    told = json.loads(location.read_text())
    told["snapshots"][-1]["summary"]["operation"] = "replace"
    location.write_text(json.dumps(told))
    (location.parent / f".{location.name}.crc").unlink(missing_ok=True)
    table.refreshes()
    return table.head


def deleted_from(session: SparkSession, folder: Path, granularity: str = "partition") -> MergedTable:
    """Two files, from which 20 and 50 rows were deleted by position: by one delete file for both, or one for each."""
    table = MergedTable(session, folder, mode="merge-on-read")
    table.sets("write.delete.granularity", granularity)
    table.inserts(0, 100)
    table.inserts(100, 200)
    table.deletes("order_id >= 60 AND order_id % 2 = 0")
    return table


def test_a_compaction_beside_deletes_that_drops_live_rows_is_told(
    session: SparkSession, asks: Asks, tmp_path: Path
) -> None:
    """No more rows are gone than there are deletes, but most of the deletes are of the other file."""
    table = deleted_from(session, tmp_path)
    before = table.inserts(200, 210)
    table.sets("write.delete.mode", "copy-on-write")
    table.deletes("order_id < 50")
    compaction = as_compaction(table)

    answer = asks("corrected_rows", table.ask(before))

    assert rows_lost_by_replacing(table.state(), table.state().by_id[compaction]) == 0
    assert lost_of(answer) == {compaction: 50}
    assert answer.verdict is Verdict.CONFIRMED
    assert answer.finding.gone == 50
    assert f"compaction …{str(compaction)[-6:]} lost 50 rows" in answer.headline


def test_a_compaction_that_works_deletes_in_lost_nothing(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """A real one: its counters tell 20 rows fewer, and the delete file stays for the other file."""
    table = deleted_from(session, tmp_path)
    before = table.inserts(200, 210)
    compaction = table.compacts("order_id < 100")

    answer = asks("corrected_rows", table.ask(before))

    assert lost_of(answer) == {compaction: 0}
    assert answer.verdict is Verdict.RULED_OUT


def test_a_compaction_that_removes_the_deletes_too_is_not_compared(
    session: SparkSession, asks: Asks, tmp_path: Path
) -> None:
    """Delete files of one data file go with it, and count just the rows that are gone."""
    table = deleted_from(session, tmp_path, "file")
    before = table.inserts(200, 210)
    table.compacts()

    assert lost_of(asks("corrected_rows", table.ask(before))) == {}


def test_a_compaction_of_untouched_files_is_not_compared(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """Its counters tell that it wrote what it read."""
    table = MergedTable(session, tmp_path, mode="merge-on-read")
    table.inserts(0, 100)
    before = table.inserts(100, 200)
    table.compacts()

    assert lost_of(asks("corrected_rows", table.ask(before))) == {}


def test_without_a_key_nothing_is_compared(session: SparkSession, asks: Asks, tmp_path: Path) -> None:
    """The answer says what to name."""
    table = deleted_from(session, tmp_path)
    before = table.inserts(200, 210)
    table.compacts()

    answer = asks("corrected_rows", table.ask(before).model_copy(update={"contract": TableContract()}))

    assert answer.verdict is Verdict.INCONCLUSIVE
