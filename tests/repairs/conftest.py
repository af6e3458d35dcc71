"""A table of orders, the real catalog adapter, and one embedded Spark that reads what was committed."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.observation.ids import SnapshotId
from bot.observation.table import TableState
from tests.evidence.conftest import Asks, asks, orders, writer
from tests.repairs.scene import RepairScene
from tests.tables import ORDERS, OrdersTable, lake_in

__all__ = ["Asks", "asks", "orders", "writer"]
Reads = Callable[[SnapshotId], list[int]]
Positions = Callable[[RepairScene, str], list[int]]


@pytest.fixture
def catalog(tmp_path: Path, orders: OrdersTable) -> Iterator[PyIcebergCatalog]:
    """The adapter on that table."""
    adapter = PyIcebergCatalog("lake", lake_in(tmp_path), SystemClock())
    yield adapter
    adapter.close()


@pytest.fixture(scope="session")
def spark(server: SparkServer) -> Iterator[SparkSession]:
    """A session of the tests' own on the one server."""
    session = SparkConnection(server.url).session()
    yield session
    session.stop()


@pytest.fixture
def reads(spark: SparkSession, catalog: PyIcebergCatalog) -> Reads:
    """`reads(snapshot)`: every source position as Spark, and so any consumer, reads it there; sorted."""

    def read(snapshot: SnapshotId) -> list[int]:
        state: TableState = catalog.load(ORDERS)
        rows = spark.read.format("iceberg").option("versionAsOf", str(snapshot)).load(state.metadata_location)
        return sorted(row[0] for row in rows.select("source_position").collect())

    return read


@pytest.fixture
def scene(tmp_path: Path, runner: SparkEvidenceRunner) -> Iterator[RepairScene]:
    """A table that run A writes, and the services."""
    made = RepairScene(tmp_path, runner)
    yield made
    made.close()


@pytest.fixture
def positions(spark: SparkSession) -> Positions:
    """`positions(scene, "main")`: every source position as Spark reads it there; sorted."""

    def read(scene: RepairScene, ref: str) -> list[int]:
        table = scene.table
        rows = spark.read.format("iceberg").option("versionAsOf", str(table.ref(ref))).load(table.metadata_location)
        return sorted(row[0] for row in rows.select("source_position").collect())

    return read
