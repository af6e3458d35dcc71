"""Places in the source: which positions the window brought, which are live, and what lies between them."""

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState
from spark_tasks._reading import column, entries, operations, rows_appended, rows_at
from spark_tasks._window import Branch, Reach

_BELOW = 3
"""Commits below the window in which the position next to its lowest is looked for."""
_SIMPLE = {"append", "replace"}
"""A compaction brings no new position and is passed over."""


def window_places(spark: SparkSession, ask: Ask, reach: Reach) -> DataFrame:
    """Shape: partition (string), position (bigint), is_below (boolean); one row per row that was added by the
    window's commits (rolled-back ones too) or, `is_below`, by the newest commits before it."""
    parts = [_added(spark, ask, reach.main, reach.since, reach.until)] if reach.main else []
    parts += [_of_branch(spark, ask, branch) for branch in reach.branches]
    inside = parts[0]
    for part in parts[1:]:
        inside = inside.unionByName(part)
    marked = inside.withColumn("is_below", F.lit(False))
    below = _below(spark, ask, reach)
    return marked if below is None else marked.unionByName(below.withColumn("is_below", F.lit(True)))


def edges_of(places: DataFrame) -> DataFrame:
    """Shape: partition, lowest (of the window), from_ (where to read from), rows (of the window); one row per
    source partition that the window wrote. Null positions are counted in `rows` only."""
    inside = F.when(~F.col("is_below"), F.col("position"))
    edges = places.groupBy("partition").agg(
        F.min(inside).alias("lowest"),
        F.min("position").alias("from_"),
        F.count_if(~F.col("is_below")).alias("rows"),
    )
    return edges.where("rows > 0")


def live_places(spark: SparkSession, ask: Ask, at: SnapshotId, lowest: int, edges: DataFrame) -> DataFrame:
    """Shape: partition, position, lowest; one row per live position at or above its partition's `from_`.

    Cost: files whose positions reach `lowest` or more, by their bounds. `edges` has one row per partition.
    """
    live = _places(rows_at(spark, ask.observation.table, at), ask, lowest).distinct()
    edge = F.broadcast(edges.where("lowest IS NOT NULL").withColumnRenamed("partition", "of"))
    return (
        live.join(edge, F.col("partition").eqNullSafe(F.col("of")), "inner")
        .where("position >= from_")
        .select("partition", "position", "lowest")
    )


def gaps_between(live: DataFrame) -> DataFrame:
    """Shape: partition, first, last (missing positions, inclusive), size; one row per gap that ends in or above
    the window's lowest position. `live` has one row per position, so copies do not count."""
    following = F.lead("position").over(Window.partitionBy("partition").orderBy("position"))
    return (
        live.withColumn("next", following)
        .where("next > position + 1 AND next >= lowest")
        .select(
            "partition",
            (F.col("position") + 1).alias("first"),
            (F.col("next") - 1).alias("last"),
            (F.col("next") - F.col("position") - 1).alias("size"),
        )
    )


def rolled_back_places(spark: SparkSession, ask: Ask, reach: Reach, live: DataFrame) -> DataFrame:
    """Shape: one row: inside, above (bigint): positions of rolled-back commits that no live row carries, below
    and above the highest live position of their partition."""
    lost = _of_branch(spark, ask, reach.branches[0])
    for branch in reach.branches[1:]:
        lost = lost.unionByName(_of_branch(spark, ask, branch))
    lost = lost.where("position IS NOT NULL").distinct()
    places = live.select(F.col("partition").alias("of"), F.col("position").alias("at"))
    same = F.col("partition").eqNullSafe(F.col("of")) & (F.col("position") == F.col("at"))
    absent = lost.join(places, on=same, how="left_anti")
    tops = live.groupBy(F.col("partition").alias("of")).agg(F.max("position").alias("top"))
    placed = absent.join(F.broadcast(tops), F.col("partition").eqNullSafe(F.col("of")), "left")
    is_inside = F.coalesce(F.col("position") < F.col("top"), F.lit(False))
    return placed.agg(F.count_if(is_inside).alias("inside"), F.count_if(~is_inside).alias("above"))


def _of_branch(spark: SparkSession, ask: Ask, branch: Branch) -> DataFrame:
    return _added(spark, ask, branch.commits, branch.fork, branch.leaf)


def _added(
    spark: SparkSession, ask: Ask, commits: tuple[Snapshot, ...], since: SnapshotId | None, until: SnapshotId
) -> DataFrame:
    """Places of the rows that these commits added; where they do more than append, of what is left of them."""
    if since is not None and operations(commits) <= _SIMPLE:
        return _places(rows_appended(spark, ask.observation.table, since, until), ask)
    new = [commit for commit in commits if commit.operation != "replace"]
    files = entries(spark, new).where("status = 1 AND content = 0").select(F.col("file_path").alias("_file")).distinct()
    rows = rows_at(spark, ask.observation.table, until).select("*", "_file")
    return _places(rows.join(F.broadcast(files), on="_file", how="left_semi"), ask)


def _below(spark: SparkSession, ask: Ask, reach: Reach) -> DataFrame | None:
    """Places of the newest commits at or below the window's beginning; None if nothing lies there."""
    table = ask.observation.table
    if reach.since is None:
        return None
    newest = [s for s in table.ancestors(reach.since) if s.operation == "append"][:_BELOW]
    if not newest:
        return None
    start = _start_of(newest, table)
    if start is None:
        return _places(rows_at(spark, table, reach.since), ask)
    return None if start == reach.since else _places(rows_appended(spark, table, start, reach.since), ask)


def _start_of(newest: list[Snapshot], table: TableState) -> SnapshotId | None:
    """From where (exclusive) to read them; None: they are the whole table. An expired parent costs one commit."""
    oldest = newest[-1]
    if oldest.parent_id is None:
        return None
    return oldest.parent_id if oldest.parent_id in table.by_id else oldest.snapshot_id


def _places(rows: DataFrame, ask: Ask, lowest: int | None = None) -> DataFrame:
    named, position = ask.contract.position_partition, ask.contract.position
    assert position is not None
    if lowest is not None:
        rows = rows.where(column(position) >= F.lit(lowest))
    partition = F.lit(None).cast("string") if named is None else column(named).cast("string")
    return rows.select(partition.alias("partition"), column(position).cast("bigint").alias("position"))
