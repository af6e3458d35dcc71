"""Data and delete files that a snapshot names, all of the table's, and those of them that storage does not have.

One listing of the folder tells of nearly all; what it does not show is asked for by its name, up to a bound.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.paths import place_of
from bot.domain.table import TableState
from spark_tasks._manifests import Manifest
from spark_tasks._parted import Parted, stored_value, struct_of
from spark_tasks._reading import entries_of, local_ids
from spark_tasks._spelling import agree, inside_of, plain_column
from spark_tasks._storage import UNASKABLE, files_under, sizes_of
from spark_tasks._words import MAX_ROWS

MAX_ASKED = 5_000
"""So many files below the folder, and so many elsewhere, are asked for by name."""
_UNLISTED = r"/(?:\.|_[^/=]*(?:/|$))"
"""Below the folder: what Spark's listing passes over, with the folders of such names; by name it is asked for."""


class Lost(NamedTuple):
    """What storage does not have of the files that were named."""

    named: int
    """Each path once."""
    files: int
    """Of these: not there."""
    rows: int
    """Of the data files among them."""
    commits: tuple[int, ...]
    """That added them: at most 20, oldest first; what is no longer listed comes before all that is."""
    sample: tuple[Row, ...]
    """At most 20 rows of `named_in`, delete files first."""
    unasked: int
    """Files that the listing does not show and that were not asked for, or cannot be."""


def named_in(
    spark: SparkSession, table: TableState, manifests: Sequence[Manifest], parted: Sequence[Parted]
) -> DataFrame:
    """Shape: path (plain), age (place of the commit among the table's, 0 the oldest; -1 of one that is not listed any
    more), snapshot_id, file_path, content, rows (0 of a delete file), spec_id, then `part_0`, … (text) for each of
    `parted`; one row per live file: of one that several commits have added, as the oldest of them did. Lazy."""
    live = entries_of(spark, manifests, more=struct_of(parted)).where("status != 2")
    order = sorted(table.snapshots, key=lambda each: table.place_of(each.snapshot_id))
    ages = F.broadcast(local_ids(spark, [each.snapshot_id for each in order]))
    aged = live.join(ages, on="snapshot_id", how="left").withColumn("age", F.coalesce("place", F.lit(-1)))
    values = [stored_value(each, F.col("partition")).alias(f"part_{at}") for at, each in enumerate(parted)]
    rows = F.when(F.col("content") == 0, F.col("record_count")).otherwise(0).alias("rows")
    path = plain_column(F.col("file_path")).alias("path")
    told = aged.select(
        path, F.struct("age", "snapshot_id", "file_path", "content", rows, "spec_id", *values).alias("own")
    )
    return told.groupBy("path").agg(F.min("own").alias("own")).select("path", "own.*")


def lost_of(spark: SparkSession, table: TableState, named: DataFrame, folder: str) -> Lost:
    """Which of `named` (shape of `named_in`) storage lacks. Cost: one listing of `folder`, and where it does not show
    all, a second one and two requests for each file that is asked for."""
    total = _placed(spark, named, folder).agg(F.count("*").alias("named"), F.count_if("is_unlisted").alias("unlisted"))
    counts = total.first()
    assert counts is not None
    if not counts["unlisted"]:
        return Lost(int(counts["named"]), 0, 0, (), (), 0)
    unlisted = _placed(spark, named, folder).where("is_unlisted").drop("is_unlisted").persist()
    try:
        return _judged(spark, table, unlisted, folder, int(counts["named"]))
    finally:
        unlisted.unpersist()


def _placed(spark: SparkSession, named: DataFrame, folder: str) -> DataFrame:
    """`named` with `is_unlisted`; a folder that is not there shows nothing. Lists it."""
    listed = files_under(spark, folder)
    if listed is None:
        return named.withColumn("is_unlisted", F.lit(True))
    seen = listed.select(F.col("path").alias("seen"))
    mine, its = F.col("path"), F.col("seen")
    is_it = (inside_of(mine) == inside_of(its)) & agree(mine, its)
    return named.join(seen, on=is_it, how="left").withColumn("is_unlisted", F.isnull("seen")).drop("seen")


def _judged(spark: SparkSession, table: TableState, unlisted: DataFrame, folder: str, named: int) -> Lost:
    """A file of the folder that was not asked for is lost as well, as long as no other that the listing left out was
    there: then the listing can be relied on."""
    mine, its = F.col("path"), place_of(folder)
    can_be_seen = ~F.col("file_path").rlike(UNASKABLE)
    is_inside = inside_of(mine).startswith(f"{its.inside}/") & agree(mine, F.lit(folder))
    is_listable = ~F.substring(inside_of(mine), len(its.inside) + 1, 10_000).rlike(_UNLISTED)
    inside, elsewhere = (
        [row["file_path"] for row in some.select("file_path").orderBy("file_path").limit(MAX_ASKED).collect()]
        for some in (unlisted.where(can_be_seen & is_inside), unlisted.where(can_be_seen & ~is_inside))
    )
    there = sizes_of(spark, table, [*inside, *elsewhere])
    is_complete = not any(path in there.sizes for path in inside)
    answers = [(path, path in there.sizes) for path in (*inside, *elsewhere)]
    asked = F.broadcast(spark.createDataFrame(answers, "file_path string, is_there boolean"))
    told = unlisted.join(asked, on="file_path", how="left")
    is_lost = F.coalesce(~F.col("is_there"), can_be_seen & is_inside & is_listable & F.lit(is_complete))
    is_unasked = F.isnull("is_there") & ~is_lost
    lost = told.where(is_lost)
    total = told.agg(
        F.count_if(is_lost).alias("lost"),
        F.sum(F.when(is_lost, F.col("rows")).otherwise(0)).alias("rows"),
        F.count_if(is_unasked).alias("unasked"),
    ).first()
    assert total is not None
    commits = lost.select("age", "snapshot_id").distinct().orderBy("age", "snapshot_id").limit(MAX_ROWS).collect()
    sample = lost.drop("is_there").orderBy(F.desc("content"), "path").limit(MAX_ROWS).collect()
    return Lost(
        named=named,
        files=int(total["lost"]),
        rows=int(total["rows"] or 0),
        commits=tuple(int(row["snapshot_id"]) for row in commits),
        sample=tuple(sample),
        unasked=int(total["unasked"]),
    )
