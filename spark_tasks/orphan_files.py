"""Do data files lie on storage, written in the window's time, that nothing names?"""

from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from datetime import UTC, datetime, timedelta

from pyspark.sql import Column, DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import OrphanFilesFinding
from bot.observation.flink import STORAGE_CLOCK_DIFFERS
from bot.observation.looked import NotSeen
from bot.observation.paths import place_of, told_apart
from bot.observation.sentences import counted
from bot.observation.table import TableState
from spark_tasks._support.leaked_files import files_in
from spark_tasks._support.manifests import MAX_MANIFESTS, listed, manifest_of
from spark_tasks._support.reading import entries, entries_of, live_since, persisted
from spark_tasks._support.storage import (
    ATTEMPT_IN_FILE_NAME,
    SUBTASK_IN_FILE_NAME,
    data_folder,
    files_under,
    inside_of,
    patience,
)
from spark_tasks._support.window import Reach, reach_of
from spark_tasks._support.words import MAX_ROWS, Inconclusive, answers, at, inconclusive

_WRITTEN_BEFORE = timedelta(hours=1)
"""How long before its commit a file of the oldest listed commit is looked for, where those below have expired."""
_EVER = datetime.fromtimestamp(0, UTC)
_DATA_FILE = r"\.(?:parquet|avro|orc|puffin)$"
_NAME = r"[^/]+$"


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
    return min(told) - STORAGE_CLOCK_DIFFERS if told else _EVER


def named_since(spark: SparkSession, ask: Ask, begin: datetime, pending: Iterable[str]) -> DataFrame:
    """Every file that a listed snapshot since `begin`, on main or not, names, and those of `pending`.

    Shape: inside (the path below its storage's root), is_committed; one row per inside: a file is called named though
    scheme or host of its name differ, because it would be moved for nothing but a spelling (Iceberg's
    `prefix_mismatch_mode` stops there). What an expired commit added is named as long as the head has it. Cost:
    manifests of these commits.
    """
    table = ask.observation.table
    recent = [commit for commit in table.snapshots if commit.committed_at >= begin - STORAGE_CLOCK_DIFFERS]
    named = entries(spark, recent).select("file_path")
    if table.head is not None and recent:
        lowest = min(commit.sequence_number for commit in recent)
        named = named.unionByName(live_since(spark, table.by_id[table.head], lowest).select("file_path"))
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
    subtask, attempt = _number("path", SUBTASK_IN_FILE_NAME), _number("path", ATTEMPT_IN_FILE_NAME)
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


def _number(path: str, form: str) -> Column:
    """Group 1 of a file name as a number; null where the name has another form."""
    found = F.regexp_extract(F.regexp_extract(path, _NAME, 0), form, 1)
    return F.when(found != "", found.cast("int"))


TASK = Task(
    name="orphan_files",
    title="Orphan files",
    question="Does storage hold data files of the window that no snapshot and no Flink manifest lists?",
    confirmed_means="files were written that never reached the table; nothing is deleted",
    ruled_out_means="a snapshot or a Flink manifest lists every file of the window",
    needs=("table", "flink_manifests"),
    cost="one listing of the table's whole data folder, because storage cannot list by time. It also reads manifests "
    "of the window. Where these do not list a file that is old enough, it reads every manifest of main, branches "
    "and tags",
    reads="listing",
    version=4,
)
_SAFE_AGE = timedelta(minutes=10)


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Files from the window's beginning until now. Those younger than the safe age may be in flight and are told
    apart: ten minutes, or five checkpoint intervals of a job of the table that is slower.

    A failed attempt leaves such files, and so does a job that was killed between two checkpoints: then their rows
    came again with the next attempt, and nothing is lost. Another engine may be in flight for longer. None is accused
    while a Flink manifest cannot be read: it may name them.
    """
    world, table = ask.observation, ask.observation.table
    reach = reach_of(ask)
    if isinstance(world.flink_manifests, NotSeen):
        raise Inconclusive(world.flink_manifests)
    folder = data_folder(table)
    there = files_under(spark, folder)
    if there is None:
        raise inconclusive(
            source=f"the data folder {folder}",
            reason="Spark does not find the table's data folder.",
            remedy="Check that Spark reads the table's storage, and where `write.data.path` points.",
        )
    there = there.withColumn("inside", inside_of(F.col("path")))
    begin = begin_of(ask, reach)
    others = world.others.values if world.others is not None else ()
    alive = [run for run in (*world.jobs.values, *others) if not run.is_terminal]
    safe_age = max(_SAFE_AGE, *(patience(ask, run) for run in alive), patience(ask, None))
    of_flink = files_in(spark, table, world.flink_manifests.values)
    pending = [file.path for files in of_flink.values() for file in files]
    with ExitStack() as stack:
        named = stack.enter_context(persisted(named_since(spark, ask, begin, pending)))
        head_at = table.chain[0].committed_at if table.chain else begin
        of_window = unnamed(there, named, begin, table.read_at - safe_age, head_at)
        files = stack.enter_context(persisted(of_window))
        is_orphan = ~F.col("is_named")
        if files.where(is_orphan & ~F.col("is_young")).limit(1).count():
            files = stack.enter_context(persisted(unnamed_still(spark, table, files)))
        total = files.agg(
            F.count("*").alias("files"),
            F.count_if(is_orphan).alias("orphans"),
            F.sum(F.when(is_orphan, F.col("length")).otherwise(0)).alias("bytes"),
            F.count_if(is_orphan & F.col("is_young")).alias("young"),
            F.count_if(is_orphan & F.col("of_other_attempt")).alias("of_other_attempts"),
            F.unix_micros(F.max(F.when(is_orphan, F.col("written_at")))).alias("newest_micros"),
        ).first()
        assert total is not None
        oldest = files.where(is_orphan).orderBy("written_at", "path").limit(MAX_ROWS)
        sample = oldest.collect() if total["orphans"] else []
        if total["orphans"] and total["orphans"] == total["files"] and _are_strangers(there, named):
            raise inconclusive(
                source=f"the data folder {folder}",
                reason="The commits of the window's time name files; none of them was found in the folder.",
                remedy="Look whether the writers use another folder or another scheme than the table's location says.",
            )
    unread = sorted(path for path, files in of_flink.items() if not files)
    if unread and total["orphans"] > total["young"]:
        raise _unread(unread)
    return _told(folder, total, sample, safe_age)


def _are_strangers(there: DataFrame, named: DataFrame) -> bool:
    """Whether commits name files and the folder, of whatever age its files are, has none of them; lists it again."""
    committed = named.where("is_committed").select("inside")
    if not committed.limit(1).count():
        return False
    return not there.join(committed, on="inside", how="left_semi").limit(1).count()


def _told(folder: str, total: Row, sample: Sequence[Row], safe_age: timedelta) -> Answer:
    finding = OrphanFilesFinding(
        files_listed=int(total["files"]),
        orphans=int(total["orphans"]),
        bytes=int(total["bytes"] or 0),
        young=int(total["young"]),
        of_other_attempts=int(total["of_other_attempts"]),
        paths=tuple(row["path"] for row in sample),
        newest_at=at(total["newest_micros"]) if total["newest_micros"] is not None else None,
    )
    names = told_apart(finding.paths)
    return Answer(
        verdict=Verdict.CONFIRMED if finding.orphans > finding.young else Verdict.RULED_OUT,
        headline=_headline(finding, round(safe_age.total_seconds() / 60)),
        measures=(
            Measure(name="orphan files", value=finding.orphans, unit="files"),
            Measure(name="bytes in them", value=finding.bytes, unit="bytes"),
            Measure(name="perhaps in flight", value=finding.young, unit="files"),
            Measure(name="files of other attempts", value=finding.of_other_attempts, unit="files"),
            Measure(name="files written in the window's time", value=finding.files_listed, unit="files"),
        ),
        columns=("file", "bytes", "written", "perhaps in flight"),
        rows=tuple(
            (
                names[row["path"]],
                f"{row['length']:,}",
                f"{row['written_at']:%Y-%m-%d %H:%M:%S}",
                "yes" if row["is_young"] else "no",
            )
            for row in sample
        ),
        finding=finding,
        sources=(f"a listing of {folder}", "manifests of the snapshots in the window's time", "Flink's manifests"),
    )


def _headline(finding: OrphanFilesFinding, minutes: int) -> str:
    old = finding.orphans - finding.young
    written = f"{counted(finding.files_listed, 'data file')} written in the window's time"
    young = f"{counted(finding.young, 'file')} younger than {minutes} min may be in flight"
    if not finding.orphans:
        return f"Each of {written} is named by a snapshot or a Flink manifest."
    if not old:
        return f"Of {written} {young}; all others are named."
    attempts = f", {finding.of_other_attempts:,} of them by other attempts of a writer" * bool(
        finding.of_other_attempts
    )
    also = f"; {young}" if finding.young else ""
    return (
        f"{counted(old, 'data file')} of {written} {'is' if old == 1 else 'are'} named by nothing{attempts}{also}. "
        "Let your maintenance (Iceberg's remove_orphan_files) remove them once the incident is closed, not before."
    )


def _unread(manifests: Sequence[str]) -> Inconclusive:
    first = manifests[0].rsplit("/", 1)[-1]
    more = f" and {len(manifests) - 1:,} more" if len(manifests) > 1 else ""
    return inconclusive(
        source=f"Flink manifest {first}{more}",
        reason=f"Flink manifest {first}{more} cannot be read: files that nothing else names may be named there.",
        remedy="Bring back an earlier version of it if storage keeps one. Put it aside only if its run is over and "
        "no restore point needs it; then ask again.",
    )
