"""Data files that lie beside the table: on storage, and named by nothing."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Ask
from bot.observation.paths import place_of
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifests import MAX_MANIFESTS, listed, manifest_of
from spark_tasks._support.reading import entries, entries_of, live_since
from spark_tasks._support.storage import ATTEMPT_IN_FILE_NAME, SUBTASK_IN_FILE_NAME, inside_of
from spark_tasks._support.window import Reach

_CLOCKS = timedelta(minutes=5)
"""How far the clocks of storage and of the committer may be apart."""
_WRITTEN_BEFORE = timedelta(hours=1)
"""How long before its commit a file of the oldest listed commit is looked for, where those below have expired."""
_EVER = datetime.fromtimestamp(0, UTC)
_FOLDERS = ("write.data.path", "write.folder-storage.path", "write.object-storage.path")
_DATA_FILE = r"\.(?:parquet|avro|orc|puffin)$"
_NAME = r"[^/]+$"


def data_folder(table: TableState) -> str:
    """Where the table's writers put data files now; older files may lie elsewhere."""
    told = (table.properties.get(name) for name in _FOLDERS)
    return next((folder for folder in told if folder), f"{table.location.rstrip('/')}/data")


def begin_of(ask: Ask, reach: Reach) -> datetime:
    """Files written after this moment belong to the window's time. Where nothing lies below the window's first commit,
    all that the job has written does: commits that are gone with every trace may have lain there, and have left their
    files. So it does above the table's first commits while Flink still lists checkpoints of before them."""
    table = ask.observation.table
    if reach.since is not None:
        begin = table.by_id[reach.since].committed_at
        return min(begin, _job_began(ask)) if _has_checkpoints_below_all(ask) else begin
    if any(commit.has_commit_below for commit in reach.main[:1]):
        return reach.main[0].committed_at - _WRITTEN_BEFORE
    return _job_began(ask)


def _has_checkpoints_below_all(ask: Ask) -> bool:
    """Whether Flink completed a checkpoint of the run with whose first commit the table begins, and that lies below."""
    table = ask.observation.table
    if not table.of_flink or table.chain[-1].has_commit_below:
        return False
    first = table.of_flink[0]
    assert first.checkpoint_id is not None
    listed = (run.checkpoints for run in ask.observation.jobs.values if run.job_id == first.job_id)
    return any(
        each.status == "COMPLETED" and each.checkpoint_id < first.checkpoint_id for told in listed for each in told
    )


def _job_began(ask: Ask) -> datetime:
    """The start of the oldest run that Flink knows, or of what it tells of it; before all files where it knows none."""
    runs = ask.observation.jobs.values
    told = [moment for run in runs for moment in (run.started_at, *(each.triggered_at for each in run.checkpoints))]
    return min(told) - _CLOCKS if told else _EVER


def named_since(spark: SparkSession, ask: Ask, begin: datetime, pending: Iterable[str]) -> DataFrame:
    """Every file that a listed snapshot since `begin`, on main or not, names, and those of `pending`.

    Shape: inside (the path below its storage's root), is_committed; one row per inside: a file is called named though
    scheme or host of its name differ, because it would be moved for nothing but a spelling (Iceberg's
    `prefix_mismatch_mode` stops there). What an expired commit added is named as long as the head has it. Cost:
    manifests of these commits.
    """
    table = ask.observation.table
    recent = [commit for commit in table.snapshots if commit.committed_at >= begin - _CLOCKS]
    named = entries(spark, recent).select("file_path")
    if table.head is not None and recent:
        named = named.unionByName(live_since(spark, table.by_id[table.head], _lowest(recent)).select("file_path"))
    committed = named.select(inside_of(F.col("file_path")).alias("inside"), F.lit(True).alias("is_committed"))
    told = [(place_of(path).inside, False) for path in pending]
    both = committed.unionByName(spark.createDataFrame(told, "inside string, is_committed boolean"))
    return both.groupBy("inside").agg(F.max("is_committed").alias("is_committed"))


def unnamed(there: DataFrame, named: DataFrame, begin: datetime, safe_from: datetime, head_at: datetime) -> DataFrame:
    """Shape: inside, path, length, written_at, is_young, is_named, of_other_attempt; one row per data file of `there`
    that was written after `begin`.

    `of_other_attempt`: its name is Flink's, it is older than the head's commit (`head_at`), and another attempt of its
    subtask has written since what is committed. A higher number may be the failover's, whose commit is yet to come:
    it counts only once the file is old, as the loser of a speculative execution.
    """
    inside = there.where((F.col("written_at") > F.lit(begin)) & F.col("path").rlike(_DATA_FILE))
    known = named.select("inside", F.lit(True).alias("known"), "is_committed")
    subtask, attempt = _told("path", SUBTASK_IN_FILE_NAME), _told("path", ATTEMPT_IN_FILE_NAME)
    placed = (
        inside.join(known, on="inside", how="left")
        .withColumns({"subtask": subtask, "attempt": attempt})
        .withColumn("by", F.when(F.col("is_committed"), F.col("attempt")))
    )
    since = Window.partitionBy("subtask").orderBy(F.desc("written_at")).rangeBetween(Window.unboundedPreceding, 0)
    is_young = F.col("written_at") > F.lit(safe_from)
    is_other = (F.max("by").over(since) > F.col("attempt")) | ((F.min("by").over(since) < F.col("attempt")) & ~is_young)
    return placed.select(
        "inside",
        "path",
        "length",
        "written_at",
        is_young.alias("is_young"),
        F.coalesce("known", F.lit(False)).alias("is_named"),
        F.coalesce(is_other & (F.col("written_at") < F.lit(head_at)), F.lit(False)).alias("of_other_attempt"),
    )


def unnamed_still(spark: SparkSession, table: TableState, files: DataFrame) -> DataFrame:
    """`files` (shape of `unnamed`), of which those are named as well that main, a branch or a tag names though their
    commit is older than the window: a file that was brought back has a new time. Young ones are not asked for.

    Cost: all manifests of these. Raises EvidenceFailed above `MAX_MANIFESTS`.
    """
    ends = {ref.snapshot_id for ref in table.refs} | ({table.head} if table.head is not None else set())
    at = [table.by_id[each] for each in sorted(ends) if each in table.by_id]
    if not at:
        return files
    found = listed(spark, at).dropDuplicates(["manifest_path"]).limit(MAX_MANIFESTS + 1).collect()
    if len(found) > MAX_MANIFESTS:
        raise EvidenceFailed(
            "It cannot be determined whether older commits reference files that the window's commits do not.",
            f"Expected at most {MAX_MANIFESTS:,} manifests on main, branches and tags; there are more.",
            "Rewrite the manifests into fewer, then run it again.",
        )
    every = entries_of(spark, [manifest_of(row) for row in found]).where("status != 2")
    live = every.select(inside_of(F.col("file_path")).alias("inside"), F.lit(True).alias("is_live"))
    asked = files.where(~F.col("is_named") & ~F.col("is_young")).select("inside")
    known = F.broadcast(live.join(F.broadcast(asked), on="inside", how="left_semi").distinct())
    is_named = F.col("is_named") | F.coalesce("is_live", F.lit(False))
    return files.join(known, on="inside", how="left").withColumn("is_named", is_named).drop("is_live")


def _told(path: str, form: str) -> Column:
    """Group 1 of a file name as a number; null where the name has another form."""
    found = F.regexp_extract(F.regexp_extract(path, _NAME, 0), form, 1)
    return F.when(found != "", found.cast("int"))


def _lowest(commits: list[Snapshot]) -> int:
    return min(commit.sequence_number for commit in commits)
