"""What commits brought: their data files as the manifests tell them, and the rows that stand in these files.

Rows are read from the very files that a commit added, whatever became of them since: deleted, compacted, rolled back.

ORC files whose times Spark's own reader cannot tell. What Iceberg reads itself is not concerned.

Spark 4.1 fails over every file with a column that Iceberg stores as `timestamp with local time zone`, whichever columns
are asked for, and takes the seconds of a time without a zone for microseconds.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from functools import reduce
from urllib.parse import unquote

from pyspark.errors import PySparkException
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known
from pyspark.sql.types import BinaryType, DataType, StructField, StructType

from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Ask
from bot.observation.looked import NotSeen
from bot.observation.paths import ByPath
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifest_entries import Entry, asked_of, entries_by_commit
from spark_tasks._support.manifests import own_manifests
from spark_tasks._support.reading import column, entries, whole_schema
from spark_tasks._support.storage import exact, stored_name
from spark_tasks._support.window import reach_of
from spark_tasks._support.words import Inconclusive


def orc_times(table: TableState, formats: Iterable[str], names: Collection[str]) -> tuple[NotSeen, ...]:
    """Why these columns cannot be read from files of these formats (`orc`, `parquet`, …); empty: they can."""
    if "orc" not in formats:
        return ()
    ever = [each for columns in table.schemas.values() for each in columns] or list(table.columns)
    zoned = next((each.name for each in ever if "timestamptz" in each.type), None)
    asked = next((each.name for each in table.columns if each.name in names and "timestamp" in each.type), None)
    if (column := zoned or asked) is None:
        return ()
    return (
        NotSeen(
            source=f"ORC files of {table.name}",
            reason=f"Spark's own ORC reader cannot tell the times that Iceberg writes, and column {column} holds such.",
            remedy="Ask what Iceberg reads by itself: duplicate_rows, and missing_positions where the window only "
            "appends. For all else have the table write Parquet (write.format.default).",
        ),
    )


MAX_FILES = 20_000
COMMIT, PATH = "_waterline_commit", "_waterline_path"
"""What is told of each row beside its own columns, which may have any name: tables have a `name`, or a `file_path`."""
_SPARKS, _NAME = "_waterline_spelled", "_waterline_name"


def files_of(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> list[Entry]:
    """Every file that these commits added or removed. Reads their manifests now.

    Raises EvidenceFailed above 20,000 files: then the window is too long to be looked at row by row.
    """
    wanted = {int(commit.snapshot_id) for commit in commits}
    found: list[Entry] = []
    for some in entries_by_commit(spark, own_manifests(spark, commits), asked_of(table, contract)) if commits else ():
        found += (each for each in some if each.snapshot_id in wanted and each.status in {1, 2})
        if len(found) > MAX_FILES:
            raise EvidenceFailed(
                "The window is too large to read.",
                f"Expected at most {MAX_FILES:,} files in its commits; there are more.",
                "Choose a window that begins later, then run it again.",
            )
    return found


def data_added(files: Iterable[Entry]) -> list[Entry]:
    return [file for file in files if file.is_added and file.is_data]


def rows_in(spark: SparkSession, table: TableState, files: Sequence[Entry], names: Sequence[str]) -> DataFrame:
    """Shape: `COMMIT` (bigint), `PATH` (the file's), then the named columns; one row per row in the files.

    Deletes are not applied. A column that a file lacks is null. Cost: these columns of these files. Raises
    EvidenceFailed where Spark would fail or tell other values; see `orc_times`.
    """
    for unread in orc_times(table, {file.format for file in files}, names):
        raise EvidenceFailed(f"Rows of the {unread.source} cannot be read.", unread.reason, unread.remedy)
    kinds = {each.name: each.type for each in table.columns}
    read = _united(spark, _asked(spark, table, names), files)
    return read.select(COMMIT, PATH, *(_told(name, kinds.get(name, "")) for name in names))


def comparable(name: str, kind: DataType) -> Column:
    """A column in its present type, which an older state may not have. Maps and variants have no order and no hash
    and are compared as text."""
    has_none = any(word in kind.simpleString() for word in ("map<", "variant"))
    return column(name).cast("string" if has_none else kind)


def _asked(spark: SparkSession, table: TableState, names: Sequence[str]) -> StructType:
    whole, kinds = whole_schema(spark, table), {each.name: each.type for each in table.columns}
    return StructType([_as_stored(whole[name], kinds.get(name, "")) for name in names])


def _united(spark: SparkSession, asked: StructType, files: Sequence[Entry]) -> DataFrame:
    """Shape: `COMMIT`, `PATH`, then the asked columns; one row per row."""
    parts = [_placed(spark, batch, _read(spark, batch, asked)) for batch in _batches(files)]
    return reduce(DataFrame.unionByName, parts) if parts else spark.createDataFrame([], _empty(asked))


def _read(spark: SparkSession, files: Sequence[Entry], asked: StructType) -> DataFrame:
    """Rows of one batch, of one format."""
    form = files[0].format
    kept_as = {each.name: stored_name(each.name, form) for each in asked}
    stored = StructType([StructField(kept_as[each.name], each.dataType) for each in asked])
    read = spark.read.format(form).schema(stored).load([exact(file.path) for file in files])
    read = read.withColumn(_SPARKS, F.col("_metadata.file_path"))
    return read.withColumnsRenamed({kept: name for name, kept in kept_as.items()})


def _placed(spark: SparkSession, files: Sequence[Entry], read: DataFrame) -> DataFrame:
    """The batch holds no two files of one name. A path is told differently by Iceberg and by Spark (scheme, escapes),
    its last part is not. To decode a name takes fifteen times as long as to read a row."""
    placed = [(file.path.rsplit("/", 1)[-1], int(file.snapshot_id), file.path) for file in files]
    where = spark.createDataFrame(placed, f"{_NAME} string, {COMMIT} bigint, {PATH} string")
    plain = F.substring_index(_SPARKS, "/", -1)
    decoded = F.url_decode(F.replace(plain, F.lit("+"), F.lit("%2B")))
    named = read.withColumn(_NAME, F.when(plain.contains("%"), decoded).otherwise(plain)).drop(_SPARKS)
    return named.join(F.broadcast(where), on=_NAME, how="inner").drop(_NAME)


def _batches(files: Sequence[Entry]) -> list[list[Entry]]:
    batches: dict[tuple[str, int], list[Entry]] = {}
    seen: dict[str, int] = {}
    for file in files:
        name = file.path.rsplit("/", 1)[-1]
        turn = seen.get(name, 0)
        seen[name] = turn + 1
        batches.setdefault((file.format, turn), []).append(file)
    return list(batches.values())


def _as_stored(field: StructField, kind: str) -> StructField:
    """Iceberg's uuid stands in the file as sixteen bytes."""
    stored = BinaryType() if kind == "uuid" else field.dataType
    return StructField(field.name, stored, nullable=True)


def _told(name: str, kind: str) -> Column:
    if kind != "uuid":
        return column(name)
    digits = F.lower(F.hex(column(name)))
    parts = (F.substring(digits, start, size) for start, size in ((1, 8), (9, 4), (13, 4), (17, 4), (21, 12)))
    return F.when(column(name).isNotNull(), F.concat_ws("-", *parts)).alias(name)


def _empty(asked: StructType) -> StructType:
    known = StructType().add(COMMIT, "long").add(PATH, "string")
    return StructType([*known.fields, *asked.fields])


_MAX_READ = 5_000
_NAMED = re.compile(r"(?:reading|read|read file:|footer for file:?) (?:file:? )?((?:[a-z0-9]+:)?/.+?)\.?(?:\s|$)")
"""`Encountered error while reading file …`, as Spark's own readers say it; Iceberg's leave the name out."""


def first_damaged(spark: SparkSession, ask: Ask) -> str | None:
    """A data file that the window's commits added and that Spark's own reader cannot read to its end, as the table
    names it. None where there is none among the first 5,000, or none is named.

    Cost: reads these files whole.
    """
    try:
        reach = reach_of(ask)
    except Inconclusive:
        return None
    added = entries(spark, reach.main).where("status = 1 and content = 0").select("file_path", "file_format")
    files = added.distinct().orderBy("file_path").limit(_MAX_READ).collect()
    known: ByPath[str] = ByPath((row["file_path"], row["file_path"]) for row in files)
    for form in sorted({str(row["file_format"]).lower() for row in files}):
        paths = [row["file_path"] for row in files if str(row["file_format"]).lower() == form]
        found = _named(spark, form, paths)
        path = known.get(found) or known.get(unquote(found)) if found is not None else None
        if path is not None:
            return path
    return None


def _named(spark: SparkSession, form: str, paths: list[str]) -> str | None:
    read = spark.read.format(form).option("mergeSchema", "true").option("ignoreMissingFiles", "true")
    try:
        read.load([exact(path) for path in paths]).write.format("noop").mode("overwrite").save()
    except PySparkException as error:
        said = _NAMED.search(str(error))
        return said[1] if said is not None else None
    return None
