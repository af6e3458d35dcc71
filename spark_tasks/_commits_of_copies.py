"""Copies of keys by the commits that wrote them: which came first, and what their writers have in common."""

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from spark_tasks._before_compaction import HIDDEN_BY, ORIGIN, WRITER
from spark_tasks._copies import FILE, IN_WINDOW, with_key_in
from spark_tasks._file_names import SUBTASK_IN_FILE_NAME
from spark_tasks._lies_in import PARTITION


def copies_in_order(copies: DataFrame, order: DataFrame, keys: tuple[str, ...], begins: int) -> DataFrame:
    """Shape: the key columns, commit (snapshot_id; 0: not known), turn (int from 1, the oldest copy of the key first),
    first (the commit of turn 1), is_again (boolean: the copy before is by the same commit, which is known), and of all
    copies of the key: copies (bigint), within (boolean: whether one is again), across_subtasks and across_partitions
    (boolean: whether they differ in it; null where none is told), is_hidden (boolean: whether a compaction hides who
    wrote one of them); one row per copy of a key with a copy from the window.

    `copies` as of `with_writers`; `order` has one row per snapshot: no join repeats a copy. A file whose commit is no
    longer listed counts as the oldest, one that is hidden as old as the compaction at the most. A row that was
    compacted is of the window if its writer's place is above `begins`.
    Cost: one sort of `copies` by key. Lists of copies would be sorted as well, twice as slowly, and one key that lives
    a million times would have to stay in memory.
    """
    told = _told(copies, order, keys, begins)
    whole = Window.partitionBy(*keys)
    in_turn = whole.orderBy("place", "commit")
    listed = told.select(
        *keys,
        "commit",
        F.row_number().over(in_turn).alias("turn"),
        F.first("commit").over(in_turn).alias("first"),
        ((F.lag("commit").over(in_turn) == F.col("commit")) & (F.col("commit") != 0)).alias("is_again"),
        F.count("*").over(whole).alias("copies"),
        (F.min("subtask").over(whole) != F.max("subtask").over(whole)).alias("across_subtasks"),
        (F.min(PARTITION).over(whole) != F.max(PARTITION).over(whole)).alias("across_partitions"),
        F.bool_or("is_hidden").over(whole).alias("is_hidden"),
        F.bool_or("is_inside").over(whole).alias("is_inside"),
    )
    return listed.where("is_inside").drop("is_inside").withColumn("within", F.bool_or("is_again").over(whole))


def _told(copies: DataFrame, order: DataFrame, keys: tuple[str, ...], begins: int) -> DataFrame:
    """Shape: the key columns, _lies_in, place (0 is the table's first snapshot), commit, subtask (null: not told),
    is_hidden, is_inside; one row per copy."""
    known = order.select(F.col("snapshot_id").alias("_listed"), "place")
    by = F.coalesce(HIDDEN_BY, WRITER)
    placed = copies.join(F.broadcast(known), by == F.col("_listed"), "left")
    is_hidden = F.col(HIDDEN_BY).isNotNull()
    place = F.coalesce("place", F.lit(-1))
    name = F.regexp_extract(F.substring_index(ORIGIN, "/", -1), SUBTASK_IN_FILE_NAME, 1)
    was_moved = ~F.col(ORIGIN).eqNullSafe(F.col(FILE))
    return placed.select(
        *keys,
        PARTITION,
        place.alias("place"),
        F.coalesce(F.when(~is_hidden, F.col(WRITER)), F.lit(0).cast("bigint")).alias("commit"),
        F.when(~is_hidden, F.nullif(name, F.lit(""))).alias("subtask"),
        is_hidden.alias("is_hidden"),
        F.when(was_moved, place > begins).otherwise(F.col(IN_WINDOW)).alias("is_inside"),
    )


def shares_of(copies: DataFrame) -> DataFrame:
    """Shape: one row: keys, extra (rows above one per key), within, partitions, subtasks, hidden (bigint): keys with
    two copies by one commit, with copies in different partitions, by different subtasks, and with a copy whose writer a
    compaction hides. A copy whose commit is not known is not one of two by it."""
    is_first = F.col("turn") == 1
    return copies.agg(
        F.count_if(is_first).alias("keys"),
        F.count_if(~is_first).alias("extra"),
        F.count_if(is_first & F.col("within")).alias("within"),
        F.count_if(is_first & F.col("across_partitions")).alias("partitions"),
        F.count_if(is_first & F.col("across_subtasks")).alias("subtasks"),
        F.count_if(is_first & F.col("is_hidden")).alias("hidden"),
    )


def pairs_of(copies: DataFrame) -> DataFrame:
    """Shape: first, second (snapshot ids), keys; one row per pair of commits, most keys first. `first` is 0 where it is
    not known; a later copy whose commit is not known makes no pair."""
    is_once_of_its_commit = (F.col("turn") == 2) | ~F.col("is_again")
    later = copies.where((F.col("turn") > 1) & (F.col("commit") != 0) & is_once_of_its_commit)
    pairs = later.groupBy("first", F.col("commit").alias("second")).agg(F.count("*").alias("keys"))
    return pairs.orderBy(F.desc("keys"), "first", "second")


def most_copied(copies: DataFrame, keys: tuple[str, ...], most: int, most_commits: int) -> DataFrame:
    """Shape: the key columns, copies (bigint), commits (array, at most `most_commits`, oldest copy first; 0: not
    known); one row for each of the `most` keys with the most copies, these first."""
    by_copies = [F.desc("copies"), *map(F.col, keys)]
    largest = copies.where("turn = 1").orderBy(*by_copies).limit(most)
    shown = with_key_in(copies.where(F.col("turn") <= most_commits), largest, keys)
    listed = shown.groupBy(*keys, "copies").agg(F.sort_array(F.collect_list(F.struct("turn", "commit"))).alias("found"))
    return listed.select(*keys, "copies", F.col("found.commit").alias("commits")).orderBy(*by_copies)
