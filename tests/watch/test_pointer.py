"""The cheapest look at a table: where its metadata is."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.errors import UnknownTable
from bot.domain.ids import TableName
from tests.tables import ORDERS, OrdersTable

pytestmark = pytest.mark.smoke


def catalog_of(folder: Path) -> PyIcebergCatalog:
    """The catalog in this folder."""
    properties = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
    return PyIcebergCatalog("lake", properties, SystemClock())


def test_the_pointer_is_told_without_opening_a_file(tmp_path: Path) -> None:
    """It moves with each commit, and is told even of a metadata file that nobody can open."""
    orders, catalog = OrdersTable(tmp_path), catalog_of(tmp_path)
    before = catalog.pointer(ORDERS)
    orders.commits("a", 1, range(10))
    state = orders.state()
    metadata = Path(state.metadata_location.removeprefix("file://"))
    metadata.rename(metadata.with_suffix(f".{datetime.now(UTC):%f}"))

    after = catalog.pointer(ORDERS)

    assert after == state.metadata_location
    assert before != after
    orders.close()
    catalog.close()


def test_a_table_that_is_not_there_is_unknown(tmp_path: Path) -> None:
    """As with any look at it."""
    orders, catalog = OrdersTable(tmp_path), catalog_of(tmp_path)

    with pytest.raises(UnknownTable):
        catalog.pointer(TableName("sales.refunds"))

    orders.close()
    catalog.close()
