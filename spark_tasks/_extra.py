"""Which of several copies of a key stays, and where the others stand in their files."""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from spark_tasks._before_compaction import HIDDEN_BY, ORIGIN, WRITER

FILE, PLACE = "_file", "_pos"
"""Iceberg's names of a row's file and of its place in it, from 0."""


def placed_of(rows: DataFrame, order: DataFrame, keys: Sequence[str], begins: int) -> DataFrame:
    """`rows` (as of `with_writers`) with snapshot_id (null: written below the window, or hidden by a compaction), age
    (rising with the commits; null below the window) and is_hidden; without keys that only rows below the window have.

    `order` has one row per snapshot; the window's commits have a place above `begins`.
    """
    known = order.select(F.col("snapshot_id").alias("_listed"), F.col("place"))
    by = F.coalesce(HIDDEN_BY, WRITER)
    inside = F.col("place") > begins
    placed = rows.join(F.broadcast(known), by == F.col("_listed"), "left").withColumns(
        {
            "snapshot_id": F.when(inside, F.col(WRITER)),
            "age": F.when(inside, F.col("place")),
            "is_hidden": F.col(HIDDEN_BY).isNotNull() & inside,
        }
    )
    newest = F.max("age").over(Window.partitionBy(*keys))
    kept = placed.withColumn("_newest", newest).where("_newest IS NOT NULL")
    return kept.drop("_newest", "_listed", "place", ORIGIN, WRITER, HIDDEN_BY)


def standing_of(placed: DataFrame, keys: Sequence[str], keep: str) -> DataFrame:
    """`placed` (as of `placed_of`) with is_extra. Where `oldest` is kept: an older copy of its key lives, and the
    window wrote this one; where `newest`: a newer one lives, wherever this one was written. Among copies of one commit,
    the first by file and place is the oldest; one that a compaction hides is as old as the compaction."""
    by_age = (F.coalesce("age", F.lit(-1)), F.col(FILE), F.col(PLACE))
    is_newest = keep == "newest"
    kept_first = Window.partitionBy(*keys).orderBy(*(each.desc() if is_newest else each.asc() for each in by_age))
    ranked = placed.withColumn("turn", F.row_number().over(kept_first))
    may_go = F.lit(True) if is_newest else F.col("age").isNotNull()
    return ranked.withColumn("is_extra", (F.col("turn") > 1) & may_go).drop("turn", "age")


def extra_of(standing: DataFrame) -> DataFrame:
    """Shape: _file, _pos, snapshot_id, is_hidden; one row per extra copy."""
    return standing.where("is_extra").select(FILE, PLACE, "snapshot_id", "is_hidden")


def named_twice(standing: DataFrame) -> int:
    """How many places are read more than once, because the table names their file more than once. Reads now."""
    return standing.groupBy(FILE, PLACE).count().where("count > 1").count()


def spans_of(extra: DataFrame) -> DataFrame:
    """Shape: _file, first, last (bigint, both inclusive): each unbroken run of places; by file and place."""
    in_file = Window.partitionBy(FILE).orderBy(PLACE)
    numbered = extra.withColumn("run", F.col(PLACE) - F.row_number().over(in_file))
    runs = numbered.groupBy(FILE, "run").agg(F.min(PLACE).alias("first"), F.max(PLACE).alias("last"))
    return runs.select(FILE, "first", "last").orderBy(FILE, "first")
