"""Rows by the commit that wrote them first: a compaction writes them anew, and is the writer of none.

In format 3 a row keeps the sequence number of the commit that wrote or changed it. That tells the writer where no look
at the files does; the file that the row was written to first, and with it the subtask, it does not tell.
"""

from collections.abc import Callable, Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.ids import SnapshotId
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.copies import CHANGED_AT, FILE
from spark_tasks._support.reading import MAX_FILES, entries, writers_of
from spark_tasks._support.storage import sizes_of

ORIGIN, WRITER, HIDDEN_BY = "_origin", "_writer", "_hidden_by"
_LINEAGE = "_lineage"
"""Who wrote the row by its own word; null where it says nothing, or names a compaction or a commit that has expired."""
MAX_COMPACTIONS = 10
"""So many are looked behind, the newest first: each costs a read of the repeated keys where it began."""
RowsAt = Callable[[SnapshotId], DataFrame]


def with_writers(
    spark: SparkSession, table: TableState, rows: DataFrame, same: Sequence[str], written: DataFrame, rows_at: RowsAt
) -> DataFrame:
    """`rows` with _origin (the file that each was written to first; null: not known), _writer (the commit that did;
    null: no listed one) and _hidden_by (the compaction behind which its writer cannot be seen; then _writer is null).
    Persisted.

    `same`: columns in which a row and what it was before a compaction agree. `written` has one row per file:
    file_path, snapshot_id. `rows_at` gives `same` and `_file` of the rows that lived at a snapshot. A row of which the
    compaction wrote more copies than it read is its own. Where a writer cannot be seen, or did no more than copy the
    row with its file, as a delete that copies does, the row's `_changed_at` names it, if it does.
    Cost: for each compaction that wrote one of `rows`, the same keys once more, as they lived before it.
    """
    files = written.select(F.col("file_path").alias("_named"), F.col("snapshot_id").alias(WRITER))
    by_file = rows.join(F.broadcast(files), F.col(FILE) == F.col("_named"), "left")
    placed = _said(spark, table, by_file).select(
        *rows.columns, _LINEAGE, *_named(table, F.col(FILE), F.col(WRITER)), F.lit(None).cast("bigint").alias(HIDDEN_BY)
    )
    placed, done, older = placed.persist(), set[SnapshotId](), None
    while (compaction := _newest_compaction(table, placed, done)) is not None:
        if older is not None:
            older.unpersist()
        done.add(compaction.snapshot_id)
        is_one_more = len(done) > MAX_COMPACTIONS
        before = None if is_one_more else _before(spark, table, compaction, rows_at, same)
        told = _hidden(placed, compaction) if before is None else _told(table, placed, compaction, before, same)
        placed, older = told.persist(), placed
    if older is not None:
        older.unpersist()
    return placed


def _said(spark: SparkSession, table: TableState, rows: DataFrame) -> DataFrame:
    """With `_LINEAGE`. A file that was compacted before the table's upgrade to format 3 took the sequence number of the
    newest commit then, which all its rows say since."""
    since = table.lineage_since
    commits = (s for s in table.snapshots if s.operation != "replace" and since is not None)
    told = [(s.sequence_number, int(s.snapshot_id)) for s in commits if s.sequence_number >= (since or 0)]
    known = F.broadcast(spark.createDataFrame(told, f"_number bigint, {_LINEAGE} bigint"))
    return rows.join(known, F.col(CHANGED_AT) == F.col("_number"), "left")


def _named(table: TableState, file: Column, writer: Column) -> tuple[Column, Column]:
    """(_origin, _writer) where `writer` wrote the row's file."""
    copying = [s.snapshot_id for s in table.snapshots if s.operation != "replace" and s.counted("deleted-data-files")]
    is_copied = F.coalesce(writer.isin(list(map(int, copying))) & (F.col(_LINEAGE) != writer), F.lit(False))
    return F.when(~is_copied, file).alias(ORIGIN), F.when(is_copied, F.col(_LINEAGE)).otherwise(writer).alias(WRITER)


def _newest_compaction(table: TableState, placed: DataFrame, done: set[SnapshotId]) -> Snapshot | None:
    """The newest that wrote one of the rows and was not looked behind yet. Reads now if any is left."""
    if all(s.operation != "replace" or s.snapshot_id in done for s in table.snapshots):
        return None
    named = placed.where(F.col(WRITER).isNotNull()).select(WRITER).distinct().limit(MAX_FILES).collect()
    commits = (table.by_id.get(SnapshotId(row[WRITER])) for row in named)
    left = [s for s in commits if s is not None and s.operation == "replace" and s.snapshot_id not in done]
    return max(left, key=lambda commit: table.place_of(commit.snapshot_id), default=None)


def _before(
    spark: SparkSession, table: TableState, compaction: Snapshot, rows_at: RowsAt, same: Sequence[str]
) -> DataFrame | None:
    """Shape: `same`, _turn, _of, _is_one (whether all of its rows stood in one file), _was_in, _was_by; one row per
    row that the compaction read. None where that cannot be read any more."""
    parent = table.by_id.get(compaction.parent_id) if compaction.parent_id is not None else None
    if parent is None:
        return None
    removed = entries(spark, [compaction]).where("status = 2 AND content = 0").select("file_path").distinct()
    paths = [row["file_path"] for row in removed.limit(MAX_FILES + 1).collect()]
    if len(paths) > MAX_FILES or len(sizes_of(spark, table, paths).sizes) < len(paths):
        return None
    gone = F.broadcast(spark.createDataFrame([(path,) for path in paths], "_was_in string"))
    read = rows_at(parent.snapshot_id).select(*same, F.col(FILE).alias("_was_in")).join(gone, "_was_in", "left_semi")
    writers = writers_of(spark, parent, read.select(F.col("_was_in").alias("file_path")).distinct())
    named = writers.select(F.col("file_path").alias("_named"), F.col("snapshot_id").alias("_was_by"))
    by = read.join(F.broadcast(named), F.col("_was_in") == F.col("_named"), "left").drop("_named")
    alike = Window.partitionBy(*same)
    return by.select(
        *(F.col(name).alias(f"{name}_was") for name in same),
        F.row_number().over(alike.orderBy("_was_in")).alias("_turn"),
        F.count("*").over(alike).alias("_of"),
        (F.min("_was_in").over(alike) == F.max("_was_in").over(alike)).alias("_is_one"),
        "_was_in",
        "_was_by",
    )


def _told(
    table: TableState, placed: DataFrame, compaction: Snapshot, before: DataFrame, same: Sequence[str]
) -> DataFrame:
    """Rows of the compaction get the file and the writer that they had. Where fewer of them are left than it read,
    of several files, nobody knows which went. One join, and no union of two halves: the plan would double each time."""
    mine = _is_by(compaction)
    alike = Window.partitionBy(*same, WRITER)
    numbered = placed.withColumns(
        {"_turn_now": F.row_number().over(alike.orderBy(FILE)), "_left": F.count("*").over(alike)}
    )
    on = [F.col(name).eqNullSafe(F.col(f"{name}_was")) for name in same]
    found = numbered.join(before, reduce(and_, on, mine & (F.col("_turn_now") == F.col("_turn"))), "left")
    is_found = F.col("_turn").isNotNull()
    is_told = is_found & ((F.col("_left") >= F.col("_of")) | F.col("_is_one"))
    is_lost = is_found & ~is_told
    kept = [name for name in placed.columns if name not in (ORIGIN, WRITER, HIDDEN_BY)]
    was_in, was_by = _named(table, F.col("_was_in"), F.col("_was_by"))
    is_said = is_lost & F.col(_LINEAGE).isNotNull()
    hidden_by = F.when(is_lost & ~is_said, F.lit(int(compaction.snapshot_id)))
    return found.select(
        *kept,
        F.when(is_told, was_in).when(~is_said, F.col(ORIGIN)).alias(ORIGIN),
        F.when(is_told, was_by).when(is_said, F.col(_LINEAGE)).when(~is_found, F.col(WRITER)).alias(WRITER),
        F.coalesce(hidden_by, HIDDEN_BY).alias(HIDDEN_BY),
    )


def _hidden(placed: DataFrame, compaction: Snapshot) -> DataFrame:
    """Rows of the compaction have the writer that they say, or none."""
    by, is_said = F.lit(int(compaction.snapshot_id)), F.col(_LINEAGE).isNotNull()
    mine = _is_by(compaction)
    return placed.withColumns(
        {
            HIDDEN_BY: F.when(mine & ~is_said, by).otherwise(F.col(HIDDEN_BY)),
            ORIGIN: F.when(~(mine & is_said), F.col(ORIGIN)),
            WRITER: F.when(mine, F.col(_LINEAGE)).otherwise(F.col(WRITER)),
        }
    )


def _is_by(compaction: Snapshot) -> Column:
    return F.col(WRITER).eqNullSafe(F.lit(int(compaction.snapshot_id)))
