"""Before files are moved aside the catalog tells which of them the table may name, however their paths are spelled."""

from pathlib import Path

import pytest

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from tests.tables import ORDERS, OrdersTable
from tests.upserts import upserts


@pytest.mark.parametrize("spelled", ["file://{}", "file:{}", "{}", "hdfs://nn:8020{}"])
def test_a_live_file_is_named_whatever_its_path_says_of_scheme_and_host(tmp_path: Path, spelled: str) -> None:
    """Data and delete files: without a delete file rows come back. What is not live may go."""
    orders = OrdersTable(tmp_path)
    orders.commits_files("a", 1, {"gone.parquet": range(5)})
    orders.deletes("order_id < 5")
    orders.commits("a", 2, range(10, 20))
    upserts(orders, "a", 3, [20], keys=[13])
    catalog = PyIcebergCatalog(
        "lake",
        {"type": "sql", "uri": f"sqlite:///{tmp_path}/catalog.db", "warehouse": f"file://{tmp_path}/lake"},
        SystemClock(),
    )
    there = [spelled.format(path) for path in sorted(orders.data_folder.rglob("*.parquet"))]

    named = catalog.files_named(ORDERS, "main", [*there, spelled.format(orders.data_folder / "stray.parquet")])

    assert len(there) == 4
    assert [path for path in there if path not in named] == [path for path in there if path.endswith("gone.parquet")]
    assert set(named) <= set(there)
    catalog.close()
    orders.close()
