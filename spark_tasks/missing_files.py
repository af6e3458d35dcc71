"""Is every file that the head names still on storage?

One listing of the folder tells of nearly all; what it does not show is asked for by its name, up to a bound.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import MissingFilesFinding, UnreadableFile
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.paths import told_apart
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifests import MAX_MANIFESTS, Manifest, newest_of
from spark_tasks._support.reading import entries_of, local_ids, persisted
from spark_tasks._support.storage import (
    PASSED_OVER,
    UNASKABLE,
    agree,
    data_folder,
    files_under,
    inside_of,
    is_refused,
    plain_column,
    sizes_of,
)
from spark_tasks._support.window import by_age
from spark_tasks._support.words import MAX_ROWS, answers, ids, inconclusive

MAX_ASKED = 10_000
"""So many files that the listing does not show are asked for by name."""


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


def named_in(spark: SparkSession, table: TableState, manifests: Sequence[Manifest]) -> DataFrame:
    """Shape: path (plain), age (place of the commit among the table's, 0 the oldest; -1 of one that is not listed any
    more), snapshot_id, file_path, content, rows (0 of a delete file); one row per live file: of one that several
    commits have added, as the oldest of them did. Lazy."""
    live = entries_of(spark, manifests).where("status != 2")
    order = sorted(table.snapshots, key=lambda each: table.place_of(each.snapshot_id))
    ages = F.broadcast(local_ids(spark, [each.snapshot_id for each in order]))
    aged = live.join(ages, on="snapshot_id", how="left").withColumn("age", F.coalesce("place", F.lit(-1)))
    rows = F.when(F.col("content") == 0, F.col("record_count")).otherwise(0).alias("rows")
    path = plain_column(F.col("file_path")).alias("path")
    told = aged.select(path, F.struct("age", "snapshot_id", "file_path", "content", rows).alias("own"))
    return told.groupBy("path").agg(F.min("own").alias("own")).select("path", "own.*")


def lost_of(spark: SparkSession, table: TableState, named: DataFrame, folder: str) -> Lost:
    """Which of `named` (shape of `named_in`) storage lacks. Cost: one listing of `folder`, and where it does not show
    all, a second one and two requests for each file that is asked for."""
    total = _placed(spark, named, folder).agg(F.count("*").alias("named"), F.count_if("is_unlisted").alias("unlisted"))
    counts = total.first()
    assert counts is not None
    if not counts["unlisted"]:
        return Lost(int(counts["named"]), 0, 0, (), (), 0)
    with persisted(_placed(spark, named, folder).where("is_unlisted").drop("is_unlisted")) as unlisted:
        return _judged(spark, table, unlisted, int(counts["named"]))


def _placed(spark: SparkSession, named: DataFrame, folder: str) -> DataFrame:
    """`named` with `is_unlisted`; a folder that is not there shows nothing. Lists it."""
    listed = files_under(spark, folder)
    if listed is None:
        return named.withColumn("is_unlisted", F.lit(True))
    seen = listed.select(F.col("path").alias("seen"))
    mine, its = F.col("path"), F.col("seen")
    is_it = (inside_of(mine) == inside_of(its)) & agree(mine, its)
    return named.join(seen, on=is_it, how="left").withColumn("is_unlisted", F.isnull("seen")).drop("seen")


def _judged(spark: SparkSession, table: TableState, unlisted: DataFrame, named: int) -> Lost:
    """Asks for these by their names, up to `MAX_ASKED` of them."""
    can_be_seen = unlisted.where(~F.col("file_path").rlike(UNASKABLE)).select("file_path").orderBy("file_path")
    paths = [row["file_path"] for row in can_be_seen.limit(MAX_ASKED).collect()]
    there = sizes_of(spark, table, paths)
    answers = [(path, path in there.sizes) for path in paths]
    asked = F.broadcast(spark.createDataFrame(answers, "file_path string, is_there boolean"))
    told = unlisted.join(asked, on="file_path", how="left")
    lost = told.where("NOT is_there").drop("is_there")
    total = lost.agg(F.count("*").alias("files"), F.sum("rows").alias("rows")).first()
    assert total is not None
    commits = lost.select("age", "snapshot_id").distinct().orderBy("age", "snapshot_id").limit(MAX_ROWS).collect()
    return Lost(
        named=named,
        files=int(total["files"]),
        rows=int(total["rows"] or 0),
        commits=tuple(int(row["snapshot_id"]) for row in commits),
        sample=tuple(lost.orderBy(F.desc("content"), "path").limit(MAX_ROWS).collect()),
        unasked=told.where("is_there IS NULL").count(),
    )


TASK = Task(
    name="missing_files",
    title="Missing files",
    question="Is every file that the table lists still on storage, also of older commits?",
    confirmed_means="the table lists a file that is not on storage, so reads of it fail",
    ruled_out_means="every file that the head lists is on storage",
    needs=("table",),
    cost="every manifest of the head and one listing of the table's whole data folder: grows with the table; "
    f"up to {MAX_ASKED:,} files that it does not show are asked for one by one",
    reads="listing",
)
_GONE = "It is missing."


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Of the whole table, whatever the window is. Only that a file is there is asked, not what is in it.

    The listing is made after the head was pinned: a file that was replaced and expired meanwhile is called missing.
    """
    table = ask.observation.table
    if table.head is None:
        return _told(table, MissingFilesFinding(files_checked=0, count=0, rows=0, commits=(), files=()), 0)
    folder = data_folder(table)
    try:
        return _looked(spark, ask, table.by_id[table.head], folder)
    except PySparkException as error:
        if not is_refused(error):
            raise
        first = (str(error).strip().splitlines() or [type(error).__name__])[0][:300]
        raise inconclusive(
            source=f"the storage of {folder}",
            reason=f"Storage refused the look: {first}",
            remedy="Check the rights of Spark on that folder, or ask again later.",
        ) from error


def _looked(spark: SparkSession, ask: Ask, head: Snapshot, folder: str) -> Answer:
    table = ask.observation.table
    if sizes_of(spark, table, [head.manifest_list]).lacks(head.manifest_list):
        gone = _file(head.manifest_list, "manifest-list", head.snapshot_id)
        finding = MissingFilesFinding(files_checked=1, count=1, rows=0, commits=(head.snapshot_id,), files=(gone,))
        return _told(table, finding, 0)
    manifests = newest_of(spark, head, MAX_MANIFESTS + 1)
    if len(manifests) > MAX_MANIFESTS:
        raise inconclusive(
            source=f"the manifests of {table.name}",
            reason=f"The head has more than {MAX_MANIFESTS:,} manifests.",
            remedy="Rewrite the manifests into fewer, then run it again.",
        )
    there = sizes_of(spark, table, [each.path for each in manifests])
    torn = [each for each in manifests if there.lacks(each.path)]
    whole = [each for each in manifests if each.path in there.sizes]
    lost = lost_of(spark, table, named_in(spark, table, whole), folder)
    found = _found(table, len(manifests), torn, lost, len(manifests) - len(torn) - len(whole))
    return _told(table, found, len(manifests))


def _found(table: TableState, manifests: int, torn: Sequence[Manifest], lost: Lost, untold: int) -> MissingFilesFinding:
    """`untold`: manifests that could not be asked for."""
    files = [_file(each.path, "manifest", SnapshotId(each.snapshot_id)) for each in torn]
    files += [
        _file(row["file_path"], "deletes" if row["content"] else "data", row["snapshot_id"], int(row["rows"]))
        for row in lost.sample
    ]
    return MissingFilesFinding(
        files_checked=1 + manifests - untold + lost.named - lost.unasked,
        count=len(torn) + lost.files,
        rows=lost.rows,
        commits=by_age(table, {*(each.snapshot_id for each in torn), *lost.commits})[:MAX_ROWS],
        files=tuple(files[:MAX_ROWS]),
        not_asked=lost.unasked + untold,
        content_checked=lost.named - lost.unasked,
        content_gone=lost.files,
    )


def _told(table: TableState, finding: MissingFilesFinding, manifests: int) -> Answer:
    calm = Verdict.INCONCLUSIVE if finding.not_asked else Verdict.RULED_OUT
    names = told_apart([file.path for file in finding.files])
    return Answer(
        verdict=Verdict.CONFIRMED if finding.count else calm,
        headline=_headline(finding),
        measures=(
            Measure(name="missing files", value=finding.count, unit="files"),
            Measure(name="rows in them", value=finding.rows, unit="rows"),
            Measure(name="files looked for", value=finding.files_checked, unit="files"),
            Measure(name="files not asked for", value=finding.not_asked, unit="files"),
        ),
        columns=("what", "file", "commit", "rows"),
        rows=tuple((file.what, names[file.path], short(file.snapshot_id), f"{file.rows:,}") for file in finding.files),
        finding=finding,
        sources=(f"{counted(manifests, 'manifest')} of the head", f"a listing of {data_folder(table)}"),
        could_not_look=(_elsewhere(table, finding.not_asked),) if finding.not_asked else (),
    )


def _headline(finding: MissingFilesFinding) -> str:
    few = counted(finding.not_asked, "file was", "files were")
    unasked = f"; {few} not asked for" if finding.not_asked else ""
    if finding.count:
        rows = f" with {counted(finding.rows, 'row')}" if finding.rows else ""
        is_or_are = "is" if finding.count == 1 else "are"
        return (
            f"{counted(finding.count, 'file')}{rows} that the head names {is_or_are} not on storage, added by "
            f"{ids(finding.commits)}: reads of the table fail{unasked}."
        )
    if unasked:
        return f"No file is missing of {counted(finding.files_checked, 'file')} that were looked for{unasked}."
    if not finding.files_checked:
        return "The table has no snapshot, so it names no file."
    return f"All {counted(finding.files_checked, 'file')} that the head names are on storage; none was opened."


def _file(path: str, what: str, commit: SnapshotId, rows: int = 0) -> UnreadableFile:
    told = {"path": path, "what": what, "snapshot_id": commit, "rows": rows, "problem": _GONE}
    return UnreadableFile.model_validate(told)


def _elsewhere(table: TableState, many: int) -> NotSeen:
    return NotSeen(
        source=f"{counted(many, 'file')} of {table.name} that the listing of {data_folder(table)} does not show",
        reason=f"At most {MAX_ASKED:,} such files are asked for one by one, and none of {PASSED_OVER}.",
        remedy="Look whether the table's files lie in another folder than its properties say.",
    )
