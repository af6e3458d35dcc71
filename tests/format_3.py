"""A real table of format 3, which only Spark can make: PyIceberg reads it."""

from collections.abc import Iterable
from pathlib import Path

from pyiceberg.catalog.sql import SqlCatalog
from pyspark.sql import SparkSession

from bot.adapters.spark_repairs import spark_catalog
from bot.observation.ids import SnapshotId
from tests.tables import ORDERS, of_flink

NAME = f"lake.{ORDERS}"
_COLUMNS = "order_id BIGINT, source_partition INT, source_position BIGINT, event_time TIMESTAMP, customer STRING"


class OrdersOfFormat3:
    """`sales.orders` in a SQLite catalog of its own, written by Spark with the summaries of Flink's sink."""

    def __init__(self, folder: Path, spark: SparkSession, **properties: str) -> None:
        self.folder = folder
        self._spark = spark
        with_tables = SqlCatalog("lake", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}/lake")
        with_tables.create_namespace("sales")
        with_tables.close()
        lake = {"type": "sql", "uri": f"sqlite:///{folder}/catalog.db", "warehouse": f"file://{folder}/lake"}
        for key, value in spark_catalog("lake", lake, {}).conf.items():
            spark.conf.set(key, value)
        told = {"format-version": "3", "write.delete.mode": "merge-on-read", **properties}
        listed = ", ".join(f"'{key}' = '{value}'" for key, value in told.items())
        self.says(f"CREATE TABLE {NAME} ({_COLUMNS}) USING iceberg TBLPROPERTIES ({listed})")

    def says(self, statement: str) -> None:
        """One statement of Spark's."""
        self._spark.sql(statement).collect()

    def deletes(self, *positions: int) -> None:
        """Spark deletes these rows by deletion vectors."""
        places = ", ".join(map(str, positions))
        self.says(f"DELETE FROM {NAME} WHERE source_position IN ({places})")  # noqa: S608 - numbers of ours

    def commits(self, run: str, checkpoint: int, positions: Iterable[int]) -> SnapshotId:
        """One checkpoint of a Flink run that appends these positions, in one file."""
        places = list(positions)
        rows = self._spark.createDataFrame([(each,) for each in places], "source_position BIGINT").selectExpr(
            "source_position AS order_id",
            "0 AS source_partition",
            "source_position",
            "timestamp'2026-11-03 00:00:00' + make_interval(0, 0, 0, 0, 0, 0, source_position) AS event_time",
            "concat('customer-', source_position) AS customer",
        )
        write = rows.coalesce(1).writeTo(NAME)
        for key, value in of_flink(run, checkpoint).items():
            if key != "engine-name":
                write = write.option(f"snapshot-property.{key}", value)
        write.append()
        return self.head

    @property
    def head(self) -> SnapshotId:
        """Where main is."""
        refs = self._spark.read.table(f"{NAME}.refs").where("name = 'main'")
        return SnapshotId(refs.collect()[0]["snapshot_id"])

    def row_ids(self, ref: str = "main") -> dict[int, list[int]]:
        """Source position -> the ids of its rows, as Spark reads them there; both ascend."""
        ids: dict[int, list[int]] = {}
        rows = self._spark.read.option("versionAsOf", ref).table(NAME)
        for position, row_id in (
            rows.select("source_position", "_row_id").orderBy("source_position", "_row_id").collect()
        ):
            ids.setdefault(position, []).append(row_id)
        return ids

    def files(self, commit: SnapshotId) -> list[str]:
        """The data files that this commit added."""
        entries = self._spark.read.table(f"{NAME}.all_entries")
        added = entries.where(f"snapshot_id = {commit} AND status = 1 AND data_file.content = 0")
        return sorted({row[0] for row in added.select("data_file.file_path").collect()})
