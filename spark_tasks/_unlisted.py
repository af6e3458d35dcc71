"""Source places of commits that are not listed any more: what the oldest listed commit still has of their files."""

import re
from collections.abc import Collection, Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.table import Snapshot
from spark_tasks._bounds import with_bounds
from spark_tasks._columns_of_before import renamed
from spark_tasks._data_files import DataFile, rows_in
from spark_tasks._few_entries import stored_entries
from spark_tasks._manifests import Manifest, newest_of
from spark_tasks._near import partition_of
from spark_tasks._reading import column

_MOST_MANIFESTS = 400
_MOST_FILES = 10_000
_WHOLE = frozenset({"int", "long"})
_BOUNDS = ("lower_bounds", "upper_bounds")
_NUMBER = re.compile(r"-?\d+")


def places_below(
    spark: SparkSession, ask: Ask, oldest: Snapshot, many: int, known: Collection[str | None]
) -> DataFrame | NotSeen:
    """Shape: partition (string), position (bigint); one row per row with both in data files that live at `oldest`, of
    the newest `many` commits below it, deleted rows too. Files that by their bounds hold no partition but those that
    are `known` are passed over. NotSeen where the files are too many, or a column had another name.

    Cost: one manifest list, the manifests that the newest `many` of its writers wrote, and two columns of files that
    may hold another partition: none where all partitions go on, as long as the column holds whole numbers.
    """
    table, contract = ask.observation.table, ask.contract
    assert contract.position is not None
    assert contract.position_partition is not None
    names = [contract.position_partition, contract.position]
    if other_names := renamed(table, names):
        return other_names[0]
    manifests = _newest(spark, oldest, many)
    if len(manifests) > _MOST_MANIFESTS:
        return _too_much(ask, oldest, many, f"more than {_MOST_MANIFESTS:,} manifests")
    if not manifests:
        return _nothing(spark)
    wanted = _with_others(_files(spark, ask, oldest, manifests, many), known)
    rows = wanted.limit(_MOST_FILES + 1).collect()
    if len(rows) > _MOST_FILES:
        return _too_much(ask, oldest, many, f"more than {_MOST_FILES:,} data files")
    read = rows_in(spark, table, [_file(row) for row in rows], names)
    partition, position = partition_of(ask), column(contract.position).cast("bigint")
    placed = read.select(partition.alias("partition"), position.alias("position"))
    return placed.where("partition IS NOT NULL AND position IS NOT NULL")


def _newest(spark: SparkSession, oldest: Snapshot, many: int) -> list[Manifest]:
    """Those of `oldest` itself, which may have merged older ones, and of so many who wrote before, the last first: of
    format v1, whose lists do not tell who was the last, all. At most one more than `_MOST_MANIFESTS`."""
    chosen: list[Manifest] = []
    writers: set[int] = set()
    for each in newest_of(spark, oldest, _MOST_MANIFESTS + 1, first=(oldest,)):
        if each.snapshot_id != oldest.snapshot_id:
            writers.add(each.snapshot_id)
        if len(writers) > many and each.sequence_number:
            break
        chosen.append(each)
    return chosen


def _files(spark: SparkSession, ask: Ask, oldest: Snapshot, manifests: Sequence[Manifest], many: int) -> DataFrame:
    """Shape: snapshot_id, file_path, format, record_count, edge_from, edge_until (bounds of the source partition, null
    where none are told); one row per data file of the newest `many` commits below. What `oldest` itself brought is not
    of them, unless it rewrote older files."""
    told = [(each.path.rsplit("/", 1)[-1], each.snapshot_id, each.sequence_number) for each in manifests]
    writers = F.broadcast(spark.createDataFrame(told, "manifest string, writer bigint, written bigint"))
    read = stored_entries(spark, manifests, bounds=True).withColumn("manifest", F.col("_metadata.file_name"))
    live = read.join(writers, on="manifest", how="inner").where("status != 2 AND coalesce(data_file.content, 0) = 0")
    placed = live.select(
        F.coalesce("snapshot_id", "writer").alias("snapshot_id"),
        F.coalesce("sequence_number", F.when(F.col("status") == 1, F.col("written")), F.lit(0)).alias("age"),
        F.lower("data_file.file_format").alias("format"),
        *(F.col(f"data_file.{name}").alias(name) for name in ("file_path", "record_count", *_BOUNDS)),
    )
    if oldest.operation == "append":
        placed = placed.where(F.col("snapshot_id") != int(oldest.snapshot_id))
    ages = placed.select("age").distinct().orderBy(F.desc("age")).limit(many)
    newest = placed.join(F.broadcast(ages), on="age", how="left_semi")
    named = next(each for each in ask.observation.table.columns if each.name == ask.contract.position_partition)
    bounded = with_bounds(newest, {"edge": named if named.type in _WHOLE else None})
    return bounded.select("snapshot_id", "file_path", "format", "record_count", "edge_from", "edge_until")


def _with_others(files: DataFrame, known: Collection[str | None]) -> DataFrame:
    """Those of these files that may hold another partition: between the bounds of the others all are known."""
    numbers = [int(each) for each in known if each is not None and _NUMBER.fullmatch(each)]
    low, high = F.col("edge_from"), F.col("edge_until")
    inside = F.size(F.filter(F.lit(numbers).cast("array<bigint>"), lambda each: each.between(low, high)))
    return files.where(F.coalesce(inside < high - low + 1, F.lit(True)))


def _nothing(spark: SparkSession) -> DataFrame:
    return spark.createDataFrame([], "partition string, position bigint")


def _file(row: Row) -> DataFile:
    return DataFile(
        snapshot_id=SnapshotId(row["snapshot_id"]),
        is_added=True,
        content="data",
        path=row["file_path"],
        format=row["format"],
        rows=int(row["record_count"]),
        low=row["edge_from"],
        high=row["edge_until"],
    )


def _too_much(ask: Ask, oldest: Snapshot, many: int, found: str) -> NotSeen:
    return NotSeen(
        source=f"what lay below snapshot {oldest.snapshot_id} of {ask.observation.table.name}",
        reason="The commits below it have expired, and which source partitions the newest of them wrote is not known: "
        f"that would be told by {found}.",
        remedy=f"Ask again with a window that begins {many} commits later, or ask the source whether each of its "
        "partitions goes on.",
    )
