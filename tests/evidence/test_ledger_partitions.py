"""Which partitions each commit touched, as the ledger reads it from manifests: all transforms, few files and many."""

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

from bot.domain.contract import TableContract
from bot.domain.findings import LedgerFinding
from bot.domain.ids import SnapshotId
from bot.domain.ledger import LedgerRow
from bot.domain.table import PartitionField, TouchedPartitions
from spark_tasks import _few_entries
from spark_tasks._parted import NULL, parted_by
from spark_tasks._touched import word_of
from tests.evidence.conftest import Asks
from tests.tables import CONTRACT, OrdersTable, rows

SHOWN = CONTRACT.model_copy(update={"redacted": ()})


@pytest.fixture(params=["few", "many"])
def ways(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Entries are counted here, or all by Spark."""
    monkeypatch.setattr(_few_entries, "FEW_ENTRIES", 2_500 if request.param == "few" else -1)


def newest(asks: Asks, orders: OrdersTable, since: SnapshotId | None, contract: TableContract = SHOWN) -> LedgerRow:
    """The ledger's row of the head."""
    finding = asks("ledger", orders.ask(since, contract=contract)).finding
    assert isinstance(finding, LedgerFinding)
    return finding.ledger.rows[-1]


@pytest.mark.usefixtures("ways")
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

    row = newest(asks, orders, before)

    told = {each.field: each.values for each in row.partitions}
    assert set(told.pop("bucket[4](order_id)")) <= {"0", "1", "2", "3"}
    assert told == {
        "truncate[10](customer)": ("customer-3", "customer-7"),
        "source_partition": ("-2",),
        "truncate[10](source_position)": ("0", "3600"),
        "hour(event_time)": ("2026-11-03-00", "2026-11-03-01"),
    }


@pytest.mark.parametrize(
    ("transform", "value"),
    [(YearTransform(), "2026"), (MonthTransform(), "2026-11"), (DayTransform(), "2026-11-03")],
)
def test_a_part_of_a_time_is_a_time(
    orders: OrdersTable, asks: Asks, transform: Transform[int, int], value: str
) -> None:
    """As engines show such partitions, and the field that no row has a value for as null."""
    orders.partitions_by(("event_time", transform))
    orders.appends(rows([None, 5]))

    row = newest(asks, orders, None)

    assert row.partitions == (TouchedPartitions(field=f"{transform}(event_time)", values=("null", value)),)


@pytest.mark.usefixtures("ways")
def test_rows_that_were_replaced_are_in_partitions_too(orders: OrdersTable, asks: Asks) -> None:
    """A delete touches the partition that it takes rows from, though it adds no file."""
    orders.partitions_by(("customer", IdentityTransform()))
    before = orders.commits("a", 2, range(3))
    orders.deletes("customer = 'customer-1'")

    row = newest(asks, orders, before)

    assert (row.added_files, row.removed_files) == (0, 1)
    assert row.partitions == (TouchedPartitions(field="customer", values=("customer-1",)),)


@pytest.mark.usefixtures("ways")
def test_many_are_counted(orders: OrdersTable, asks: Asks) -> None:
    """Twenty are kept, and how many more there are."""
    orders.partitions_by(("source_position", IdentityTransform()))
    orders.commits("a", 2, range(23))

    (found,) = newest(asks, orders, None).partitions

    assert (len(found.values), found.more) == (20, 3)


def test_a_file_of_a_spec_without_the_field_leaves_it_open(orders: OrdersTable, asks: Asks) -> None:
    """Rows from before the table was partitioned are in none of its partitions."""
    orders.commits("a", 1, range(3))
    orders.partitions_by(("customer", IdentityTransform()))
    before = orders.head
    orders.deletes("source_position >= 0")

    row = newest(asks, orders, before)

    assert (row.removed_files, row.partitions) == (1, ())


@pytest.mark.parametrize("hidden", [("customer",), ("CUSTOMER_trunc_3",)], ids=["column", "field"])
def test_a_hidden_column_is_not_read(orders: OrdersTable, asks: Asks, hidden: tuple[str, ...]) -> None:
    """The first letters of a name tell the name, and so may nothing of it be kept."""
    orders.partitions_by(("customer", TruncateTransform(3)), ("source_partition", IdentityTransform()))
    orders.commits("a", 1, range(3))

    row = newest(asks, orders, None, CONTRACT.model_copy(update={"redacted": hidden}))

    assert row.partitions == (TouchedPartitions(field="source_partition", values=("0",)),)
    assert "cus" not in row.model_dump_json()


@pytest.mark.usefixtures("ways")
def test_a_column_that_became_wider_keeps_its_old_manifests(orders: OrdersTable, asks: Asks) -> None:
    """They hold an int where the table now has a long."""
    orders.partitions_by(("source_partition", IdentityTransform()))
    orders.commits("a", 1, range(3), partition=-7)
    orders.widens_column("source_partition")

    row = newest(asks, orders, None)

    assert row.partitions == (TouchedPartitions(field="source_partition", values=("-7",)),)


def test_names_that_avro_does_not_know_are_read(orders: OrdersTable, asks: Asks) -> None:
    """A field's name may be any text."""
    orders.partitions_by(("customer", IdentityTransform()), name="1st customer.of-day")
    orders.commits("a", 1, range(1))

    row = newest(asks, orders, None)

    assert row.partitions == (TouchedPartitions(field="customer", values=("customer-0",)),)


def test_what_partitions_nothing_is_no_field(orders: OrdersTable, asks: Asks) -> None:
    """`void` is what a field becomes that was dropped."""
    orders.partitions_by(("customer", VoidTransform()), ("source_partition", IdentityTransform()))
    orders.commits("a", 1, range(1))

    row = newest(asks, orders, None)

    assert [each.field for each in row.partitions] == ["source_partition"]


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
