"""Does any business key live more than once, with a copy from the window? Which commits wrote the copies?"""

from functools import reduce
from operator import or_

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import PAIRS_TOLD, DuplicatePair, DuplicatesFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from spark_tasks._support.before_compaction import HIDDEN_BY, ORIGIN, WRITER, with_writers
from spark_tasks._support.copies import (
    FILE,
    IN_WINDOW,
    PARTITION,
    Copies,
    copies_of,
    keys_at,
    untold,
    with_key_in,
)
from spark_tasks._support.reading import added_since, entries, local_ids, persisted, writers_of
from spark_tasks._support.storage import SUBTASK_IN_FILE_NAME
from spark_tasks._support.window import Reach, begin_of, reach_of
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, require_key, shown


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


TASK = Task(
    name="duplicate_rows",
    title="Duplicate rows",
    question="Does any business key occur more than once, with at least one copy from the window?",
    confirmed_means="some key occurs more than once",
    ruled_out_means="each key of the window occurs once",
    needs=("table", "contract.key"),
    version=3,
    cost="key columns of the window's rows, and of older rows whose key is in their range. Keys without order, such as "
    "UUIDs, are in the range of all rows of the table. Where the window overwrites or deletes, it also reads the "
    "deleted keys. Where a compaction rewrote copies, it reads their keys as they were before",
)
MAX_COMMITS = 8
"""So many are named in a row of the sample, the oldest copies first."""
_OLDER = "The window added no duplicate key: its compactions only rewrote older copies."


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Counts are exact for rows that are live at the window's end; the sample and the pairs are the largest."""
    require_key(ask)
    reach = reach_of(ask)
    if not reach.main:
        return _none(0, "No commit in the window, so no row can be a duplicate from it.", ())
    written = entries(spark, reach.main).where("status = 1 AND content = 0").select("file_path", "snapshot_id")
    copies = copies_of(spark, ask, reach, written)
    if copies.window_rows == 0:
        return _none(0, "The window's commits left no live row, so there is no duplicate from it.", copies.sources)
    with persisted(_groups(copies.frame, copies.keys)) as grouped:
        total = grouped.agg(
            F.count_if(_has(copies.keys)).alias("keys"),
            F.sum(F.when(~_has(copies.keys), F.col("copies"))).alias("keyless"),
        ).first()
        assert total is not None
        if total["keys"] == 0 and total["keyless"]:
            raise Inconclusive(_without_a_key(ask, total["keyless"]))
        if total["keys"] == 0 and (added := added_since(ask.observation.table, begin_of(reach), ask.contract.key)):
            raise Inconclusive(*added)
        if total["keys"] == 0:
            rows = counted(copies.window_rows, "row")
            return _none(copies.window_rows, f"Each key of {rows} in the window occurs once.", copies.sources)
        return _some(spark, ask, reach, written, copies, grouped.where(_has(copies.keys)), int(total["keyless"] or 0))


def repeated_keys(copies: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    """Shape: the key columns, copies (bigint, 2 or more); one row per key with a copy from the window. Rows whose
    key is null in every column are no copies of each other."""
    return _groups(copies, keys).where(_has(keys))


def _groups(copies: DataFrame, keys: tuple[str, ...]) -> DataFrame:
    counts = copies.groupBy(*keys).agg(F.count("*").alias("copies"), F.count_if(F.col(IN_WINDOW)).alias("inside"))
    return counts.where("copies > 1 AND inside > 0").drop("inside")


def _has(keys: tuple[str, ...]) -> Column:
    return reduce(or_, (F.col(key).isNotNull() for key in keys))


def _some(
    spark: SparkSession, ask: Ask, reach: Reach, written: DataFrame, copies: Copies, repeated: DataFrame, keyless: int
) -> Answer:
    table = ask.observation.table
    with persisted(with_key_in(copies.frame, repeated, copies.keys)) as found:
        older = found.where(~F.col(IN_WINDOW)).select(F.col(FILE).alias("file_path")).distinct()
        if reach.since is not None and older.limit(1).count():
            written = written.union(writers_of(spark, table.by_id[reach.since], older))
        order = local_ids(spark, [s.snapshot_id for s in table.snapshots])
        with (
            persisted(
                with_writers(spark, table, found, copies.keys, written, lambda at: keys_at(spark, ask, repeated, at))
            ) as placed,
            persisted(copies_in_order(placed, order, copies.keys, table.place_of(reach.since))) as ordered,
        ):
            pairs = pairs_of(ordered).limit(PAIRS_TOLD).collect()
            shares = shares_of(ordered).first()
            sample = most_copied(ordered, copies.keys, MAX_ROWS, MAX_COMMITS).limit(MAX_ROWS).collect()
    assert shares is not None
    if not shares["keys"]:
        return _none(copies.window_rows, _OLDER, copies.sources)
    keys, extra = int(shares["keys"]), int(shares["extra"])
    finding = DuplicatesFinding(
        rows_checked=copies.window_rows,
        keys=keys,
        extra_rows=extra,
        pairs=tuple(
            DuplicatePair(first=SnapshotId(p["first"]), second=SnapshotId(p["second"]), keys=p["keys"]) for p in pairs
        ),
        within_commit=int(shares["within"]),
        across_partitions=int(shares["partitions"]),
        across_subtasks=int(shares["subtasks"]),
        hidden=int(shares["hidden"]),
    )
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=_headline(finding),
        measures=(
            Measure(name="keys with more than one live row", value=keys, unit="keys"),
            Measure(name="extra rows", value=extra, unit="rows"),
            Measure(name="rows of the window", value=copies.window_rows, unit="rows"),
            Measure(name="keys with two copies by one commit", value=finding.within_commit, unit="keys"),
            Measure(name="keys with copies in different partitions", value=finding.across_partitions, unit="keys"),
            Measure(name="keys with copies by different subtasks", value=finding.across_subtasks, unit="keys"),
        ),
        columns=(*ask.contract.key, "live rows", "commits (the later copy is the replay)"),
        rows=tuple(_row(ask, copies.keys, row) for row in sample),
        finding=finding,
        sources=copies.sources,
        could_not_look=(
            *((_without_a_key(ask, keyless),) if keyless else ()),
            *added_since(table, begin_of(reach), ask.contract.key),
            *((_behind_a_compaction(ask, finding.hidden),) if finding.hidden else ()),
            *(untold(ask, copies.older_as_of) if not finding.across_partitions else ()),
        ),
    )


def _without_a_key(ask: Ask, rows: int) -> NotSeen:
    columns = " and ".join(ask.contract.key)
    return NotSeen(
        source=f"key {columns} of {ask.observation.table.name}",
        reason=f"{rows:,} rows have null in {columns}: whether one of them repeats another is not known.",
        remedy="Look who wrote them; a key whose columns are never null tells all rows apart.",
    )


def _behind_a_compaction(ask: Ask, keys: int) -> NotSeen:
    return NotSeen(
        source=f"writers of copies in {ask.observation.table.name}",
        reason=f"A compaction rewrote copies of {counted(keys, 'key')}, and what it read is gone or was deleted from "
        "since: which commits wrote these copies is not known.",
        remedy="Compare the copies themselves. Snapshots that are kept for longer, and maintenance that waits, would "
        "tell.",
    )


def _headline(finding: DuplicatesFinding) -> str:
    told = f"{counted(finding.keys, 'duplicate key')}, {counted(finding.extra_rows, 'extra row')}"
    if not finding.pairs:
        return f"{told}. A compaction has rewritten the copies and hides which commits wrote them."
    largest = finding.pairs[0]
    first = f"commit {short(largest.first)}" if largest.first else "a commit that is not known"
    where = (
        f"has both copies in commit {short(largest.first)}"
        if largest.first == largest.second
        else f"was written by {first} and again by {short(largest.second)}"
    )
    hidden = f" Of {counted(finding.hidden, 'key')} a compaction hides who wrote a copy." if finding.hidden else ""
    return f"{told}. The largest share ({counted(largest.keys, 'key')}) {where}.{hidden}"


def _row(ask: Ask, keys: tuple[str, ...], row: Row) -> tuple[str, ...]:
    names = zip(ask.contract.key, keys, strict=True)
    values = (shown(name, row[key], ask.contract) for name, key in names)
    left = row["copies"] - len(row["commits"])
    named = " → ".join(_named(commit) for commit in row["commits"])
    return (*values, f"{row['copies']:,}", f"{named} → {left:,} more" if left else named)


def _named(commit: int) -> str:
    return short(commit) if commit else "not known"


def _none(rows: int, headline: str, sources: tuple[str, ...]) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        measures=(Measure(name="rows of the window", value=rows, unit="rows"),),
        finding=DuplicatesFinding(rows_checked=rows, keys=0, extra_rows=0, pairs=()),
        sources=sources,
    )
