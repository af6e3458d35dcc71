"""Columns that were widened in the window: older rows and files hold the narrow type, and their values are the same."""

from collections.abc import Mapping, Sequence
from decimal import Decimal

import pyarrow as pa
import pytest
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

from bot.domain.contract import TableContract
from bot.domain.evidence import Verdict
from bot.domain.findings import CorrectedRowsFinding, PositionGap, ReplayedRowsFinding
from bot.domain.ids import SnapshotId
from spark_tasks._reading import may_become
from tests.evidence.conftest import Asks
from tests.evidence.test_duplicate_rows import duplicates_of
from tests.evidence.test_missing_positions import BY_PARTITION, gaps_of
from tests.tables import ORDERS, OrdersTable, of_flink, rows

pytestmark = pytest.mark.slow

HUGE = 3_000_000_000
"""More than an int can hold."""
BY_SHOP = TableContract(key=("source_partition",), position="source_position")
BY_AMOUNT = TableContract(key=("amount",), position="source_position")


def of_shops(positions: range, shops: list[int], kind: pa.DataType) -> pa.Table:
    """Rows with these whole numbers as source partition."""
    made = rows(positions)
    return made.set_column(made.schema.get_field_index("source_partition"), "source_partition", pa.array(shops, kind))


def with_amounts(positions: range, amounts: list[Decimal] | list[float], kind: pa.DataType) -> pa.Table:
    """Rows with these amounts."""
    return rows(positions).append_column("amount", pa.array(amounts, kind))


def widens(orders: OrdersTable, name: str, kind: PrimitiveType) -> None:
    """Another engine widens a column."""
    orders.catalog.load_table(ORDERS).update_schema().update_column(name, kind).commit()


def with_shops_that_no_int_can_hold(orders: OrdersTable) -> SnapshotId:
    """The window: the key was an int and is a long, ten keys came that only a long can hold, five came again."""
    before = orders.appends(of_shops(range(50), list(range(50)), pa.int32()), of_flink("a", 1))
    widens(orders, "source_partition", LongType())
    orders.appends(of_shops(range(50, 60), list(range(HUGE, HUGE + 10)), pa.int64()), of_flink("a", 2))
    orders.appends(of_shops(range(45, 50), list(range(45, 50)), pa.int64()), of_flink("b", 2))
    return before


@pytest.mark.parametrize("window", ["only appends", "deletes too"])
def test_keys_that_no_older_row_can_hold_are_looked_for_among_them(
    orders: OrdersTable, asks: Asks, window: str
) -> None:
    """A bound of the window's keys is no int; the older rows are compared all the same."""
    before = with_shops_that_no_int_can_hold(orders)
    if window == "deletes too":
        orders.deletes("source_position == 3")

    answer = asks("duplicate_rows", orders.ask(before, contract=BY_SHOP))

    assert (duplicates_of(answer).keys, duplicates_of(answer).extra_rows) == (5, 5)


def test_no_key_was_changed_by_its_wider_type(orders: OrdersTable, asks: Asks) -> None:
    """Both states have each key in the present type."""
    before = with_shops_that_no_int_can_hold(orders)
    orders.deletes("source_position == 3")

    answer = asks("corrected_rows", orders.ask(before, contract=BY_SHOP))

    assert isinstance(answer.finding, CorrectedRowsFinding)
    assert (answer.finding.keys, answer.finding.gone) == (0, 1)


def test_records_of_a_key_that_was_widened_came_again(orders: OrdersTable, asks: Asks) -> None:
    """The hash of an int is another than that of the same long, and the record is the same."""
    before = with_shops_that_no_int_can_hold(orders)

    answer = asks("replayed_rows", orders.ask(before, contract=BY_SHOP))

    assert isinstance(answer.finding, ReplayedRowsFinding)
    assert (answer.finding.replayed, answer.finding.changed) == (5, 0)
    assert answer.could_not_look == ()


def test_positions_beyond_what_an_int_can_hold_are_looked_for_among_older_rows(orders: OrdersTable, asks: Asks) -> None:
    """The position itself was widened because it outgrew its type."""
    before = orders.appends(of_shops(range(50), list(range(50)), pa.int32()), of_flink("a", 1))
    widens(orders, "source_partition", LongType())
    orders.appends(of_shops(range(50, 52), [HUGE, HUGE + 1], pa.int64()), of_flink("a", 2))
    orders.appends(of_shops(range(48, 50), [48, 49], pa.int64()), of_flink("b", 2))
    by_shop = TableContract(key=("order_id",), position="source_partition")

    again, missing = (
        asks(task, orders.ask(before, contract=by_shop)) for task in ("replayed_rows", "missing_positions")
    )

    assert isinstance(again.finding, ReplayedRowsFinding)
    assert again.finding.replayed == 2
    assert "2,999,999,950 positions are missing: 50 to 2999999999" in missing.headline


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
    widens(orders, "amount", wide)
    large = range(1_000_000, 1_000_010)
    orders.appends(with_amounts(range(50, 60), amounts(large), new), of_flink("a", 2))
    orders.appends(with_amounts(range(45, 50), amounts(range(45, 50)), new), of_flink("b", 2))

    copies, again, changed = (
        asks(task, orders.ask(before, contract=BY_AMOUNT))
        for task in ("duplicate_rows", "replayed_rows", "corrected_rows")
    )

    assert duplicates_of(copies).keys == 5
    assert isinstance(again.finding, ReplayedRowsFinding)
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

    assert isinstance(changed.finding, CorrectedRowsFinding)
    assert changed.finding.columns == {"line": 1, "lines": 1}
    assert isinstance(replayed.finding, ReplayedRowsFinding)
    assert (replayed.finding.replayed, replayed.finding.changed) == (5, 1)


def test_a_source_partition_that_was_widened_after_the_last_commit_is_read(orders: OrdersTable, asks: Asks) -> None:
    """It partitions the table too, and Iceberg cannot give its value in the type that it had."""
    orders.partitions_by(("source_partition", IdentityTransform()))
    before = orders.commits("a", 1, range(10))
    orders.commits("a", 2, range(15, 20))
    widens(orders, "source_partition", LongType())

    answer = asks("missing_positions", orders.ask(before, contract=BY_PARTITION))

    assert gaps_of(answer).gaps == (PositionGap(first=10, last=14, partition="0"),)


@pytest.mark.parametrize(
    ("narrow", "wide", "old", "new"),
    [
        pytest.param(IntegerType(), LongType(), pa.int32(), pa.int64(), id="int"),
        pytest.param(FloatType(), DoubleType(), pa.float32(), pa.float64(), id="float", marks=pytest.mark.long),
    ],
)
@pytest.mark.parametrize("window", ["only appends", "deletes too"])
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
    widens(orders, "amount", wide)
    orders.appends(with_amounts(range(5, 15), [1.0] * 10, new), of_flink("b", 2))
    if window == "deletes too":
        orders.deletes("source_position == 14")

    copies, extra = (asks(task, orders.ask(before)) for task in ("duplicate_rows", "extra_copies"))

    assert (duplicates_of(copies).keys, duplicates_of(copies).across_partitions) == (5, 0)
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
