"""A compaction by Spark, and what a commit has added."""

from contextlib import closing
from pathlib import Path

from pyspark.sql import SparkSession

from bot.adapters.spark_repairs import spark_catalog
from bot.observation.ids import SnapshotId
from tests.little_flink import open_catalog
from tests.repairs.scene import RepairScene
from tests.tables import ORDERS


def compacts(scene: RepairScene, writer: SparkSession) -> SnapshotId:
    """Spark rewrites every data file, as maintenance does: a `replace` commit."""
    every = "options => map('rewrite-all', 'true')"
    on_lake(scene, writer, f"CALL lake.system.rewrite_data_files(table => '{ORDERS}', {every})")
    table = scene.table
    assert table.head is not None
    assert table.by_id[table.head].operation == "replace"
    return table.head


def on_lake(scene: RepairScene, writer: SparkSession, statement: str) -> None:
    """One statement over the scene's catalog `lake`."""
    lake = {"type": "sql", "uri": f"sqlite:///{scene.folder}/catalog.db", "warehouse": f"file://{scene.folder}/lake"}
    for key, value in spark_catalog("lake", lake, {}).conf.items():
        writer.conf.set(key, value)
    writer.sql(statement).collect()


def added_by(scene: RepairScene, commit: SnapshotId) -> list[Path]:
    """The data files that this commit added."""
    with closing(open_catalog(scene.folder)) as catalog:
        files = catalog.load_table(ORDERS).inspect.entries(commit).to_pylist()
    added = [each["data_file"]["file_path"] for each in files if each["snapshot_id"] == commit and each["status"] == 1]
    return [Path(path.removeprefix("file://").removeprefix("file:")) for path in added]
