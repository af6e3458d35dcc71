"""What the ledger reads from manifests: ranges, partitions, specs and schemas, as little as tells the whole truth."""

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyiceberg.transforms import (
    BucketTransform,
    DayTransform,
    HourTransform,
    IdentityTransform,
    MonthTransform,
    Transform,
    TruncateTransform,
    VoidTransform,
    YearTransform,
)

from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Answer, Ask, Verdict
from bot.observation.findings import DuplicateFilesFinding
from bot.observation.flink import JobRun
from bot.observation.ids import SnapshotId
from bot.observation.ledger import FileWriter, Ledger, LedgerRow, Sink, SourceRange
from bot.observation.table import Column, PartitionField, Ref, TouchedPartitions
from spark_tasks._support import commit_files as _commit_files
from spark_tasks._support import reading as _reading
from spark_tasks._support.commit_files import moment_of, word_of
from spark_tasks._support.manifest_entries import NULL, parted_by
from spark_tasks.ledger import COLUMNS
from tests.evidence.conftest import Asks
from tests.evidence.flink_words import V1, done, manifest, run
from tests.evidence.histories import write
from tests.tables import CONTRACT, OrdersTable, of_table, rows, unseen

MIDNIGHT = datetime(2026, 11, 3, tzinfo=UTC)


def ledger_of(answer: Answer) -> Ledger:
    """The ledger that the answer carries."""
    return answer.finding.ledger


def newest(answer: Answer) -> LedgerRow:
    return ledger_of(answer).rows[-1]


def marked(ask: Ask, *refs: Ref) -> Ask:
    """The same question of a table with these refs."""
    return of_table(ask, refs=refs)


def with_deletes(ask: Ask, snapshot: SnapshotId, number: int) -> Ask:
    """The same question where that commit's summary counts so many delete files."""
    told = {"added-delete-files": str(number)}
    snapshots = ask.observation.table.snapshots
    changed = [
        s.model_copy(update={"summary": {**s.summary, **told}}) if s.snapshot_id == snapshot else s for s in snapshots
    ]
    return of_table(ask, snapshots=tuple(changed))


@pytest.mark.parametrize("positions", [range(10, 25), range(-5, 3)])
def test_ranges_are_those_of_the_rows(orders: OrdersTable, asks: Asks, positions: range) -> None:
    """Bounds decoded from the manifests equal what the rows hold, below zero too; rows of before do not count."""
    before = orders.commits("a", 3, range(-99, 99))
    orders.commits("a", 4, positions)

    row = newest(asks("ledger", orders.ask(before)))

    assert (row.position_from, row.position_until) == (positions[0], positions[-1])
    assert row.event_from == MIDNIGHT + timedelta(seconds=positions[0])
    assert row.event_until == MIDNIGHT + timedelta(seconds=positions[-1])


@pytest.mark.parametrize(
    ("position", "low", "high"), [("order_id", -(2**63), 2**63 - 1), ("source_partition", -3, -3)], ids=["long", "int"]
)
def test_a_position_is_read_to_its_ends_and_with_its_sign(
    orders: OrdersTable, asks: Asks, position: str, low: int, high: int
) -> None:
    """The smallest and the largest long. An int column's bounds are four bytes; an int that became long keeps such
    bounds in its old files."""
    before = orders.commits("a", 3, range(3))
    orders.commits("a", 4, range(2), orders=[-(2**63), 2**63 - 1], partition=-3)

    row = newest(asks("ledger", orders.ask(before, contract=CONTRACT.model_copy(update={"position": position}))))

    assert (row.position_from, row.position_until) == (low, high)


@pytest.mark.parametrize("redacted", [("event_time", "source_position"), ()], ids=["redacted", "not promised"])
def test_no_range_is_told_of_a_column_that_is_hidden_or_unknown(
    orders: OrdersTable, judges: Asks, redacted: tuple[str, ...]
) -> None:
    """A redacted column's bounds are values too."""
    before, _ = write(orders, "a3[0:3] | a4[3:6]")
    promised = CONTRACT if redacted else CONTRACT.model_copy(update={"event_time": None, "position": "customer"})

    row = newest(judges("ledger", orders.ask(before, contract=promised.model_copy(update={"redacted": redacted}))))

    assert (row.event_from, row.event_until, row.position_from, row.position_until) == (None, None, None, None)


@pytest.mark.parametrize(
    ("kind", "bound", "moment"),
    [
        ("timestamptz", 1_000_001, datetime(1970, 1, 1, 0, 0, 1, 1, tzinfo=UTC)),
        ("timestamp_ns", 1_000_000_999, datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC)),
        ("date", -1, datetime(1969, 12, 31, tzinfo=UTC)),
        ("timestamp", 2**63 - 1, None),
        ("date", None, None),
    ],
)
def test_a_bound_becomes_a_moment_by_its_type(kind: str, bound: int | None, moment: datetime | None) -> None:
    """Microseconds, nanoseconds or days since 1970; what no calendar holds is left out."""
    assert moment_of(bound, Column(field_id=1, name="at", type=kind)) == moment


def test_sink_schema_spec_refs_and_delete_files_are_told(orders: OrdersTable, judges: Asks) -> None:
    """One row says who wrote it with which schema and partition spec, and which branches and tags point there."""
    before = orders.commits("a", 3, range(3))
    head = orders.commits("a", 4, range(3, 6))
    asked = with_deletes(orders.ask(before, jobs=[run("a", sink=V1)]), head, number=2)
    main = Ref(name="main", kind="branch", snapshot_id=head)

    answer = judges("ledger", marked(asked, main, Ref(name="waterline", kind="tag", snapshot_id=head)))

    row = newest(answer)
    cells = dict(zip(COLUMNS, answer.rows[-1], strict=True))
    assert (row.sink, row.schema_id, row.spec_ids, row.added_delete_files) == (Sink.FLINK_V1, 0, (0,), 2)
    assert (row.refs, cells["refs"]) == (("main", "waterline"), "waterline")
    assert (cells["writer"], cells["files"], cells["deletes"], cells["positions"]) == ("FlinkSink", "+1", "+2", "3–5")


def test_a_leaked_checkpoint_breaks_the_chain(orders: OrdersTable, judges: Asks) -> None:
    """One run, rising ids, and yet files that were never committed."""
    before, _ = write(orders, "a3[0:3] | a5[3:6]")

    answer = judges("ledger", orders.ask(before, jobs=[run("a")], flink_manifests=[manifest("a", 4)]))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.headline == (
        "1 commit in the window: 1 checkpoint whose Flink manifest was never committed (run aaaaaa: 4)."
    )
    assert dict(zip(COLUMNS, answer.rows[0], strict=True))["no commit before"] == "4 leaked"


def test_what_the_sink_refuses_after_the_last_commit_breaks_the_chain(orders: OrdersTable, judges: Asks) -> None:
    """A job that seems healthy and whose checkpoints never reach the table is named, though no commit shows it."""
    before = orders.commits("a", 10, range(3))
    flink = run("b", done(7), done(8), sink=V1, restored=6)

    answer = judges("ledger", orders.ask(before, jobs=[flink]))

    assert answer.verdict is Verdict.CONFIRMED
    assert answer.headline == (
        "No commit in the window: 2 checkpoints that the sink refused as already committed (run bbbbbb: 7–8)."
    )
    assert [each.words for each in ledger_of(answer).trailing] == ["7–8 skipped"]


@pytest.mark.parametrize("flink", [(), (run("a", sink=V1),)], ids=["any", "v1"])
def test_a_gap_is_not_ruled_out_while_the_manifests_cannot_be_listed(
    orders: OrdersTable, judges: Asks, flink: tuple[JobRun, ...]
) -> None:
    """An empty checkpoint, one that V1 committed with the next, and a leaked one look the same without storage."""
    before, _ = write(orders, "a3[0:3] | a5[3:6]")

    answer = judges("ledger", orders.ask(before, jobs=list(flink), flink_manifests=unseen("storage")))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert (
        "1 checkpoint without a commit (run aaaaaa: 4), and the Flink manifests could not be listed" in answer.headline
    )
    assert [missing.source for missing in answer.could_not_look] == ["storage"]


SHOWN = CONTRACT.model_copy(update={"redacted": ()})


def row_of_head(
    asks: Asks, orders: OrdersTable, since: SnapshotId | None, contract: TableContract = SHOWN
) -> LedgerRow:
    """The ledger's row of the head."""
    finding = asks("ledger", orders.ask(since, contract=contract)).finding
    return finding.ledger.rows[-1]


def test_every_transform_is_told_as_engines_show_it(orders: OrdersTable, asks: Asks) -> None:
    """Identity of texts and numbers, buckets, truncated texts, and each part of a time."""
    before = orders.commits("a", 1, range(3))
    orders.partitions_by(
        ("order_id", BucketTransform(4)),
        ("customer", TruncateTransform(10)),
        ("source_partition", IdentityTransform()),
        ("source_position", TruncateTransform(10)),
        ("event_time", HourTransform()),
    )
    orders.commits("a", 2, [3600, 7], partition=-2)

    row = row_of_head(asks, orders, before)

    told = {each.field: each.values for each in row.partitions}
    assert set(told.pop("bucket[4](order_id)")) <= {"0", "1", "2", "3"}
    assert told == {
        "truncate[10](customer)": ("customer-3", "customer-7"),
        "source_partition": ("-2",),
        "truncate[10](source_position)": ("0", "3600"),
        "hour(event_time)": ("2026-11-03-00", "2026-11-03-01"),
    }


@pytest.mark.parametrize(
    ("transform", "value"), [(YearTransform(), "2026"), (MonthTransform(), "2026-11"), (DayTransform(), "2026-11-03")]
)
def test_a_part_of_a_time_is_a_time(
    orders: OrdersTable, asks: Asks, transform: Transform[int, int], value: str
) -> None:
    """As engines show such partitions, and the field that no row has a value for as null."""
    orders.partitions_by(("event_time", transform))
    orders.appends(rows([None, 5]))

    row = row_of_head(asks, orders, None)

    assert row.partitions == (TouchedPartitions(field=f"{transform}(event_time)", values=("null", value)),)


def test_rows_that_were_replaced_are_in_partitions_too(orders: OrdersTable, asks: Asks) -> None:
    """A delete touches the partition that it takes rows from, though it adds no file."""
    orders.partitions_by(("customer", IdentityTransform()))
    before = orders.commits("a", 2, range(3))
    orders.deletes("customer = 'customer-1'")

    row = row_of_head(asks, orders, before)

    assert (row.added_files, row.removed_files) == (0, 1)
    assert row.partitions == (TouchedPartitions(field="customer", values=("customer-1",)),)


def test_many_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """Twenty are kept, and how many more there are."""
    orders.partitions_by(("source_position", IdentityTransform()))
    orders.commits("a", 2, range(23))

    (found,) = row_of_head(asks, orders, None).partitions

    assert (len(found.values), found.more) == (20, 3)


def test_a_file_of_a_spec_without_the_field_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """Rows from before the table was partitioned are in none of its partitions."""
    orders.commits("a", 1, range(3))
    orders.partitions_by(("customer", IdentityTransform()))
    before = orders.head
    orders.deletes("source_position >= 0")

    row = row_of_head(asks, orders, before)

    assert (row.removed_files, row.partitions) == (1, ())


@pytest.mark.parametrize("hidden", [("customer",), ("CUSTOMER_trunc_3",)], ids=["column", "field"])
def test_a_hidden_column_is_not_read(orders: OrdersTable, asks: Asks, hidden: tuple[str, ...]) -> None:
    """The first letters of a name tell the name, and so may nothing of it be kept."""
    orders.partitions_by(("customer", TruncateTransform(3)), ("source_partition", IdentityTransform()))
    orders.commits("a", 1, range(3))

    row = row_of_head(asks, orders, None, CONTRACT.model_copy(update={"redacted": hidden}))

    assert row.partitions == (TouchedPartitions(field="source_partition", values=("0",)),)
    assert "cus" not in row.model_dump_json()


def test_a_column_that_became_wider_keeps_its_old_manifests(orders: OrdersTable, asks: Asks) -> None:
    """They hold an int where the table now has a long."""
    orders.partitions_by(("source_partition", IdentityTransform()))
    orders.commits("a", 1, range(3), partition=-7)
    orders.widens_column("source_partition")

    row = row_of_head(asks, orders, None)

    assert row.partitions == (TouchedPartitions(field="source_partition", values=("-7",)),)


def test_names_that_avro_does_not_know_are_read(orders: OrdersTable, asks: Asks) -> None:
    """A field's name may be any text. `void`, what a field becomes that was dropped, is none."""
    orders.partitions_by(("customer", IdentityTransform()), name="1st customer.of-day")
    orders.partitions_by(("source_partition", VoidTransform()))
    orders.commits("a", 1, range(1))

    row = row_of_head(asks, orders, None)

    assert row.partitions == (TouchedPartitions(field="customer", values=("customer-0",)),)


@pytest.mark.parametrize(
    ("words", "kind", "stored", "word"),
    [
        ("price", "decimal(9, 2)", "FFFFFF38", "-2.00"),
        ("day", "date", "-1", "1969-12-31"),
        ("at", "timestamptz", "1500000", "1970-01-01 00:00:01.500000"),
        ("at", "timestamp_ns", "1000000000", "1970-01-01 00:00:01"),
        ("at", "time", "3600000000", "01:00:00"),
        ("id", "uuid", "00112233445566778899AABBCCDDEEFF", "00112233-4455-6677-8899-aabbccddeeff"),
        ("month(at)", "int", "-1", "1969-12"),
        ("hour(at)", "int", str(2**31 - 1), str(2**31 - 1)),
        ("is_test", "boolean", "true", "true"),
        ("note", "string", "x" * 99, "x" * 59 + "…"),
        ("note", "string", NULL, "null"),
    ],
)
def test_a_stored_value_is_told_by_its_type(words: str, kind: str, stored: str, word: str) -> None:
    """What no calendar holds stays a number."""
    assert word_of(PartitionField(words=words, name="p", type=kind), stored) == word


def test_one_name_for_two_kinds_of_values_is_not_read(orders: OrdersTable) -> None:
    """No reader could tell which is meant."""
    field = PartitionField(words="a", name="p", type="int")
    other = field.model_copy(update={"words": "bucket[4](b)"})

    table = orders.state().model_copy(update={"spec_fields": {1: (field,), 2: (other,)}})

    assert parted_by(table, SHOWN) == ()


MERGING = {"commit.manifest-merge.enabled": "true", "commit.manifest.min-count-to-merge": "3"}


@pytest.fixture
def merging(tmp_path: Path) -> Iterator[OrdersTable]:
    """A table whose commits merge manifests."""
    table = OrdersTable(tmp_path, MERGING)
    yield table
    table.close()


def positions_of(rows: tuple[LedgerRow, ...]) -> list[tuple[int | None, int | None]]:
    """What the ledger read from each commit's own manifests."""
    return [(row.position_from, row.position_until) for row in rows]


def list_of(orders: OrdersTable, snapshot: SnapshotId) -> Path:
    """The file of its manifest list."""
    return Path(orders.state().by_id[snapshot].manifest_list.removeprefix("file://"))


def test_commits_whose_manifests_were_merged_away_are_told_by_their_own_lists(merging: OrdersTable, asks: Asks) -> None:
    """The newest list no longer names what a merge has taken in: each commit still has its files."""
    before = merging.commits("a", 1, range(3))
    for number in range(2, 9):
        merging.commits("a", number, range(10 * number, 10 * number + 5))

    answer = asks("ledger", merging.ask(before))

    assert positions_of(ledger_of(answer).rows) == [(10 * number, 10 * number + 4) for number in range(2, 9)]


def test_a_rolled_back_commit_is_told_by_its_own_list(orders: OrdersTable, asks: Asks) -> None:
    """The list of main's newest commit does not name what main has left."""
    before, [_, kept, _] = write(orders, "a1[0:3] | a2[10:15] a3[20:25]")
    orders.rolls_back_to(kept)
    orders.commits("b", 3, range(30, 35))

    answer = asks("ledger", orders.ask(before))

    assert positions_of(ledger_of(answer).rows) == [(10, 14), (20, 24), (30, 34)]


def test_older_lists_are_not_read_where_the_newest_tells_all(orders: OrdersTable, asks: Asks) -> None:
    """A window of many commits costs one list."""
    before = orders.commits("a", 1, range(3))
    older = [orders.commits("a", number, range(10 * number, 10 * number + 5)) for number in range(2, 6)]
    orders.commits("a", 6, range(60, 65))
    ask = orders.ask(before)
    for snapshot in older:
        list_of(orders, snapshot).unlink()

    answer = asks("ledger", ask)

    assert positions_of(ledger_of(answer).rows) == [(10 * number, 10 * number + 4) for number in range(2, 7)]


def test_a_summary_that_counts_nothing_is_not_believed(orders: OrdersTable, asks: Asks) -> None:
    """Without counters nobody knows whether the newest list names all of a commit: its own list is read."""
    before, [_, silent, _] = write(orders, "a1[0:3] | a2[10:15] a3[20:25]")
    ask = orders.ask(before)
    table = ask.observation.table
    told = tuple(s.model_copy(update={"summary": {}}) if s.snapshot_id == silent else s for s in table.snapshots)
    lost = list_of(orders, silent)
    lost.unlink()

    with pytest.raises(EvidenceFailed, match=lost.name):
        asks("ledger", of_table(ask, snapshots=told))


@pytest.mark.parametrize("few", [0, 64], ids=["many manifests", "few manifests"])
def test_many_manifests_are_read_as_few(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, few: int
) -> None:
    """How what entries inherit is looked up changes nothing."""
    monkeypatch.setattr(_reading, "_FEW", few)
    before, _ = write(orders, "a1[0:3] | a2[10:15] a3[20:25]")

    rows = ledger_of(asks("ledger", orders.ask(before))).rows

    assert [(row.added_files, row.added_rows, row.spec_ids) for row in rows] == [(1, 5, (0,)), (1, 5, (0,))]
    assert positions_of(rows) == [(10, 14), (20, 24)]


@pytest.mark.parametrize(("enough", "verdict"), [(1, Verdict.RULED_OUT), (2, Verdict.CONFIRMED)])
def test_below_the_window_reading_ends_with_enough_entries(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, enough: int, verdict: Verdict
) -> None:
    """A table of large manifests costs no more than one of small ones; what is nearer is looked at first."""
    monkeypatch.setattr(_reading, "ENTRIES_BELOW", enough)
    orders.commits_files("a", 1, {"far.parquet": range(10)})
    before = orders.commits("a", 2, range(10, 20))
    orders.names_again("a", 3, ["far.parquet"])

    answer = asks("duplicate_files", orders.ask(before))

    assert isinstance(answer.finding, DuplicateFilesFinding)
    assert verdict is answer.verdict


@pytest.mark.parametrize("copied", [range(2), range(40, 42)], ids=["the oldest", "the newest"])
def test_the_writer_of_an_older_copy_is_found_wherever_it_lies(
    orders: OrdersTable, asks: Asks, monkeypatch: pytest.MonkeyPatch, copied: range
) -> None:
    """Manifests are looked through in batches, the newest first, until each file's commit is known."""
    monkeypatch.setattr(_reading, "FIRST_ENTRIES", 1)
    older = [orders.commits("a", number, range(10 * number, 10 * number + 5)) for number in range(5)]
    again = orders.commits("b", 1, copied)

    answer = asks("duplicate_rows", orders.ask(older[-1]))

    assert [(pair.first, pair.second, pair.keys) for pair in answer.finding.pairs] == [
        (older[copied[0] // 10], again, 2)
    ]


BY_PARTITION = SHOWN.model_copy(update={"position_partition": "source_partition"})
ID, OTHER_ID = "23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11", "949a4ab7-0000-4c4c-8b43-6a1f2b0c7d12"


def commits_tables(orders: OrdersTable, checkpoint: int, files: Mapping[str, pa.Table]) -> SnapshotId:
    """One checkpoint of a Flink run whose files bear these names and hold these rows."""
    for name, table in files.items():
        orders.data_folder.mkdir(exist_ok=True)
        pq.write_table(table, orders.data_folder / name)
    return orders.names_again("a", checkpoint, list(files))


def test_each_commit_tells_what_it_brought_of_each_source_partition(orders: OrdersTable, asks: Asks) -> None:
    """Exactly, where each file holds one of them; nothing at all where a file holds two."""
    before = orders.commits("a", 1, range(5))
    pure = commits_tables(
        orders,
        2,
        {
            f"00000-0-{ID}-00001.parquet": rows(range(100, 110), partition=2),
            f"00000-0-{ID}-00002.parquet": rows([10, 11, 19], partition=0),
            f"00001-0-{OTHER_ID}-00001.parquet": rows([*range(5), None], partition=11),
            f"00001-0-{OTHER_ID}-00002.parquet": rows([20, 21], partition=0),
        },
    )
    two = pa.concat_tables([rows(range(22, 25), partition=0), rows(range(110, 120), partition=2)])
    mixed = commits_tables(
        orders,
        3,
        {f"00000-0-{ID}-00003.parquet": two, f"00001-0-{OTHER_ID}-00003.parquet": rows(range(5, 9), partition=11)},
    )
    nothing = orders.deletes("source_position = 3")

    found = {row.snapshot_id: row for row in ledger_of(asks("ledger", orders.ask(before, contract=BY_PARTITION))).rows}

    assert found[pure].ranges == (
        SourceRange(partition="0", low=10, high=21, rows=5),
        SourceRange(partition="11", low=0, high=4, rows=5),
        SourceRange(partition="2", low=100, high=109, rows=10),
    )
    assert found[mixed].ranges is None
    assert found[nothing].ranges is not None
    without = asks("ledger", orders.ask(before, contract=SHOWN))
    assert [row.ranges for row in ledger_of(without).rows if row.snapshot_id == mixed] == [
        (SourceRange(partition=None, low=5, high=119, rows=17),)
    ]


@pytest.mark.parametrize("hidden", ["source_position", "source_partition"])
def test_no_range_is_told_of_a_hidden_column(orders: OrdersTable, judges: Asks, hidden: str) -> None:
    """Nor where nobody may see which partition each is of."""
    orders.commits("a", 1, range(5))

    assert row_of_head(judges, orders, None, BY_PARTITION).ranges is not None
    assert row_of_head(judges, orders, None, BY_PARTITION.model_copy(update={"redacted": (hidden,)})).ranges is None


def test_more_ranges_than_a_row_holds_are_none(
    orders: OrdersTable, judges: Asks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A part that looks whole would prove that the rest was never brought."""
    files = {f"0000{n}-0-{ID[:-1]}{n}-00001.parquet": rows(range(9), partition=n) for n in range(3)}
    commits_tables(orders, 1, files)

    monkeypatch.setattr(_commit_files, "MOST_RANGES", 3)
    whole = row_of_head(judges, orders, None, BY_PARTITION)
    monkeypatch.setattr(_commit_files, "MOST_RANGES", 2)
    cut = row_of_head(judges, orders, None, BY_PARTITION)

    assert [len(each) if each is not None else None for each in (whole.ranges, whole.writers)] == [3, 3]
    assert (cut.ranges, cut.writers) == (None, None)


def test_writers_are_told_with_their_ids_and_running_numbers(orders: OrdersTable, judges: Asks) -> None:
    """A writer that began anew has another id; names of another form tell nothing of the commit."""
    before = orders.commits("a", 1, range(5))
    names = (f"00000-0-{ID}-00007", f"00000-0-{ID}-00009", f"00003-1-{OTHER_ID}-100000")
    flinks = commits_tables(orders, 2, {f"{name}.parquet": rows(range(9)) for name in names})
    other = commits_tables(orders, 3, {f"00000-0-{ID}-00011.parquet": rows(range(9)), "part-1.parquet": rows(range(3))})

    found = {row.snapshot_id: row for row in ledger_of(judges("ledger", orders.ask(before))).rows}

    assert found[flinks].writers == (
        FileWriter(subtask=0, attempt=0, id=ID, first=7, last=9),
        FileWriter(subtask=3, attempt=1, id=OTHER_ID, first=100000, last=100000),
    )
    assert found[other].writers is None


def test_a_ledger_of_before_has_neither(orders: OrdersTable, judges: Asks) -> None:
    """What was saved then is read, and written as it was."""
    orders.commits("a", 1, range(5))
    row = row_of_head(judges, orders, None)
    older = row.model_copy(update={"ranges": None, "writers": None})

    told = older.model_dump_json()

    assert not {"ranges", "writers"} & json.loads(told).keys()
    assert LedgerRow.model_validate_json(told) == older
    assert LedgerRow.model_validate_json(row.model_dump_json()) == row
