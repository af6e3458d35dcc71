"""Columns that were renamed, added, replaced or widened are read by their field ids."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path

import pyarrow as pa
import pytest
from pyiceberg.expressions import EqualTo
from pyiceberg.transforms import IdentityTransform
from pyiceberg.types import (
    DecimalType,
    DoubleType,
    FloatType,
    IntegerType,
    ListType,
    LongType,
    NestedField,
    PrimitiveType,
    StringType,
    StructType,
)
from pyspark.sql import SparkSession

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Verdict
from bot.observation.findings import PositionGap
from bot.observation.ids import SnapshotId, TableName
from bot.observation.table import Window
from spark_tasks._support.reading import may_become
from tests.evidence.conftest import Asks
from tests.evidence.histories import write
from tests.evidence.test_duplicate_commits import of_shops
from tests.evidence.test_missing_positions import BY_PARTITION
from tests.merges import MergedTable
from tests.tables import CONTRACT, ORDERS, OrdersTable, of_flink, rows

pytestmark = [pytest.mark.slow, pytest.mark.rotating, pytest.mark.usefixtures("is_large")]

BY_PLACE = CONTRACT.model_copy(update={"position": "place"})
BY_LINE = CONTRACT.model_copy(update={"key": ("order_id", "line")})


def with_column(name: str, positions: range) -> pa.Table:
    """Rows that have the new column too, with the position in it."""
    return rows(positions).append_column(name, pa.array(list(positions), pa.int64()))


def commits_with(orders: OrdersTable, run: str, checkpoint: int, name: str, positions: range) -> None:
    """One checkpoint of a Flink run that fills the new column."""
    orders.appends(with_column(name, positions), of_flink(run, checkpoint, None))


def test_a_position_that_was_added_in_the_window_tells_of_later_rows_alone(orders: OrdersTable, asks: Asks) -> None:
    """Rows from before have none: whether they came again is not known, and is not called ruled out."""
    before = orders.commits("a", 1, range(50))
    orders.adds_column("place", LongType())
    commits_with(orders, "a", 2, "place", range(50, 70))

    fresh = asks("replayed_rows", orders.ask(before, contract=BY_PLACE))
    commits_with(orders, "b", 2, "place", range(60, 75))
    again = asks("replayed_rows", orders.ask(before, contract=BY_PLACE))

    assert fresh.verdict is Verdict.INCONCLUSIVE
    assert "Column place was added after the window begins" in fresh.headline
    assert (again.verdict, again.finding.replayed) == (Verdict.CONFIRMED, 10)


@pytest.mark.long
@pytest.mark.parametrize("window", ["only appends", pytest.param("deletes too", marks=pytest.mark.long)])
def test_a_key_column_that_was_added_in_the_window_is_null_in_older_rows(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """Copies among the later rows are found; that there is none at all is not said."""
    before = orders.commits("a", 1, range(50))
    orders.adds_column("line", LongType())
    commits_with(orders, "a", 2, "line", range(40, 70))
    if window == "deletes too":
        orders.deletes("order_id < 5")

    fresh = [asks(task, orders.ask(before, contract=BY_LINE)) for task in ("duplicate_rows", "extra_copies")]
    commits_with(orders, "b", 2, "line", range(60, 75))
    again = [asks(task, orders.ask(before, contract=BY_LINE)) for task in ("duplicate_rows", "extra_copies")]

    assert [each.verdict for each in fresh] == [Verdict.INCONCLUSIVE, Verdict.INCONCLUSIVE]
    assert (again[0].finding.keys, again[1].finding.rows) == (10, 10)


def test_a_key_column_that_was_added_after_the_last_commit_is_null_everywhere(orders: OrdersTable, asks: Asks) -> None:
    """The window's end has it not either."""
    before, _ = write(orders, "a1[0:50] | a2[45:60]")
    orders.adds_column("line", LongType())

    counted = asks("duplicate_rows", orders.ask(before, contract=BY_LINE))
    extra = asks("extra_copies", orders.ask(before, contract=BY_LINE))

    assert (counted.finding.keys, extra.finding.rows) == (5, 5)


def test_a_position_that_was_renamed_after_the_last_commit_is_still_the_position(
    orders: OrdersTable, asks: Asks
) -> None:
    """Iceberg knows a pushed filter by the present name alone, and the snapshot by its old one."""
    before, _ = write(orders, "a1[0:50] | a2[60:70]")
    orders.renames_column("source_position", "place")

    answer = asks("missing_positions", orders.ask(before, contract=BY_PLACE))

    assert (answer.verdict, answer.finding.missing) == (Verdict.CONFIRMED, 10)


def test_two_columns_that_changed_names_are_not_mixed_up(orders: OrdersTable, asks: Asks) -> None:
    """Each is read by its field id: the present key was called otherwise when the window began."""
    before = orders.commits("a", 1, range(10), orders=range(100, 110))
    orders.commits("a", 2, range(100, 103), orders=range(200, 203))
    for old, new in (("order_id", "spare"), ("source_position", "order_id"), ("spare", "source_position")):
        orders.renames_column(old, new)
    contract = TableContract(key=("order_id",))

    answer = asks("duplicate_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.RULED_OUT


PLAIN = ("order_id", "source_partition", "source_position", "event_time")


class NamedTable:
    """`sales.orders`, made anew with other names, and with further columns."""

    def __init__(self, orders: OrdersTable, names: Mapping[str, str], further: Sequence[str]) -> None:
        self.orders, self._names, self._further = orders, names, further
        orders.catalog.drop_table(ORDERS)
        orders._table = orders.catalog.create_table(ORDERS, schema=self.rows(range(1)).schema)
        key, partition, position, event = (names.get(name, name) for name in PLAIN)
        self.contract = TableContract(
            key=(key,), position=position, position_partition=partition, event_time=event
        )  # fmt: skip

    def rows(self, positions: range) -> pa.Table:
        """One row per position."""
        made = rows(positions)
        made = made.rename_columns([self._names.get(name, name) for name in made.column_names])
        for name in self._further:
            made = made.append_column(name, pa.array(["v"] * made.num_rows))
        return made


@pytest.mark.long
@pytest.mark.parametrize(
    ("names", "further"),
    [
        ({}, ("name", "snapshot_id", "file_path", "_path", "_name", "at", "of", "partition", "position", "status")),
        pytest.param(
            dict(zip(PLAIN, ("name", "of", "snapshot_id", "latest"), strict=True)), (), marks=pytest.mark.long
        ),
        (dict(zip(PLAIN, ("file_path", "partition", "position", "at"), strict=True)), ()),
        (dict(zip(PLAIN, ("größe", "a b", "pos`x", "event time"), strict=True)), ("ß", "a.b")),
        ({}, ("ORDER_ID", "Source_Position", "Event_Time", "note", "NOTE")),
    ],
    ids=["beside", "of commits", "of files", "odd", "but for case"],
)
def test_what_came_again_and_what_is_gone_is_told_whatever_columns_are_called(
    orders: OrdersTable, asks: Asks, names: Mapping[str, str], further: Sequence[str]
) -> None:
    """Rows of the window's own files are read, older ones, and those that a delete left."""
    table = NamedTable(orders, names, further)
    orders.appends(table.rows(range(5)), of_flink("a", 1))
    before = orders.appends(table.rows(range(5, 10)), of_flink("a", 2))
    orders.appends(table.rows(range(10, 20)), of_flink("a", 3))
    orders.appends(table.rows(range(15, 25)), of_flink("b", 3))
    orders.deletes(EqualTo(table.contract.key[0], 7))
    ask = orders.ask(before, contract=table.contract)

    again, gone, copies, missing, late = (
        asks(task, ask)
        for task in ("replayed_rows", "corrected_rows", "duplicate_rows", "missing_positions", "late_rows")
    )

    assert (again.finding.replayed, again.finding.first, again.finding.last) == (5, 15, 19)
    assert (gone.finding.keys, gone.finding.gone) == (0, 1)
    assert copies.finding.keys == 5
    assert [(gap.first, gap.last) for gap in missing.finding.gaps] == [(7, 7)]
    assert late.verdict is Verdict.CONFIRMED


def test_what_was_compacted_under_another_column_of_the_name_is_not_missing(orders: OrdersTable, asks: Asks) -> None:
    """The position was dropped and added anew: rows from before have none, and nobody knows of theirs."""
    before, _ = write(orders, "a1[0:10] | a2[10:15]")
    orders.compacts(orders.live())
    table = orders.catalog.load_table(ORDERS)
    table.update_schema().delete_column("source_position").commit()
    table.update_schema().add_column("source_position", LongType()).commit()
    order = ["order_id", "source_partition", "event_time", "customer", "source_position"]
    orders.appends(rows(range(18, 20)).select(order), of_flink("a", 3))
    orders.deletes("order_id == 19")

    answer = asks("missing_positions", orders.ask(before))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert answer.finding is None


ROWS = ("duplicate_rows", "corrected_rows", "replayed_rows", "missing_positions", "duplicate_commits", "missing_files")


@pytest.mark.parametrize("when", ["pinned before", "asked after"])
def test_a_renaming_of_the_table_loses_and_doubles_nothing(orders: OrdersTable, asks: Asks, when: str) -> None:
    """Its files and its metadata stay where they are; evidence that was pinned before is read still."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    ask = orders.ask(before)
    table = orders.catalog.rename_table(ORDERS, "sales.renamed")
    table.append(rows(range(20, 30)), snapshot_properties=of_flink("a", 3))
    if when == "asked after":
        state = table_state(TableName("sales.renamed"), table.metadata, table.metadata_location, datetime.now(UTC))
        world = ask.observation.model_copy(update={"table": state})
        ask = Ask(observation=world, window=Window(since=before, until=state.head), contract=ask.contract)

    answers = {task: asks(task, ask).verdict for task in ROWS}

    assert set(answers.values()) == {Verdict.RULED_OUT}, answers


@pytest.mark.long
def test_a_renaming_by_spark_loses_and_doubles_nothing(
    orders: OrdersTable, session: SparkSession, asks: Asks, tmp_path: Path
) -> None:
    """`ALTER TABLE ... RENAME TO` by another engine than the one that made the table, which then goes on writing: what
    was pinned before is told as it was, and what is asked after holds the newer rows too."""
    before, _ = write(orders, "a1[0:10] | a2[10:20]")
    pinned = orders.ask(before)
    named = {"": "org.apache.iceberg.spark.SparkCatalog", ".type": "jdbc", ".uri": f"jdbc:sqlite:{tmp_path}/catalog.db"}
    for key, value in {**named, ".warehouse": f"file://{tmp_path}/lake"}.items():
        session.conf.set(f"spark.sql.catalog.lake{key}", value)
    session.sql("ALTER TABLE lake.sales.orders RENAME TO sales.renamed")
    session.sql("INSERT INTO lake.sales.renamed SELECT 20, 0, 20, timestamp'2026-11-03 00:00:20', 'customer-20'")
    table = orders.catalog.load_table("sales.renamed")
    state = table_state(TableName("sales.renamed"), table.metadata, table.metadata_location, datetime.now(UTC))
    world = pinned.observation.model_copy(update={"table": state})
    later = Ask(observation=world, window=Window(since=before, until=state.head), contract=pinned.contract)

    answers = {task: [asks(task, ask).verdict for ask in (pinned, later)] for task in (*ROWS, "schema_drift")}
    ledgers = [asks("ledger", ask) for ask in (pinned, later)]

    assert {Verdict.RULED_OUT} == {verdict for each in answers.values() for verdict in each}, answers
    assert [len(each.rows) for each in ledgers] == [1, 2]


@pytest.mark.long
@pytest.mark.parametrize("again", [False, True], ids=["calm", "replayed"])
@pytest.mark.parametrize("version", [pytest.param(2, marks=pytest.mark.long), 3])
def test_a_compaction_of_the_files_from_before_an_append_hides_nothing_and_makes_nothing_up(
    session: SparkSession, asks: Asks, tmp_path: Path, version: int, again: bool
) -> None:
    """It takes what lay there before rows landed, and is committed after them; in format 3 rows keep their ids."""
    table = MergedTable(session, tmp_path, mode="merge-on-read", version=version)
    before = table.commits("a", 1, 0, 10)
    table.commits("a", 2, 10, 20)
    table.commits("a", 3, 20, 30)
    table.commits("b", 3, 15 if again else 30, 40)
    table.compacts("source_position < 20")
    table.commits("b", 4, 40, 50)
    ask = table.ask(before)

    copies, commits, missing = (
        asks(each, ask) for each in ("duplicate_rows", "duplicate_commits", "missing_positions")
    )

    assert missing.verdict is Verdict.RULED_OUT
    assert commits.verdict is (Verdict.CONFIRMED if again else Verdict.RULED_OUT)
    assert copies.finding.keys == (15 if again else 0)


HUGE = 3_000_000_000
"""More than an int can hold."""
BY_SHOP = TableContract(key=("source_partition",), position="source_position")
BY_AMOUNT = TableContract(key=("amount",), position="source_position")


def with_amounts(positions: range, amounts: list[Decimal] | list[float], kind: pa.DataType) -> pa.Table:
    """Rows with these amounts."""
    return rows(positions).append_column("amount", pa.array(amounts, kind))


def with_shops_that_no_int_can_hold(orders: OrdersTable) -> SnapshotId:
    """The window: the key was an int and is a long, ten keys came that only a long can hold, five came again."""
    before = orders.appends(of_shops(range(50), list(range(50)), pa.int32()), of_flink("a", 1))
    orders.widens_column("source_partition")
    orders.appends(of_shops(range(50, 60), list(range(HUGE, HUGE + 10)), pa.int64()), of_flink("a", 2))
    orders.appends(of_shops(range(45, 50), list(range(45, 50)), pa.int64()), of_flink("b", 2))
    return before


@pytest.mark.parametrize("window", ["only appends", pytest.param("deletes too", marks=pytest.mark.long)])
def test_keys_that_no_older_row_can_hold_are_looked_for_among_them(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """A bound of the window's keys is no int; the older rows are compared all the same."""
    before = with_shops_that_no_int_can_hold(orders)
    if window == "deletes too":
        orders.deletes("source_position == 3")

    answer = asks("duplicate_rows", orders.ask(before, contract=BY_SHOP))

    assert (answer.finding.keys, answer.finding.extra_rows) == (5, 5)


def test_no_key_was_changed_by_its_wider_type(orders: OrdersTable, asks: Asks) -> None:
    """Both states have each key in the present type."""
    before = with_shops_that_no_int_can_hold(orders)
    orders.deletes("source_position == 3")

    answer = asks("corrected_rows", orders.ask(before, contract=BY_SHOP))

    assert (answer.finding.keys, answer.finding.gone) == (0, 1)


def test_records_of_a_key_that_was_widened_came_again(orders: OrdersTable, asks: Asks) -> None:
    """The hash of an int is another than that of the same long, and the record is the same."""
    before = with_shops_that_no_int_can_hold(orders)

    answer = asks("replayed_rows", orders.ask(before, contract=BY_SHOP))

    assert (answer.finding.replayed, answer.finding.changed) == (5, 0)
    assert answer.could_not_look == ()


def test_positions_beyond_what_an_int_can_hold_are_looked_for_among_older_rows(orders: OrdersTable, asks: Asks) -> None:
    """The position itself was widened because it outgrew its type."""
    before = orders.appends(of_shops(range(50), list(range(50)), pa.int32()), of_flink("a", 1))
    orders.widens_column("source_partition")
    orders.appends(of_shops(range(50, 52), [HUGE, HUGE + 1], pa.int64()), of_flink("a", 2))
    orders.appends(of_shops(range(48, 50), [48, 49], pa.int64()), of_flink("b", 2))
    by_shop = TableContract(key=("order_id",), position="source_partition")

    again, missing = (
        asks(task, orders.ask(before, contract=by_shop)) for task in ("replayed_rows", "missing_positions")
    )

    assert again.finding.replayed == 2
    assert "2,999,999,950 positions are missing: 50 to 2999999999" in missing.headline


@pytest.mark.long
@pytest.mark.parametrize(
    ("narrow", "wide", "old", "new"),
    [
        (DecimalType(5, 2), DecimalType(20, 2), pa.decimal128(5, 2), pa.decimal128(20, 2)),
        (FloatType(), DoubleType(), pa.float32(), pa.float64()),
    ],
)
def test_wider_amounts_are_the_same_amounts(
    orders: OrdersTable, asks: Asks, narrow: PrimitiveType, wide: PrimitiveType, old: pa.DataType, new: pa.DataType
) -> None:
    """A key of decimals that the older type cannot hold, and of floats that are doubles now."""
    is_exact = pa.types.is_decimal(old)

    def amounts(whole: range) -> list[Decimal] | list[float]:
        return [Decimal(each) for each in whole] if is_exact else [float(each) for each in whole]

    orders.adds_column("amount", narrow)
    before = orders.appends(with_amounts(range(50), amounts(range(50)), old), of_flink("a", 1))
    orders.catalog.load_table(ORDERS).update_schema().update_column("amount", wide).commit()
    large = range(1_000_000, 1_000_010)
    orders.appends(with_amounts(range(50, 60), amounts(large), new), of_flink("a", 2))
    orders.appends(with_amounts(range(45, 50), amounts(range(45, 50)), new), of_flink("b", 2))

    copies, again, changed = (
        asks(task, orders.ask(before, contract=BY_AMOUNT))
        for task in ("duplicate_rows", "replayed_rows", "corrected_rows")
    )

    assert copies.finding.keys == 5
    assert (again.finding.replayed, again.finding.changed, again.could_not_look) == (5, 0, ())
    assert changed.verdict is Verdict.RULED_OUT


def of_lines(positions: range, lines: Sequence[Mapping[str, int | None]], kind: pa.DataType) -> pa.Table:
    """Rows with a struct each, and the same struct in a list."""
    made = rows(positions).append_column("line", pa.array(list(lines), kind))
    return made.append_column("lines", pa.array([[each] for each in lines], pa.list_(kind)))


def test_structs_that_got_a_field_are_compared_by_what_they_had(orders: OrdersTable, asks: Asks) -> None:
    """One field came, one was widened; of the keys that came again one has another value in what both states have."""
    narrow = StructType(NestedField(101, "sku", IntegerType(), required=False))
    listed = StructType(NestedField(102, "sku", IntegerType(), required=False))
    orders.adds_column("line", narrow)
    orders.adds_column("lines", ListType(103, listed, element_required=False))
    old, new = pa.struct([("sku", pa.int32())]), pa.struct([("sku", pa.int64()), ("note", pa.string())])
    before = orders.appends(of_lines(range(10), [{"sku": each} for each in range(10)], old), of_flink("a", 1))
    table = orders.catalog.load_table(ORDERS)
    with table.update_schema() as change:
        for struct in ("line", "lines.element"):
            change.update_column((*struct.split("."), "sku"), LongType())
            change.add_column((*struct.split("."), "note"), StringType())
    orders.deletes("source_position == 3")
    again = [{"sku": 99 if each == 7 else each, "note": None} for each in range(5, 10)]
    orders.appends(of_lines(range(5, 10), again, new), of_flink("b", 1))
    orders.deletes("source_position >= 5 and source_position < 7")

    changed, replayed = (asks(task, orders.ask(before)) for task in ("corrected_rows", "replayed_rows"))

    assert changed.finding.columns == {"line": 1, "lines": 1}
    assert (replayed.finding.replayed, replayed.finding.changed) == (5, 1)


def test_a_source_partition_that_was_widened_after_the_last_commit_is_read(orders: OrdersTable, asks: Asks) -> None:
    """It partitions the table too, and Iceberg cannot give its value in the type that it had."""
    orders.partitions_by(("source_partition", IdentityTransform()))
    before, _ = write(orders, "a1[0:10] | a2[15:20]")
    orders.widens_column("source_partition")

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert answer.finding.gaps == (PositionGap(first=10, last=14, partition="0"),)


@pytest.mark.long
@pytest.mark.parametrize(
    ("narrow", "wide", "old", "new"),
    [
        pytest.param(IntegerType(), LongType(), pa.int32(), pa.int64(), id="int"),
        pytest.param(FloatType(), DoubleType(), pa.float32(), pa.float64(), id="float", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("window", ["only appends", pytest.param("deletes too", marks=pytest.mark.long)])
def test_copies_are_found_beside_older_rows_in_partitions_of_a_narrower_type(
    orders: OrdersTable,
    asks: Asks,
    narrow: PrimitiveType,
    wide: PrimitiveType,
    old: pa.DataType,
    new: pa.DataType,
    window: str,
) -> None:
    """Iceberg fails over where rows lay at an older snapshot; the copies are counted, and that is said."""
    orders.adds_column("amount", narrow)
    orders.partitions_by(("amount", IdentityTransform()))
    before = orders.appends(with_amounts(range(10), [1.0] * 10, old), of_flink("a", 1))
    orders.catalog.load_table(ORDERS).update_schema().update_column("amount", wide).commit()
    orders.appends(with_amounts(range(5, 15), [1.0] * 10, new), of_flink("b", 2))
    if window == "deletes too":
        orders.deletes("source_position == 14")

    copies, extra = (asks(task, orders.ask(before)) for task in ("duplicate_rows", "extra_copies"))

    assert (copies.finding.keys, copies.finding.across_partitions) == (5, 0)
    told = [each.reason.split(",")[0] for each in copies.could_not_look]
    assert told == (["Column amount"] if window == "only appends" else [])
    assert extra.verdict is Verdict.CONFIRMED


def test_a_column_whose_type_was_replaced_is_not_read_from_older_files(orders: OrdersTable, asks: Asks) -> None:
    """`CREATE OR REPLACE TABLE` keeps the field id under another type: what Spark would fail over is said instead."""
    before = orders.appends(rows(range(10)), of_flink("a", 1))
    orders.appends(rows(range(10, 20)), of_flink("a", 2))
    table = orders.catalog.load_table(ORDERS)
    table.update_schema(allow_incompatible_changes=True).update_column("customer", LongType()).commit()

    contract = TableContract(key=("customer",), position="source_position")
    answer = asks("corrected_rows", orders.ask(before, contract=contract))

    assert answer.verdict is Verdict.INCONCLUSIVE
    assert "Column customer was string and is long" in answer.could_not_look[0].reason


@pytest.mark.parametrize(
    ("before", "now", "may"),
    [
        ("int", "long", True),
        ("long", "int", False),
        ("float", "double", True),
        ("decimal(9, 2)", "decimal(18,2)", True),
        ("decimal(9, 2)", "decimal(18, 3)", False),
        ("date", "timestamp", True),
        ("date", "timestamptz", False),
        ("string", "string", True),
        ("unknown", "int", True),
        ("struct<1: a: optional int>", "struct<1: a: optional long>", True),
        ("list<int>", "map<string, int>", False),
        ("list<int>", "int", False),
    ],
)
def test_what_iceberg_promotes_is_read_from_older_files(before: str, now: str, may: bool) -> None:
    """By its specification."""
    assert may_become(before, now) is may
