"""Did a commit of the window add a data file that was live already?"""

from pyspark.sql import DataFrame, Row, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import DuplicateFile, DuplicateFilesFinding
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.table import TableState
from spark_tasks._live import ENTRIES_BELOW, MANIFESTS_BELOW, live_around
from spark_tasks._window import reach_of
from spark_tasks._words import MAX_ROWS, could_not, counted, ids

TASK = Task(
    name="duplicate_files",
    title="Duplicate files",
    question="Did a commit of the window add a data file that was live already?",
    confirmed_means="the table names one data file several times, and every row of it counts as often",
    needs=("table",),
    cost=f"manifests of the window and the newest below it: {MANIFESTS_BELOW}, or {ENTRIES_BELOW:,} entries",
    reads="metadata",
)
_MAX_GROUPS = 500
"""Sets of commits that share a file; a repeated commit makes one."""


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Paths that the window's commits added to main and that have more than one live entry at its end.

    A path twice within one commit counts too. A copy of a file that is older than the manifests looked at is not
    seen here; `duplicate_rows` sees its rows.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not("The window's end is no longer listed, so its files cannot be compared.", reach)
    if not reach.main:
        return _none(0, "No commit in the window, so none can have added a file again.")
    table = ask.observation.table
    inside = F.col("snapshot_id").isin([int(commit.snapshot_id) for commit in reach.main])
    live = live_around(spark, table.by_id[reach.until], reach.main).where("content = 0")
    copies = (
        live.groupBy("file_path")
        .agg(
            F.count("*").alias("copies"),
            F.count_if(inside).alias("inside"),
            F.max("record_count").alias("rows"),
            F.array_sort(F.collect_list("snapshot_id")).alias("snapshots"),
        )
        .where("inside > 0")
        .withColumn("extra", (F.col("copies") - 1) * F.col("rows"))
    )
    sets = _sharing(copies).limit(_MAX_GROUPS + 1).collect()
    found = [row["sharing"] for row in sets if row["sharing"] is not None]
    files = int(sets[0]["all_files"]) if sets else 0
    if not found:
        return _none(files, f"Each of {counted(files, 'data file')} that the window added is live once.")
    sample = copies.where("copies > 1").orderBy(F.desc("extra"), "file_path").limit(MAX_ROWS).collect()
    finding = DuplicateFilesFinding(
        files_checked=files,
        count=int(sets[0]["all_repeated"]),
        extra_rows=int(sets[0]["all_extra"]),
        files=tuple(_file(table, row) for row in sample),
        again=_by_age(table, {late for sharing in found for late in _by_age(table, sharing)[1:]}),
    )
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=_headline(finding),
        measures=(
            Measure(name="files live more than once", value=finding.count, unit="files"),
            Measure(name="extra rows", value=finding.extra_rows, unit="rows"),
            Measure(name="data files of the window", value=files, unit="files"),
        ),
        columns=("file", "rows of one copy", "added by"),
        rows=tuple(
            (file.path.rsplit("/", 1)[-1], f"{file.rows:,}", " → ".join(short(s) for s in file.snapshots))
            for file in finding.files
        ),
        finding=finding,
        sources=_SOURCES,
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


_SOURCES = (
    f"live entries in the window's manifests and in the newest below: {MANIFESTS_BELOW}, or {ENTRIES_BELOW:,} entries",
)


def _headline(finding: DuplicateFilesFinding) -> str:
    is_or_are = "is" if finding.count == 1 else "are"
    return (
        f"{counted(finding.count, 'data file')} {is_or_are} live more than once, "
        f"{counted(finding.extra_rows, 'row')} too many; added again by "
        f"{counted(len(finding.again), 'commit')} ({ids(finding.again)})."
    )


def _file(table: TableState, row: Row) -> DuplicateFile:
    return DuplicateFile(path=row["file_path"], snapshots=_by_age(table, row["snapshots"]), rows=int(row["rows"]))


def _by_age(table: TableState, snapshots: list[int] | set[SnapshotId]) -> tuple[SnapshotId, ...]:
    """Oldest first; one that is no longer listed is older than all that are."""
    ids = (SnapshotId(snapshot) for snapshot in snapshots)
    return tuple(sorted(ids, key=lambda snapshot: (*_age(table, snapshot), snapshot)))


def _age(table: TableState, snapshot: SnapshotId) -> tuple[int, float]:
    known = table.by_id.get(snapshot)
    return (-1, 0.0) if known is None else (known.sequence_number, known.committed_at.timestamp())


def _none(files: int, headline: str) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        measures=(Measure(name="data files of the window", value=files, unit="files"),),
        finding=DuplicateFilesFinding(files_checked=files, count=0, extra_rows=0, files=(), again=()),
        sources=_SOURCES if files else (),
    )
