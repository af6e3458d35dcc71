"""Which commits wrote files that rows were found in."""

from collections.abc import Iterator, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.table import Snapshot
from spark_tasks._manifests import MAX_MANIFESTS, Manifest, newest_of, not_too_many
from spark_tasks._reading import entries_of

MAX_FILES = 20_000
"""Above it, files are not counted off one by one: every manifest is read at once."""
FIRST_ENTRIES = 10_000
_GROWS = 4
"""How many times more entries each further batch has."""


def writers_of(spark: SparkSession, at: Snapshot, files: DataFrame) -> DataFrame:
    """Which commit added each of `files` (a column `file_path`, no duplicates) that is live at `at`.

    Shape: file_path, snapshot_id; one row per file found. Cost: reads `files` and one manifest list, then two columns
    of its manifests: the last written first, in growing batches, until every file is found. What is repeated is
    seldom much older than its repetition.
    """
    manifests = newest_of(spark, at, MAX_MANIFESTS + 1)
    not_too_many(len(manifests))
    left = {row["file_path"] for row in files.limit(MAX_FILES + 1).collect()}
    if len(left) > MAX_FILES:
        return _adding(spark, manifests, files).dropDuplicates(["file_path"])
    found: dict[str, int] = {}
    for batch in _batches(manifests):
        if not left:
            break
        wanted = spark.createDataFrame([(path,) for path in left], "file_path string")
        added = _adding(spark, batch, wanted).groupBy("file_path").agg(F.min("snapshot_id").alias("snapshot_id"))
        found |= {row["file_path"]: row["snapshot_id"] for row in added.limit(MAX_FILES).collect()}
        left -= found.keys()
    return spark.createDataFrame(list(found.items()), "file_path string, snapshot_id bigint")


def _adding(spark: SparkSession, manifests: Sequence[Manifest], files: DataFrame) -> DataFrame:
    live = entries_of(spark, manifests).where(F.col("status") != 2)
    return live.join(F.broadcast(files), on="file_path", how="left_semi").select("file_path", "snapshot_id")


def _batches(manifests: Sequence[Manifest]) -> Iterator[list[Manifest]]:
    batch: list[Manifest] = []
    entries, enough = 0, FIRST_ENTRIES
    for manifest in manifests:
        batch.append(manifest)
        entries += manifest.entries
        if entries >= enough:
            yield batch
            batch, entries, enough = [], 0, enough * _GROWS
    if batch:
        yield batch
