"""Pinned reads: every frame names the metadata file, so that the same question gives the same answer.

All functions are lazy unless they say that they read. Nothing here knows what a verdict is. Values of an older state
come in the shape that their column has now: Spark casts no struct to one with more fields, and a comparison of both, or
a hash, needs one shape.
"""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from threading import Lock
from typing import NamedTuple

from cachetools import LRUCache, cached
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known
from pyspark.sql.types import ArrayType, DataType, MapType, StructType

from bot.observation.ids import SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.paths import place_of
from bot.observation.table import Column as TableColumn
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifest_entries import few_entries, stored_entries
from spark_tasks._support.manifests import (
    MAX_MANIFESTS,
    Manifest,
    newest_of,
    not_too_many,
    own_manifests,
    written_since,
)
from spark_tasks._support.words import Inconclusive

MANIFESTS_BELOW = 20
"""How far below the window copies are looked for: a commit that is repeated lies near its repetition."""
ENTRIES_BELOW = 1_000
"""When so many are in hand, no further manifest below the window is read. The one that reaches it is read whole; a
merged manifest has more, up to the size at which the table's writers stop merging."""


class Around(NamedTuple):
    """Manifests of one snapshot, from the window down."""

    manifests: tuple[Manifest, ...]
    is_whole: bool
    """Whether the snapshot has no others."""


def manifests_around(spark: SparkSession, at: Snapshot, window: Sequence[Snapshot]) -> Around:
    """Manifests of `at` that the window's commits wrote, and the newest below them, until `MANIFESTS_BELOW` of them
    or `ENTRIES_BELOW` entries are in hand. A manifest that a commit of the window merged is one of the window's.

    Cost: one manifest list.
    """
    ids = {int(commit.snapshot_id) for commit in window}
    asked = 2 * (len(window) + MANIFESTS_BELOW)
    while True:
        listed = newest_of(spark, at, asked, first=window)
        inside = [manifest for manifest in listed if manifest.snapshot_id in ids]
        below = list(_enough(each for each in listed if each.snapshot_id not in ids))
        if len(listed) < asked or len(inside) + len(below) < len(listed) or len(below) == MANIFESTS_BELOW:
            is_whole = len(listed) < asked and len(inside) + len(below) == len(listed)
            return Around((*inside, *below), is_whole)
        not_too_many(len(inside))
        asked *= 8


def live_since(spark: SparkSession, at: Snapshot, sequence_number: int) -> DataFrame:
    """Entries that are live at `at`, in manifests written at this sequence number or later.

    A file that was not there before that commit is live in no other manifest. Cost: these manifests; all of them
    where the list states no sequence numbers.
    """
    return entries_of(spark, written_since(spark, at, sequence_number)).where("status != 2")


def _enough(newest_first: Iterator[Manifest]) -> Iterator[Manifest]:
    entries = 0
    for number, manifest in enumerate(newest_first):
        if number == MANIFESTS_BELOW or entries >= ENTRIES_BELOW:
            return
        yield manifest
        entries += manifest.entries


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


def require_readable(table: TableState, names: Collection[str]) -> None:
    """Raises Inconclusive where older files cannot be read by one of these names; see `renamed`."""
    if moved := renamed(table, names):
        raise Inconclusive(*moved)


def renamed(table: TableState, names: Collection[str]) -> tuple[NotSeen, ...]:
    """A NotSeen for each column whose name meant another column once, or the same in a type that is no narrower one, or
    whose value the table gives where a file lacks it: its old files cannot be read by name."""
    now = {each.name: each for each in table.columns}
    once = [each for columns in table.schemas.values() for each in columns]
    told = ((name, _of_before(now[name], once)) for name in names)
    return tuple(
        NotSeen(
            source=f"column {name} of {table.name}",
            reason=f"Column {name} {was}.",
            remedy="Compare the states with a query of your own.",
        )
        for name, was in told
        if was is not None
    )


def _of_before(column: TableColumn, once: Iterable[TableColumn]) -> str | None:
    """What older files may hold it as, the end of a sentence; None: as itself."""
    if column.has_default:
        return "was added with a default, which rows of files without it have, and these files do not tell it"
    for each in once:
        if (each.name == column.name) != (each.field_id == column.field_id):
            return "was renamed, or replaces another column of this name, so older files hold it under another name"
        if each.field_id == column.field_id and not may_become(each.type, column.type):
            return f"was {each.type} and is {column.type}, so older files hold it as what cannot be read as that"
    return None


def names_at(table: TableState, snapshot: SnapshotId) -> list[str]:
    """Present columns that the snapshot's own schema has too, in the present order."""
    known = {each.field_id: each.name for each in columns_at(table, snapshot) or table.columns}
    return [each.name for each in table.columns if known.get(each.field_id) == each.name]


def added_since(table: TableState, snapshot: SnapshotId | None, names: Collection[str]) -> tuple[NotSeen, ...]:
    """A NotSeen for each column that the table did not have at the snapshot: older rows cannot be told by it."""
    there = columns_at(table, snapshot) if snapshot is not None else None
    if there is None:
        return ()
    known, ids = {each.field_id for each in there}, {each.name: each.field_id for each in table.columns}
    return tuple(
        NotSeen(
            source=f"column {name} of {table.name}",
            reason=f"Column {name} was added after the window begins, so rows from before have no value in it: whether "
            "the window repeats one of them is not known.",
            remedy="Ask again with a window that begins after the column was added; compare what came before it with a "
            "query of your own.",
        )
        for name in names
        if name in ids and ids[name] not in known
    )


_WIDER = {"int": "long", "float": "double"}
_DATES = ("timestamp", "timestamp_ns")
_DECIMAL = re.compile(r"decimal\((\d+), ?(\d+)\)")


def may_become(before: str, now: str) -> bool:
    """Whether files with the type `before` are read as `now`; both in Iceberg's words. Nested types of one kind are
    not looked into. Source: the Iceberg specification, schema evolution, format 3."""
    if before in {now, "unknown"}:
        return True
    if "<" in before or "<" in now:
        return before.split("<")[0] == now.split("<")[0]
    if _WIDER.get(before) == now or (before == "date" and now in _DATES):
        return True
    one, other = _DECIMAL.fullmatch(before), _DECIMAL.fullmatch(now)
    if one is None or other is None:
        return False
    return one[2] == other[2] and int(one[1]) <= int(other[1])


def reshaped(value: Column, then: DataType, now: DataType) -> Column:
    """`value`, which has the type `then`, in the type `now`. A field of a struct is known by its name: one that was
    added since is null, one that was dropped since is left out. Keys of maps stay as they are."""
    if isinstance(then, StructType) and isinstance(now, StructType):
        kept = {field.name: field.dataType for field in then.fields}
        fields = [
            (
                reshaped(value[field.name], kept[field.name], field.dataType)
                if field.name in kept
                else F.lit(None).cast(field.dataType)
            ).alias(field.name)
            for field in now.fields
        ]
        return F.when(value.isNotNull(), F.struct(*fields))
    if isinstance(then, ArrayType) and isinstance(now, ArrayType):
        of_then, of_now = then.elementType, now.elementType
        return F.transform(value, lambda each: reshaped(each, of_then, of_now))
    if isinstance(then, MapType) and isinstance(now, MapType):
        was, is_now = then.valueType, now.valueType
        return F.transform_values(value, lambda _, each: reshaped(each, was, is_now))
    return value if then == now else value.cast(now)


_FEW, _FEW_BYTES = 64, 8 * 1024 * 1024
"""Up to here one task reads local manifests, and what an entry inherits is looked up in a literal: a second task, a
shuffle and a broadcast would each cost more than the reading. Elsewhere, and above, tasks read side by side: one after
the other, each manifest costs the storage's latency, however small it is."""
_FETCHED_ROWS, _FETCHED_BYTES = 3_000, 1_000_000
"""What is sent along with each query. Above a megabyte Spark Connect 4.1 sends it apart, as an artifact, without the
token of the session."""


def has_at_most(table: TableState, rows: int, at: SnapshotId | None) -> bool:
    """Whether so many rows lived at the snapshot; None: before the first. False where its commit does not say it."""
    commit = table.by_id.get(at) if at is not None else None
    told = "0" if at is None else commit.summary.get("total-records", "") if commit is not None else ""
    return told.isdecimal() and int(told) <= rows


def is_small(table: TableState, *at: SnapshotId | None) -> bool:
    """Whether all rows that lived at these snapshots may be fetched."""
    return all(has_at_most(table, _FETCHED_ROWS, each) for each in at)


def fetched(spark: SparkSession, rows: DataFrame) -> DataFrame:
    """The same rows, fetched now, if they are few: a query over them then neither plans a scan nor reads a file.

    Measured on two cores over 93 commits of 15 rows: `duplicate_rows` took 15.0 s in its first run and 5.1 s warm, and
    takes 7.5 s and 2.1 s. Fewer and larger splits gained nothing, nor did more frames that are fetched."""
    most = 2 * _FETCHED_ROWS
    here = rows.limit(most).toArrow()
    return rows if here.num_rows == most or here.nbytes > _FETCHED_BYTES else spark.createDataFrame(here, rows.schema)


@contextmanager
def persisted(frame: DataFrame) -> Iterator[DataFrame]:
    """The frame, kept by Spark from its first use to the end of the block."""
    kept = frame.persist()
    try:
        yield kept
    finally:
        kept.unpersist()


def column(name: str) -> Column:
    """A top-level column by its very name, dots and all."""
    return F.col(f"`{name.replace('`', '``')}`")


def rows_at(spark: SparkSession, table: TableState, snapshot: SnapshotId) -> DataFrame:
    """Live rows as of a listed snapshot, on main or not; deletes are applied. The table's present columns, told by
    their field ids: under their present names where they were renamed since, in their present types where these were
    widened or got fields since (a hash of an int is not that of the same long), null where they were added since.

    Main's own head is read as the table is now: as of its snapshot Iceberg 1.12 fails over a column that partitions the
    table by its very value and was widened since (`ConstantColumnVector`: a long is no int).
    """
    if snapshot == table.ref("main"):
        return spark.read.format("iceberg").load(table.metadata_location)
    read = spark.read.format("iceberg").option("versionAsOf", str(snapshot)).load(table.metadata_location)
    there = columns_at(table, snapshot)
    if there is None or _kept(there) == _kept(table.columns):
        return read
    then, kinds, stored_as = {each.field_id: each for each in there}, whole_schema(spark, table), read.schema
    return read.select(*(_told(each, then.get(each.field_id), stored_as, kinds) for each in table.columns))


def columns_at(table: TableState, snapshot: SnapshotId) -> tuple[TableColumn, ...] | None:
    """The snapshot's own columns; None where it does not name its schema."""
    schema_id = table.by_id[snapshot].schema_id if snapshot in table.by_id else None
    return table.schemas.get(schema_id) if schema_id is not None else None


@cached(LRUCache(64), key=lambda _, table: table.metadata_location, lock=Lock())
def whole_schema(spark: SparkSession, table: TableState) -> StructType:
    """The table's present columns as Spark reads them. One call to Spark for each metadata file, no file of rows."""
    return spark.read.format("iceberg").load(table.metadata_location).schema


def _told(now: TableColumn, then: TableColumn | None, stored_as: StructType, kinds: StructType) -> Column:
    """Under another name than now nothing of it may be pushed down: Iceberg looks a filter's columns up in the present
    schema, too, and fails with "Cannot find field" (`Projections.project` of the present partition spec)."""
    kind = kinds[now.name].dataType
    if then is None:
        return F.lit(None).cast(kind).alias(now.name)
    stands = column(then.name) if then.name == now.name else F.coalesce(column(then.name), column(then.name))
    is_evolved = then.type != now.type and may_become(then.type, now.type)
    return (reshaped(stands, stored_as[then.name].dataType, kind) if is_evolved else stands).alias(now.name)


def _kept(columns: Iterable[TableColumn]) -> dict[int, tuple[str, str]]:
    """Field id -> what a read at an older snapshot must agree in: name and type."""
    return {each.field_id: (each.name, each.type) for each in columns}


def rows_appended(spark: SparkSession, table: TableState, since: SnapshotId, until: SnapshotId) -> DataFrame:
    """Rows of the `append` commits after `since` (exclusive) up to `until` (inclusive), rolled back or not.

    Commits of another operation between them are passed over: ask `operations` first. Cost: their files.
    """
    read = spark.read.format("iceberg").option("start-snapshot-id", str(since))
    return read.option("end-snapshot-id", str(until)).load(table.metadata_location)


def operations(snapshots: Iterable[Snapshot]) -> frozenset[str]:
    """The kinds of commit among these: `append`, `overwrite`, `delete`, `replace`."""
    return frozenset(snapshot.operation for snapshot in snapshots)


def entries(spark: SparkSession, snapshots: Sequence[Snapshot], *, more: Mapping[str, str] | None = None) -> DataFrame:
    """What these commits themselves added and removed, from their manifests.

    Shape: snapshot_id, status (1 added, 2 removed), content (0 data, 1 position deletes, 2 equality deletes),
    file_path, file_format, record_count, file_size_in_bytes, spec_id; then `more`, further fields of the data file
    (name -> type); one row per file and commit.
    Cost: reads manifest lists now (see `own_manifests`), and the manifests that these commits wrote (see
    `entries_of`). Never the table's others.
    """
    wanted = [int(snapshot.snapshot_id) for snapshot in snapshots]
    found = entries_of(spark, own_manifests(spark, snapshots), more=more)
    return found.where(F.col("snapshot_id").isin(wanted) & F.col("status").isin(1, 2))


def local_ids(spark: SparkSession, order: Collection[SnapshotId]) -> DataFrame:
    """Shape: snapshot_id, place (0 is the oldest); one row per snapshot, in the given order."""
    rows = [(int(snapshot_id), place) for place, snapshot_id in enumerate(order)]
    return spark.createDataFrame(rows, "snapshot_id bigint, place int")


def entries_of(
    spark: SparkSession,
    manifests: Sequence[Manifest],
    *,
    more: Mapping[str, str] | None = None,
    anew: bool = False,
) -> DataFrame:
    """Shape: as of `entries`; one row per manifest entry. Raises EvidenceFailed if the manifests are too many.

    An entry without a snapshot id inherits that of its manifest (Iceberg spec, "Sequence Number Inheritance"). Lazy;
    but a few, without `more`, are read now, or were by another task: then `anew` reads them once more.
    """
    not_too_many(len(manifests))
    few = few_entries(spark, manifests) if not (more or anew) else None
    if few:
        return spark.createDataFrame([each.told for each in few], _SHAPE)
    fields = more or {}
    if not manifests:
        return spark.createDataFrame([], ", ".join([_SHAPE, *(f"{name} {kind}" for name, kind in fields.items())]))
    return _inheriting(spark, stored_entries(spark, manifests, more=more), manifests).select(
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


def is_read_by_one(manifests: Sequence[Manifest]) -> bool:
    """Whether a second task would cost more than it saves. A manifest of unknown length counts as a long one."""
    length = sum(manifest.length or _FEW_BYTES for manifest in manifests)
    return len(manifests) <= _FEW and length <= _FEW_BYTES


def _inheriting(spark: SparkSession, read: DataFrame, manifests: Sequence[Manifest]) -> DataFrame:
    """The same entries with `inherited` (the commit that wrote their manifest) and its `spec_id`."""
    named = {manifest.path.rsplit("/", 1)[-1]: (manifest.snapshot_id, manifest.spec_id) for manifest in manifests}
    name = F.col("_metadata.file_name")
    if not is_read_by_one(manifests):
        rows = [(each, *told) for each, told in named.items()]
        known = F.broadcast(spark.createDataFrame(rows, "manifest string, inherited bigint, spec_id int"))
        return read.withColumn("manifest", name).join(known, on="manifest", how="inner")
    text = "\n".join(f"{each}/{snapshot} {spec}" for each, (snapshot, spec) in named.items())
    told = F.split(F.try_element_at(F.str_to_map(F.lit(text), F.lit("\n"), F.lit("/")), name), " ")
    return (
        (read if place_of(manifests[0].path).scheme else read.coalesce(1))
        .withColumn("told", told)
        .withColumns({"inherited": F.col("told")[0].cast("bigint"), "spec_id": F.col("told")[1].cast("int")})
    )


_SHAPE = """
    snapshot_id bigint, status int, content int, file_path string, file_format string, record_count bigint,
    file_size_in_bytes bigint, spec_id int
"""
