"""An orders table that Spark itself writes: real MERGE and DELETE, by copying files or by delete files."""

from datetime import UTC, datetime
from pathlib import Path

from pyiceberg.table import StaticTable
from pyspark.sql import SparkSession

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.observation.evidence import Ask, Observation
from bot.observation.ids import SnapshotId
from bot.observation.looked import Seen
from bot.observation.table import TableState, Window
from tests.tables import CONTRACT, ORDERS, of_flink

_ORDER = "order_id bigint, source_position bigint, event_time timestamp, customer string, tags map<string, string>"
_ROW = (
    "SELECT id AS order_id, id AS source_position, "
    "timestamp'2026-11-03' + make_interval(0, 0, 0, 0, 0, 0, id) AS event_time, {customer} AS customer, "
    "map('a', 'b') AS tags FROM range({first}, {last})"
)


class MergedTable:
    """`sales.orders` in a folder, as a catalog of its own of one Spark session."""

    def __init__(self, spark: SparkSession, folder: Path, *, mode: str, version: int = 2) -> None:
        """`mode`: `copy-on-write` or `merge-on-read`."""
        self._spark = spark
        self._folder = folder
        catalog = f"c{abs(hash(str(folder)))}"
        spark.conf.set(f"spark.sql.catalog.{catalog}", "org.apache.iceberg.spark.SparkCatalog")
        spark.conf.set(f"spark.sql.catalog.{catalog}.type", "hadoop")
        spark.conf.set(f"spark.sql.catalog.{catalog}.warehouse", f"file://{folder}")
        self._catalog = catalog
        self._name = f"{catalog}.{ORDERS}"
        modes = ", ".join(f"'write.{act}.mode'='{mode}'" for act in ("merge", "delete", "update"))
        spark.sql(
            f"CREATE TABLE {self._name} ({_ORDER}) USING iceberg TBLPROPERTIES ('format-version'='{version}', {modes})"
        )

    def inserts(self, first: int, last: int) -> SnapshotId:
        """New orders `first` to `last` (exclusive)."""
        rows = _ROW.format(customer="concat('customer-', id)", first=first, last=last)
        self._spark.sql(f"INSERT INTO {self._name} {rows}")
        return self.head

    def commits(self, run: str, checkpoint: int, first: int, last: int) -> SnapshotId:
        """New orders `first` to `last` (exclusive), in a commit that bears a checkpoint of a Flink run."""
        rows = self._spark.sql(_ROW.format(customer="concat('customer-', id)", first=first, last=last))
        writer = rows.writeTo(self._name)
        for key, value in of_flink(run, checkpoint).items():
            writer = writer.option(f"snapshot-property.{key}", value) if key.startswith("flink.") else writer
        writer.append()
        return self.head

    def merges(self, first: int, last: int, customer: str) -> SnapshotId:
        """Orders `first` to `last` (exclusive) belong to `customer`; those that are not there are added."""
        rows = _ROW.format(customer=f"'{customer}'", first=first, last=last)
        self._spark.sql(
            f"MERGE INTO {self._name} t USING ({rows}) s ON t.order_id = s.order_id "
            "WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
        )
        return self.head

    def deletes(self, where: str) -> SnapshotId:
        """Orders are deleted."""
        self._spark.sql(f"DELETE FROM {self._name} WHERE {where}")  # noqa: S608
        return self.head

    def compacts(self, where: str = "true") -> SnapshotId:
        """The files in which such rows may lie are rewritten, by Spark's own procedure."""
        self._spark.sql(
            f"CALL {self._catalog}.system.rewrite_data_files(table => '{ORDERS}', where => '{where}', "
            "options => map('rewrite-all', 'true'))"
        )
        return self.head

    def sets(self, name: str, value: str) -> None:
        """A table property is changed."""
        self._spark.sql(f"ALTER TABLE {self._name} SET TBLPROPERTIES ('{name}'='{value}')")

    def refreshes(self) -> None:
        """The session forgets what it knew of the table."""
        self._spark.sql(f"REFRESH TABLE {self._name}")

    @property
    def head(self) -> SnapshotId:
        """The present head; the table is not empty."""
        head = self.state().head
        assert head is not None
        return head

    def state(self) -> TableState:
        """The table now."""
        versions = (self._folder / "sales" / "orders" / "metadata").glob("v*.metadata.json")
        newest = max(versions, key=lambda path: int(path.name[1:].split(".", 1)[0]))
        location = f"file://{newest}"
        return table_state(ORDERS, StaticTable.from_metadata(location).metadata, location, datetime.now(UTC))

    def ask(self, since: SnapshotId) -> Ask:
        """What a task is asked about the commits after `since`."""
        table = self.state()
        assert table.head is not None
        nothing = Observation(
            table=table,
            jobs=Seen(source="Flink", values=()),
            checkpoints=Seen(source="the checkpoint folder", values=()),
            reads=Seen(source="the lineage events", values=()),
        )
        return Ask(observation=nothing, window=Window(since=since, until=table.head), contract=CONTRACT)
