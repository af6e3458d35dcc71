"""The lake as other engines see and change it: a second, independent PyIceberg catalog."""

from pathlib import Path

import pyarrow as pa
from pyiceberg.catalog import Catalog, load_catalog
from pyiceberg.schema import Schema
from pyiceberg.table import Table
from pyiceberg.types import LongType, NestedField, StringType

from bot.observation.ids import SnapshotId, TableName

ORDERS = TableName("sales.orders")
_ROWS = pa.schema([pa.field("order_id", pa.string(), nullable=False), pa.field("position", pa.int64())])


class OrdersOfAnother:
    """A new table of orders in this catalog, as another engine commits to it."""

    def __init__(self, catalog: Catalog, name: TableName) -> None:
        self.catalog = catalog
        self.name = name
        catalog.create_namespace(name.rpartition(".")[0])
        schema = Schema(
            NestedField(1, "order_id", StringType(), required=True),
            NestedField(2, "position", LongType(), required=False),
        )
        catalog.create_table(name, schema=schema, properties={"owner": "ana"})

    @property
    def table(self) -> Table:
        """Loaded anew."""
        return self.catalog.load_table(self.name)

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
        """Gives the connections back."""
        self.catalog.close()


class Lake(OrdersOfAnother):
    """One SQLite file and one warehouse folder."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "catalog.db"
        self.properties = {"type": "sql", "uri": f"sqlite:///{self.file}", "warehouse": (folder / "warehouse").as_uri()}
        super().__init__(load_catalog("lake", **self.properties), ORDERS)
