"""`sales.orders` in some catalog, as another engine sees and changes it: through a PyIceberg client of its own."""

from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.io.pyarrow import PyArrowFile
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.iceberg.format_v3 import manifests_of
from bot.adapters.storage import Opened
from bot.observation.ids import SnapshotId, TableName
from bot.observation.table import Snapshot
from tests.adapters.conftest import StandingClock

_ROWS = pa.schema([pa.field("order_id", pa.string(), nullable=False), pa.field("position", pa.int64())])


@dataclass(frozen=True)
class Orders:
    """One table of three commits, and both sides' way to it."""

    kind: str
    name: TableName
    properties: Mapping[str, str]
    theirs: Catalog
    ours: PyIcebergCatalog

    @property
    def table(self) -> Table:
        return self.theirs.load_table(self.name)

    @property
    def heads(self) -> list[SnapshotId]:
        """Every snapshot, oldest first."""
        ordered = sorted(self.table.metadata.snapshots, key=lambda each: each.sequence_number or 0)
        return [SnapshotId(each.snapshot_id) for each in ordered]

    def append(self, *positions: int, **summary: str) -> SnapshotId:
        """One commit of another writer."""
        rows = [{"order_id": f"o-{position}", "position": position} for position in positions]
        self.table.append(pa.Table.from_pylist(rows, schema=_ROWS), snapshot_properties=summary)
        head = self.table.metadata.current_snapshot_id
        assert head is not None
        return SnapshotId(head)

    def close(self) -> None:
        """Gives both sides' connections back."""
        self.theirs.close()
        self.ours.close()


def orders_in(kind: str, namespace: str, properties: Mapping[str, str]) -> Orders:
    """A new table in a new namespace of the catalog that `properties` lead to."""
    theirs = load_catalog("lake", **properties)
    theirs.create_namespace(namespace)
    name = TableName(f"{namespace}.orders")
    schema = Schema(
        NestedField(1, "order_id", StringType(), required=True), NestedField(2, "position", LongType(), required=False)
    )
    theirs.create_table(name, schema=schema, properties={"owner": "ana"})
    made = Orders(kind, name, properties, theirs, PyIcebergCatalog("lake", properties, StandingClock()))
    for first in (1, 3, 5):
        made.append(first, first + 1, **{"flink.job-id": "a" * 32, "flink.max-committed-checkpoint-id": str(first)})
    return made


def own_manifests(snapshot: Snapshot, opened: Opened) -> list[str]:
    """Paths of the manifests that it added, from its list as this opens it."""
    files, path = opened(snapshot.manifest_list)
    listed = manifests_of(PyArrowFile(path, path, files), 2)
    return [each.manifest_path for each in listed if each.added_snapshot_id == snapshot.snapshot_id]
