"""Do data files lie on storage, written in the window's time, that nothing names?"""

from collections.abc import Sequence
from datetime import timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import OrphanFilesFinding
from bot.observation.looked import NotSeen
from bot.observation.paths import told_apart
from bot.observation.sentences import counted
from spark_tasks._support.beside import begin_of, data_folder, named_since, unnamed, unnamed_still
from spark_tasks._support.leaked_files import paths_in
from spark_tasks._support.storage import files_under, inside_of, patience
from spark_tasks._support.window import no_commits, reach_of
from spark_tasks._support.words import MAX_ROWS, at, could_not

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


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Files from the window's beginning until now. Those younger than the safe age may be in flight and are told
    apart: ten minutes, or five checkpoint intervals of a job of the table that is slower.

    A failed attempt leaves such files, and so does a job that was killed between two checkpoints: then their rows
    came again with the next attempt, and nothing is lost. Another engine may be in flight for longer. None is accused
    while a Flink manifest cannot be read: it may name them.
    """
    world, table = ask.observation, ask.observation.table
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its time is not known.", reach)
    if isinstance(world.flink_manifests, NotSeen):
        said = "Orphan files cannot be told from those that Flink has yet to commit: its manifests were not listed."
        return could_not(said, world.flink_manifests)
    folder = data_folder(table)
    listed = files_under(spark, folder)
    if listed is None:
        return _no_folder(folder)
    listed = listed.withColumn("inside", inside_of(F.col("path")))
    begin = begin_of(ask, reach)
    others = world.others.values if world.others is not None else ()
    alive = [run for run in (*world.jobs.values, *others) if not run.is_terminal]
    safe_age = max(_SAFE_AGE, *(patience(ask, run) for run in alive), patience(ask, None))
    of_flink = paths_in(spark, table, world.flink_manifests.values)
    pending = [file.path for files in of_flink.values() for file in files]
    named = named_since(spark, ask, begin, pending).persist()
    try:
        head_at = table.chain[0].committed_at if table.chain else begin
        by_window = unnamed(listed, named, begin, table.read_at - safe_age, head_at).persist()
        is_orphan = ~F.col("is_named")
        has_old = by_window.where(is_orphan & ~F.col("is_young")).limit(1).count() > 0
        files = unnamed_still(spark, table, by_window).persist() if has_old else by_window
        try:
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
        finally:
            files.unpersist()
            by_window.unpersist()
        if total["orphans"] and total["orphans"] == total["files"] and _are_strangers(listed, named):
            return _other_names(folder)
    finally:
        named.unpersist()
    unread = sorted(path for path, files in of_flink.items() if not files)
    if unread and total["orphans"] > total["young"]:
        return _unread(unread)
    return _told(folder, total, sample, safe_age)


def _are_strangers(listed: DataFrame, named: DataFrame) -> bool:
    """Whether commits name files and the folder, of whatever age its files are, has none of them; lists it again."""
    committed = named.where("is_committed").select("inside")
    if not committed.limit(1).count():
        return False
    return not listed.join(committed, on="inside", how="left_semi").limit(1).count()


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


def _no_folder(folder: str) -> Answer:
    return could_not(
        "The table's data folder was not found, so nothing can be said of orphan files.",
        NotSeen(
            source=f"the data folder {folder}",
            reason="Spark finds no such folder.",
            remedy="Check that Spark reads the table's storage, and where `write.data.path` points.",
        ),
    )


def _unread(manifests: Sequence[str]) -> Answer:
    first = manifests[0].rsplit("/", 1)[-1]
    more = f" and {len(manifests) - 1:,} more" if len(manifests) > 1 else ""
    missing = NotSeen(
        source=f"Flink manifest {first}{more}",
        reason=f"Flink manifest {first}{more} cannot be read: files that nothing else names may be named there.",
        remedy="Bring back an earlier version of it if storage keeps one. Put it aside only if its run is over and no "
        "restore point needs it; then ask again.",
    )
    return could_not(f"Orphan files cannot be told from those that Flink has yet to commit: {missing.reason}", missing)


def _other_names(folder: str) -> Answer:
    return could_not(
        "Orphan files cannot be told: no file of the data folder bears a name that the table's commits use.",
        NotSeen(
            source=f"the data folder {folder}",
            reason="The commits of the window's time name files; none of them was found in the folder.",
            remedy="Look whether the writers use another folder or another scheme than the table's location says.",
        ),
    )
