"""What the window brought behind the last live row of a source partition, or of one that has no row left in it, and
deleted again. A gap shows only where a later row lives."""

from collections.abc import Mapping

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._columns_of_before import renamed
from spark_tasks._copies import keeps_rows
from spark_tasks._data_files import DataFile, data_added, files_of, orc_times, rows_in
from spark_tasks._event_time import brings_rows
from spark_tasks._near import Range, partition_of, within
from spark_tasks._reading import column, operations, rows_at
from spark_tasks._source_edges import MOST_PARTITIONS
from spark_tasks._window import Reach
from spark_tasks._words import shown

_KEEPING = {"append", "replace"}
_NAMED = 4


def deleted_behind(spark: SparkSession, ask: Ask, reach: Reach, tops: Mapping[str | None, int]) -> tuple[NotSeen, ...]:
    """What is said of positions that commits of the window added, that lie above the highest live one of their
    partition (`tops`), and that no live row carries. Reads; nothing where the window neither deletes nor overwrites,
    and its compactions say that they kept their rows.

    Cost: position columns of the files that the window added; of live ones those whose bounds reach such a position.
    """
    if operations(reach.main) <= _KEEPING and all(keeps_rows(c) for c in reach.main if c.operation == "replace"):
        return ()
    position, named = ask.contract.position, ask.contract.position_partition
    assert position is not None
    names = [name for name in (named, position) if name is not None]
    if moved := renamed(ask.observation.table, names):
        return moved
    files = _may_lie_behind(spark, ask, reach, tops)
    if not files:
        return ()
    if unread := orc_times(ask.observation.table, {file.format for file in files}, names):
        return unread
    brought = rows_in(spark, ask.observation.table, files, names)
    places = brought.select(partition_of(ask).alias("partition"), column(position).cast("bigint").alias("position"))
    known = spark.createDataFrame(list(tops.items()), "of string, top bigint")
    joined = places.join(F.broadcast(known), F.col("partition").eqNullSafe(F.col("of")), "left")
    behind = joined.where("position IS NOT NULL AND (top IS NULL OR position > top)")
    edges = F.min("position").alias("low"), F.max("position").alias("high")
    try:
        spans = behind.groupBy("partition").agg(*edges).limit(MOST_PARTITIONS).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return (_gone(ask),)
    if not spans:
        return ()
    ranges = [Range(row["partition"], row["low"], row["high"]) for row in spans]
    live = within(rows_at(spark, ask.observation.table, reach.until), ask, ranges)
    there = live.select(partition_of(ask).alias("lives_of"), column(position).cast("bigint").alias("lives_at"))
    same = F.col("partition").eqNullSafe(F.col("lives_of")) & (F.col("position") == F.col("lives_at"))
    gone = behind.select("partition", "position").distinct().join(there, same, "left_anti")
    counts = gone.groupBy("partition").agg(F.count("*").alias("size"), *edges).orderBy("partition")
    found = counts.limit(MOST_PARTITIONS).collect()
    return (_told(ask, found),) if found else ()


def _may_lie_behind(spark: SparkSession, ask: Ask, reach: Reach, tops: Mapping[str | None, int]) -> list[DataFile]:
    """Files that the window added, but for those whose bounds end below, and what a repair of ours took out: of that it
    is known why. Bounds of several source partitions tell nothing of one that has no live row left."""
    bounded = next(each for each in ask.observation.table.columns if each.name == ask.contract.position)
    brought = {commit.snapshot_id for commit in reach.main if brings_rows(commit) and commit.operation != "replace"}
    repairs = {commit.snapshot_id for commit in reach.main if commit.is_repair}
    commits = [commit for commit in reach.main if commit.snapshot_id in brought | repairs]
    files = files_of(spark, commits, bounded)
    taken = {file.path for file in files if not file.is_added and file.snapshot_id in repairs}
    top = tops.get(None) if ask.contract.position_partition is None else None
    added = (file for file in data_added(files) if file.snapshot_id in brought and file.path not in taken)
    return [file for file in added if top is None or file.high is None or file.high > top]


def _gone(ask: Ask) -> NotSeen:
    return NotSeen(
        source=f"files of {ask.observation.table.name} that the window added",
        reason="A file that the window added is gone from storage, so whether it held positions behind the last live "
        "row, which were deleted, is not known.",
        remedy="Look by missing_files whether the table still needs it; else ask again with a window that begins after "
        "the deletion.",
    )


def _told(ask: Ask, found: list[Row]) -> NotSeen:
    size = sum(int(row["size"]) for row in found)
    parts = ", ".join(_span(ask, row) for row in found[:_NAMED])
    more = f" and of {len(found) - _NAMED} more" if len(found) > _NAMED else ""
    return NotSeen(
        source=f"positions of {ask.observation.table.name} that the window brought and deleted",
        reason=f"{counted(size, 'position')} that the window brought behind the last live row "
        f"{'was' if size == 1 else 'were'} deleted or replaced in it ({parts}{more}): whether that was right is not "
        "known.",
        remedy="Ask who deleted them; if that was right, ask again with a window that ends before it.",
    )


def _span(ask: Ask, row: Row) -> str:
    position, named = ask.contract.position or "", ask.contract.position_partition
    low, high = (shown(position, row[end], ask.contract) for end in ("low", "high"))
    span = low if low == high else f"{low} to {high}"
    return span if named is None else f"{span} of partition {shown(named, row['partition'], ask.contract)}"
