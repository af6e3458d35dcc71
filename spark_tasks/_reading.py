"""Pinned reads: every frame names the metadata file, so that the same question gives the same answer.

All functions are lazy unless they say that they read. Nothing here knows what a verdict is.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.errors import EvidenceFailed
from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState

MAX_MANIFESTS = 20_000
_MANIFEST_LIST = """
    manifest_path string, manifest_length bigint, partition_spec_id int, sequence_number bigint,
    added_snapshot_id bigint
"""
_FILE = "content: int, file_path: string, file_format: string, record_count: bigint, file_size_in_bytes: bigint"
_BOUNDS = dict.fromkeys(("lower_bounds", "upper_bounds"), "array<struct<key: int, value: binary>>")
_MANIFEST = "status int, snapshot_id bigint, data_file struct<{}>"
"""Reader schemas: manifests of different writers differ, and a field that one lacks is then null."""
_FILE_NAME = r"[^/]+$"


def column(name: str) -> Column:
    """A top-level column by its very name, dots and all."""
    return F.col(f"`{name.replace('`', '``')}`")


def rows_at(spark: SparkSession, table: TableState, snapshot: SnapshotId) -> DataFrame:
    """Live rows as of a listed snapshot, on main or not; deletes are applied."""
    return spark.read.format("iceberg").option("versionAsOf", str(snapshot)).load(table.metadata_location)


def rows_appended(spark: SparkSession, table: TableState, since: SnapshotId, until: SnapshotId) -> DataFrame:
    """Rows of the `append` commits after `since` (exclusive) up to `until` (inclusive), rolled back or not.

    Commits of another operation between them are passed over: ask `operations` first. Cost: their files.
    """
    read = spark.read.format("iceberg").option("start-snapshot-id", str(since))
    return read.option("end-snapshot-id", str(until)).load(table.metadata_location)


def operations(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """The kinds of commit among these: `append`, `overwrite`, `delete`, `replace`."""
    return frozenset(snapshot.operation for snapshot in snapshots)


def entries(
    spark: SparkSession, snapshots: Sequence[Snapshot], *, bounds: bool = False, more: Mapping[str, str] | None = None
) -> DataFrame:
    """What these commits themselves added and removed, from their manifests.

    Shape: snapshot_id, status (1 added, 2 removed), content (0 data, 1 position deletes, 2 equality deletes),
    file_path, file_format, record_count, file_size_in_bytes, spec_id; with `bounds` also lower_bounds, upper_bounds
    (arrays of {key: field id, value: binary as Iceberg stores it}); then `more`, further fields of the data file
    (name -> type); one row per file and commit.
    Source: each commit's own manifest list, because a later commit may have merged its manifests away.
    Cost: reads the manifest lists now; the manifests that these commits wrote later. Never the table's others.
    """
    wanted = [int(snapshot.snapshot_id) for snapshot in snapshots]
    listed = manifests_of(spark, [s.manifest_list for s in snapshots]).where(F.col("added_snapshot_id").isin(wanted))
    found = entries_in(spark, listed, bounds=bounds, more=more)
    return found.where(F.col("snapshot_id").isin(wanted) & F.col("status").isin(1, 2))


def writers_of(spark: SparkSession, at: Snapshot, files: DataFrame) -> DataFrame:
    """Which commit added each of `files` (a column `file_path`, no duplicates) that is live at `at`.

    Shape: file_path, snapshot_id; one row per file found. Cost: two columns of every manifest of `at`.
    """
    live = entries_in(spark, manifests_of(spark, [at.manifest_list])).where(F.col("status") != 2)
    return live.join(F.broadcast(files), on="file_path", how="left_semi").select("file_path", "snapshot_id")


def local_ids(spark: SparkSession, order: Collection[SnapshotId]) -> DataFrame:
    """Shape: snapshot_id, place (0 is the oldest); one row per snapshot, in the given order."""
    rows = [(int(snapshot_id), place) for place, snapshot_id in enumerate(order)]
    return spark.createDataFrame(rows, "snapshot_id bigint, place int")


def manifests_of(spark: SparkSession, manifest_lists: Sequence[str]) -> DataFrame:
    """Shape: manifest_path, manifest_length, sequence_number, added_snapshot_id, spec_id; one row per manifest,
    however many lists name it."""
    read = spark.read.format("avro").schema(_MANIFEST_LIST).load(list(manifest_lists))
    return read.withColumnRenamed("partition_spec_id", "spec_id").distinct()


def entries_in(
    spark: SparkSession, listed: DataFrame, *, bounds: bool = False, more: Mapping[str, str] | None = None
) -> DataFrame:
    """Shape: as of `entries`; one row per manifest entry.

    An entry without a snapshot id inherits that of its manifest (Iceberg spec, "Sequence Number Inheritance").
    """
    return entries_of(spark, listed.limit(MAX_MANIFESTS + 1).collect(), bounds=bounds, more=more)


def entries_of(
    spark: SparkSession, manifests: Sequence[Row], *, bounds: bool = False, more: Mapping[str, str] | None = None
) -> DataFrame:
    """The same for rows of `manifests_of` that are in hand: lazy."""
    if len(manifests) > MAX_MANIFESTS:
        raise EvidenceFailed(
            "The window is too large to be looked at.",
            f"Expected at most {MAX_MANIFESTS:,} manifests; there are more.",
            "Choose a window that begins later, then ask again.",
        )
    fields = {**(_BOUNDS if bounds else {}), **(more or {})}
    if not manifests:
        return spark.createDataFrame([], ", ".join([_SHAPE, *(f"{name} {kind}" for name, kind in fields.items())]))
    names = [(m["manifest_path"].rsplit("/", 1)[-1], m["added_snapshot_id"], m["spec_id"]) for m in manifests]
    inherited = spark.createDataFrame(names, "manifest string, inherited bigint, spec_id int")
    schema = _MANIFEST.format(", ".join([_FILE, *(f"{name}: {kind}" for name, kind in fields.items())]))
    read = spark.read.format("avro").schema(schema).load([m["manifest_path"] for m in manifests])
    named = read.withColumn("manifest", F.regexp_extract(F.col("_metadata.file_path"), _FILE_NAME, 0))
    return named.join(F.broadcast(inherited), on="manifest", how="inner").select(
        F.coalesce("snapshot_id", "inherited").alias("snapshot_id"),
        "status",
        F.coalesce("data_file.content", F.lit(0)).alias("content"),
        F.col("data_file.file_path").alias("file_path"),
        F.col("data_file.file_format").alias("file_format"),
        F.col("data_file.record_count").alias("record_count"),
        F.col("data_file.file_size_in_bytes").alias("file_size_in_bytes"),
        "spec_id",
        *(F.col(f"data_file.{name}").alias(name) for name in fields),
    )


_SHAPE = """
    snapshot_id bigint, status int, content int, file_path string, file_format string, record_count bigint,
    file_size_in_bytes bigint, spec_id int
"""
