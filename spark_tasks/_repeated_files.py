"""Data files that are live more than once: told here where the entries are few, by Spark where they are many."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.table import Snapshot
from spark_tasks._few_entries import Entry, few_entries
from spark_tasks._live import Around, manifests_around
from spark_tasks._reading import entries_of
from spark_tasks._words import MAX_ROWS

_MAX_GROUPS = 500
"""Sets of commits that share a file; a repeated commit makes one."""


class Repeated(NamedTuple):
    """One path and all its live entries."""

    path: str
    snapshots: tuple[int, ...]
    """The commits that added them, in no order; one that added it twice is there twice."""
    rows: int
    """Of one copy."""

    @property
    def extra(self) -> int:
        """Rows too many."""
        return (len(self.snapshots) - 1) * self.rows


class Repeats(NamedTuple):
    """What is live at the window's end of the files that its commits added to main."""

    files: int
    """Data files that the window added, each path once."""
    repeated: int
    """Of these: live more than once."""
    extra_rows: int
    sharing: frozenset[tuple[int, ...]]
    """Sets of commits that share a file; where Spark tells, at most `_MAX_GROUPS`."""
    sample: tuple[Repeated, ...]
    """At most 20, the largest harm first."""


def repeats_in(spark: SparkSession, at: Snapshot, window: Sequence[Snapshot]) -> tuple[Repeats, Around]:
    """What is live at `at` more than once and was added by one of the window's commits, and the manifests in which
    copies were looked for."""
    around = manifests_around(spark, at, window)
    ids = [int(commit.snapshot_id) for commit in window]
    few = few_entries(spark, around.manifests)
    found = told_by_spark(entries_of(spark, around.manifests), ids) if few is None else told_here(few, ids)
    return found, around


def told_here(entries: Iterable[Entry], window: Sequence[int]) -> Repeats:
    """Live data files among these entries."""
    inside, by_path = set(window), dict[str, list[Entry]]()
    for entry in entries:
        if entry.status != 2 and entry.content == 0:
            by_path.setdefault(entry.path, []).append(entry)
    of_window = {path: copies for path, copies in by_path.items() if any(c.snapshot_id in inside for c in copies)}
    found = [
        Repeated(path, tuple(sorted(copy.snapshot_id for copy in copies)), max(copy.rows for copy in copies))
        for path, copies in of_window.items()
        if len(copies) > 1
    ]
    found.sort(key=lambda each: (-each.extra, each.path))
    return Repeats(
        files=len(of_window),
        repeated=len(found),
        extra_rows=sum(each.extra for each in found),
        sharing=frozenset(each.snapshots for each in found),
        sample=tuple(found[:MAX_ROWS]),
    )


def told_by_spark(entries: DataFrame, window: Sequence[int]) -> Repeats:
    """The same of a frame of entries, without bringing them here."""
    copies = (
        entries.where("status != 2 and content = 0")
        .groupBy("file_path")
        .agg(
            F.count("*").alias("copies"),
            F.count_if(F.col("snapshot_id").isin(list(window))).alias("inside"),
            F.max("record_count").alias("rows"),
            F.array_sort(F.collect_list("snapshot_id")).alias("snapshots"),
        )
        .where("inside > 0")
        .withColumn("extra", (F.col("copies") - 1) * F.col("rows"))
    )
    sets = _sharing(copies).limit(_MAX_GROUPS + 1).collect()
    sharing = frozenset(tuple(row["sharing"]) for row in sets if row["sharing"] is not None)
    if not sharing:
        return Repeats(int(sets[0]["all_files"]) if sets else 0, 0, 0, sharing, ())
    sample = copies.where("copies > 1").orderBy(F.desc("extra"), "file_path").limit(MAX_ROWS).collect()
    return Repeats(
        files=int(sets[0]["all_files"]),
        repeated=int(sets[0]["all_repeated"]),
        extra_rows=int(sets[0]["all_extra"]),
        sharing=sharing,
        sample=tuple(Repeated(row["file_path"], tuple(row["snapshots"]), int(row["rows"])) for row in sample),
    )


def _sharing(copies: DataFrame) -> DataFrame:
    """Shape: sharing (array of snapshot_id; null: of the files that are live once), files, extra, and the same of all
    sets together: all_files, all_repeated, all_extra; one row per set of commits that share a file."""
    sets = copies.groupBy(F.when(F.col("copies") > 1, F.col("snapshots")).alias("sharing")).agg(
        F.count("*").alias("files"), F.sum("extra").alias("extra")
    )
    every, is_shared = Window.partitionBy(F.lit(0)), F.col("sharing").isNotNull()
    return sets.withColumns(
        {
            "all_files": F.sum("files").over(every),
            "all_repeated": F.sum(F.when(is_shared, F.col("files")).otherwise(0)).over(every),
            "all_extra": F.sum("extra").over(every),
        }
    ).orderBy(is_shared, F.desc("extra"))
