"""What the catalog says of a table arrives whole, and its silence is never an empty table."""

from datetime import timedelta

import pytest
from pyiceberg.catalog import load_catalog

from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import CouldNotLook, UnknownTable
from bot.domain.ids import TableName
from tests.adapters.conftest import NOON, StandingClock
from tests.adapters.lake import ORDERS, Lake
from tests.adapters.serving import unused_address


def test_a_loaded_table_has_its_whole_history(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Snapshots by rising sequence, summaries as strings with the operation, log, refs, columns, properties."""
    head = lake.append(7, **{"flink.job-id": "a" * 32, "flink.max-committed-checkpoint-id": "12"})

    table = catalog.load(ORDERS)

    assert table.head == head
    assert [s.snapshot_id for s in table.snapshots] == lake.heads
    assert [s.snapshot_id for s in reversed(table.chain)] == lake.heads
    assert [move.snapshot_id for move in table.head_moves] == lake.heads
    assert table.snapshots[-1].checkpoint_id == 12
    assert table.snapshots[-1].summary["operation"] == "append"
    assert table.snapshots[-1].counted("added-records") == 1
    assert table.snapshots[0].engine == "unknown"
    assert abs(table.snapshots[-1].committed_at - table.head_moves[-1].at) < timedelta(seconds=1)
    assert [(ref.name, ref.kind) for ref in table.refs] == [("main", "branch")]
    assert [(column.name, column.type) for column in table.columns] == [("order_id", "string"), ("position", "long")]
    assert table.properties["owner"] == "ana"
    assert table.metadata_location == lake.table.metadata_location
    assert table.read_at == NOON


def test_an_empty_table_has_no_head(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """A table without commits is a table."""
    lake.catalog.create_table("sales.empty", schema=lake.table.schema())

    table = catalog.load(TableName("sales.empty"))

    assert table.head is None
    assert table.snapshots == ()


@pytest.mark.parametrize("name", ["sales.nothing", "nowhere.orders"])
def test_an_unknown_table_is_named(catalog: PyIcebergCatalog, name: str) -> None:
    """No such table, or no such namespace: the catalog did answer."""
    with pytest.raises(UnknownTable, match=f"no table {name}"):
        catalog.load(TableName(name))


@pytest.mark.parametrize(
    "properties",
    [
        {"type": "rest", "uri": unused_address()},
        {"type": "sql", "uri": "sqlite:////nowhere/at/all.db"},
        {"type": "sql"},
        {"type": "no-such-kind"},
    ],
    ids=["nobody listens", "no such folder", "no uri", "no such kind"],
)
def test_a_catalog_that_cannot_be_opened_is_could_not_look(properties: dict[str, str], clock: StandingClock) -> None:
    """The bot starts all the same; each look says what is wrong."""
    catalog = PyIcebergCatalog("lake", properties, clock)

    with pytest.raises(CouldNotLook):
        catalog.load(ORDERS)
    with pytest.raises(CouldNotLook):
        catalog.tables()


def test_tables_of_nested_namespaces_are_listed_once(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Every table of every namespace, by name."""
    lake.catalog.create_namespace("sales.eu")
    for name in ("sales.eu.orders", "sales.returns"):
        lake.catalog.create_table(name, schema=lake.table.schema())

    assert catalog.tables() == ("sales.eu.orders", "sales.orders", "sales.returns")


def test_a_closed_catalog_connects_again(lake: Lake, catalog: PyIcebergCatalog) -> None:
    """Closing gives back connections and is no end; twice is once."""
    catalog.load(ORDERS)

    catalog.close()
    catalog.close()

    assert catalog.load(ORDERS).head == lake.heads[-1]


def test_another_catalog_name_is_another_catalog(lake: Lake, clock: StandingClock) -> None:
    """In a SQL catalog the name is part of the key: a wrong one finds no table, and says so."""
    other = load_catalog("other", **lake.properties)
    adapter = PyIcebergCatalog("other", lake.properties, clock)

    with pytest.raises(UnknownTable, match="Expected it in the catalog other"):
        adapter.load(ORDERS)
    adapter.close()
    other.close()
