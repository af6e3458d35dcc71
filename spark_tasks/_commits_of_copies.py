"""Copies of keys by the commits that wrote them: which came first, and what their writers have in common."""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from spark_tasks._before_compaction import HIDDEN_BY, ORIGIN, WRITER
from spark_tasks._copies import FILE, IN_WINDOW, PARTITION
from spark_tasks._file_names import SUBTASK_IN_FILE_NAME


def commits_of_copies(copies: DataFrame, order: DataFrame, keys: tuple[str, ...], begins: int) -> DataFrame:
    """Shape: the key columns, commits (array of snapshot_id, oldest copy first; 0: not known), across_subtasks and
    across_partitions (boolean: whether its copies differ in it; null where none is told), is_hidden (boolean: whether a
    compaction hides who wrote one of them); one row per key with a copy from the window.

    `copies` as of `with_writers`; `order` has one row per snapshot: no join repeats a copy. A file whose commit is no
    longer listed counts as the oldest, one that is hidden as old as the compaction at the most. A row that was
    compacted is of the window if its writer's place is above `begins`.
    """
    known = order.select(F.col("snapshot_id").alias("_listed"), "place")
    by = F.coalesce(HIDDEN_BY, WRITER)
    placed = copies.join(F.broadcast(known), by == F.col("_listed"), "left")
    is_hidden = F.col(HIDDEN_BY).isNotNull()
    place = F.coalesce("place", F.lit(-1)).alias("place")
    writer = F.coalesce(F.when(~is_hidden, F.col(WRITER)), F.lit(0).cast("bigint")).alias("id")
    name = F.regexp_extract(F.regexp_extract(ORIGIN, r"[^/]+$", 0), SUBTASK_IN_FILE_NAME, 1)
    was_moved = F.col(ORIGIN) != F.col(FILE)
    told = placed.select(
        *keys,
        PARTITION,
        F.struct(place, writer).alias("one"),
        F.when(~is_hidden, F.nullif(name, F.lit(""))).alias("subtask"),
        is_hidden.alias("is_hidden"),
        F.when(was_moved, place > begins).otherwise(F.col(IN_WINDOW)).alias("is_inside"),
    )
    listed = told.groupBy(*keys).agg(
        F.array_sort(F.collect_list("one")).alias("found"),
        (F.min("subtask") != F.max("subtask")).alias("across_subtasks"),
        (F.min(PARTITION) != F.max(PARTITION)).alias("across_partitions"),
        F.bool_or("is_hidden").alias("is_hidden"),
        F.bool_or("is_inside").alias("is_inside"),
    )
    return listed.where("is_inside").select(
        *keys,
        F.transform("found", lambda each: each["id"]).alias("commits"),
        "across_subtasks",
        "across_partitions",
        "is_hidden",
    )


def shares_of(commits: DataFrame) -> DataFrame:
    """Shape: one row: keys, extra (rows above one per key), within, partitions, subtasks, hidden (bigint): keys with
    two copies by one commit, with copies in different partitions, by different subtasks, and with a copy whose writer a
    compaction hides. A copy whose commit is not known is not one of two by it."""
    known = _known("commits")
    return commits.agg(
        F.count("*").alias("keys"),
        F.sum(F.size("commits") - 1).alias("extra"),
        F.count_if(F.size(known) > F.size(F.array_distinct(known))).alias("within"),
        F.count_if("across_partitions").alias("partitions"),
        F.count_if("across_subtasks").alias("subtasks"),
        F.count_if("is_hidden").alias("hidden"),
    )


def pairs_of(commits: DataFrame) -> DataFrame:
    """Shape: first, second (snapshot ids), keys; one row per pair of commits, most keys first. `first` is 0 where it is
    not known; a later copy whose commit is not known makes no pair."""
    further = F.array_distinct(_known(F.expr("slice(commits, 2, size(commits) - 1)")))
    each = commits.select(F.col("commits")[0].alias("first"), F.explode(further).alias("second"))
    return each.groupBy("first", "second").agg(F.count("*").alias("keys")).orderBy(F.desc("keys"), "first", "second")


def _known(commits: Column | str) -> Column:
    return F.filter(commits, lambda each: each != 0)
