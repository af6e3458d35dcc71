"""Can storage still give every file that the window's commits brought, and the metadata that leads to them?"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.errors import EvidenceFailed
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import COMMITS_TOLD, UnreadableFile, UnreadableFilesFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.paths import ByPath
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifests import Manifest, newest_of
from spark_tasks._support.reading import entries_of
from spark_tasks._support.storage import MAX_PATHS, PASSED_OVER, OnStorage, load_files, sizes_of, unescaped
from spark_tasks._support.window import Reach, by_age, reach_of
from spark_tasks._support.words import MAX_ROWS, answers, ids

MANIFESTS_CHECKED = 100
"""Of the head's manifests from before the window; a reader of the table opens all of them."""
_KINDS: dict[int, Literal["data", "deletes"]] = {0: "data"}


@dataclass(frozen=True)
class Looked:
    checked: int
    unreadable: tuple[UnreadableFile, ...]
    older: int
    """Manifests from before the window that were not looked at."""
    footers: int
    """Files of which the footer was read, too: those in Parquet."""
    untold: int
    """Files that could not be asked for, for their names."""
    content_checked: int
    """Data and delete files among `checked`."""
    content_gone: int
    """Of these: not there at all."""
    sources: tuple[str, ...]


def look_at(spark: SparkSession, table: TableState, reach: Reach) -> Looked:
    """Manifest lists of the window's snapshots (rolled-back ones too), manifests of its end, and the files that its
    commits on main added and that are live at its end. Each step goes on with what the step before could read; older
    manifests lead no further here, and are asked for with the files."""
    commits = {s.snapshot_id: s for s in (*reach.main, *reach.rolled_back, table.by_id[reach.until])}
    lists = sizes_of(spark, table, [s.manifest_list for s in commits.values()])
    lost = [
        _missing(s.manifest_list, "manifest-list", s.snapshot_id)
        for s in commits.values()
        if lists.lacks(s.manifest_list)
    ]
    untold = sum(lists.cannot_tell(s.manifest_list) for s in commits.values())
    if table.by_id[reach.until].manifest_list not in lists.sizes:
        return Looked(len(commits) - untold, tuple(lost), 0, 0, untold, 0, 0, (_LISTS,))
    inside, before, older = _manifests(spark, table, reach)
    sizes = sizes_of(spark, table, [m.path for m in inside])
    whole = [m for m in inside if m.path in sizes.sizes and _judged_manifest(m, sizes) is None]
    files = _files(spark, whole, reach.main)
    room = MAX_PATHS - len(files)
    before, older = before[:room], older + len(before[room:])
    there = sizes_of(spark, table, [*(m.path for m in before), *(file["file_path"] for file in files)])
    sizes = OnStorage(there.sizes | sizes.sizes)
    manifests = [*inside, *before]
    broken = [bad for m in manifests if (bad := _judged_manifest(m, sizes)) is not None]
    found = _judged_files(spark, files, there)
    content_untold = sum(there.cannot_tell(file["file_path"]) for file in files)
    untold += sum(sizes.cannot_tell(m.path) for m in manifests) + content_untold
    return Looked(
        checked=len(commits) + len(manifests) + len(files) - untold,
        unreadable=(*lost, *broken, *found),
        older=older,
        footers=sum(_is_parquet(file) and not there.cannot_tell(file["file_path"]) for file in files),
        untold=untold,
        content_checked=len(files) - content_untold,
        content_gone=sum(there.lacks(file["file_path"]) for file in files),
        sources=(_LISTS, f"names and sizes of {len(manifests):,} manifests and {len(files):,} files of the window"),
    )


_LISTS = "manifest lists of the window's snapshots"


def _manifests(spark: SparkSession, table: TableState, reach: Reach) -> tuple[list[Manifest], list[Manifest], int]:
    """The window's manifests, the newest older ones, and how many older ones are left out."""
    found = newest_of(spark, table.by_id[reach.until], MAX_PATHS, first=reach.main)
    wanted = {int(commit.snapshot_id) for commit in reach.main}
    inside = [each for each in found if each.snapshot_id in wanted]
    before = [each for each in found if each.snapshot_id not in wanted]
    return inside, before[:MANIFESTS_CHECKED], len(before[MANIFESTS_CHECKED:])


def _judged_manifest(manifest: Manifest, there: OnStorage) -> UnreadableFile | None:
    path, snapshot = manifest.path, SnapshotId(manifest.snapshot_id)
    size, expected = there.sizes.get(path), manifest.length
    if there.lacks(path):
        return _missing(path, "manifest", snapshot)
    if size is not None and expected is not None and size != expected:
        return _cut(path, "manifest", snapshot, 0, size, expected)
    return None


def _files(spark: SparkSession, manifests: Sequence[Manifest], window: Sequence[Snapshot]) -> list[Row]:
    """Live files that the window's commits added. Raises EvidenceFailed above `MAX_PATHS`."""
    wanted = {int(commit.snapshot_id) for commit in window}
    inside = [m for m in manifests if m.snapshot_id in wanted]
    if not inside:
        return []
    live = entries_of(spark, inside, anew=True).where("status != 2")
    files = live.where(F.col("snapshot_id").isin(list(wanted)))
    found = files.limit(MAX_PATHS + 1).collect()
    if len(found) > MAX_PATHS:
        raise EvidenceFailed(
            "The window has too many files to check each.",
            f"Expected at most {MAX_PATHS:,} files; there are more.",
            "Choose a window that begins later, then run it again.",
        )
    return list({row["file_path"]: row for row in found}.values())


def _judged_files(spark: SparkSession, files: Sequence[Row], there: OnStorage) -> list[UnreadableFile]:
    bad: dict[str, UnreadableFile] = {}
    for file in files:
        path, size = file["file_path"], there.sizes.get(file["file_path"])
        what, snapshot, rows = _KINDS.get(file["content"], "deletes"), file["snapshot_id"], _rows(file)
        if there.lacks(path):
            bad[path] = _missing(path, what, snapshot, rows)
        elif size is not None and size != file["file_size_in_bytes"]:
            bad[path] = _cut(path, what, snapshot, rows, size, file["file_size_in_bytes"])
    parquet = [f for f in files if f["file_path"] in there.sizes and f["file_path"] not in bad and _is_parquet(f)]
    if not parquet:
        return list(bad.values())
    if (footers := _counted(spark, parquet)) is None:
        return list(bad.values())
    for file in parquet:
        told, expected = footers.get(file["file_path"]) or 0, file["record_count"]
        if told != expected:
            what = _KINDS.get(file["content"], "deletes")
            problem = (
                f"Its footer counts {told:,} rows, the manifest {expected:,}."
                if told
                else "It is not a Parquet file: its footer cannot be read."
            )
            bad[file["file_path"]] = UnreadableFile(
                path=file["file_path"], what=what, snapshot_id=file["snapshot_id"], rows=_rows(file), problem=problem,
                has_its_size=True,
            )  # fmt: skip
    return list(bad.values())


def _counted(spark: SparkSession, files: Sequence[Row]) -> ByPath[int] | None:
    """Rows that each footer counts; None where all together count what the manifests tell: to count by file, Spark
    goes through every row, which takes it many times as long."""
    read = load_files(spark, "parquet", "_nothing int", [file["file_path"] for file in files])
    if read.count() == sum(file["record_count"] for file in files):
        return None
    by_file = read.groupBy("_path").agg(F.count("*").alias("rows")).limit(len(files)).collect()
    return ByPath((unescaped(row["_path"]), int(row["rows"])) for row in by_file)


def _is_parquet(file: Row) -> bool:
    return str(file["file_format"]).upper() == "PARQUET"


def _rows(file: Row) -> int:
    """Rows that are lost with it; a delete file has none."""
    return int(file["record_count"]) if file["content"] == 0 else 0


def _missing(
    path: str, what: Literal["manifest-list", "manifest", "data", "deletes"], snapshot: SnapshotId, rows: int = 0
) -> UnreadableFile:
    return UnreadableFile(path=path, what=what, snapshot_id=snapshot, rows=rows, problem="It is missing.")


def _cut(
    path: str, what: Literal["manifest", "data", "deletes"], snapshot: SnapshotId, rows: int, size: int, expected: int
) -> UnreadableFile:
    problem = f"It has {size:,} bytes instead of {expected:,}."
    return UnreadableFile(path=path, what=what, snapshot_id=snapshot, rows=rows, problem=problem)


TASK = Task(
    name="unreadable_files",
    version=2,
    title="Unreadable files",
    question="Can storage still return every file of the window's commits, and the metadata that leads to them?",
    confirmed_means="the table lists a file that is missing or cut, so reads of it fail",
    ruled_out_means="storage returns every file of the window",
    needs=("table",),
    cost=f"name and size of the window's files and of up to {MANIFESTS_CHECKED} manifests; footers of Parquet files",
    reads="metadata",
)
_STAND = "are there, in the sizes that the table states"
_ORDER = ("metadata", "manifest-list", "manifest", "deletes", "data")


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Metadata first: what cannot be reached through a lost manifest is not counted as lost itself.

    A file is asked for its name and size; of a Parquet file the footer is read too, and the rows that it counts.
    Not looked at: pages of Parquet files, contents of Avro and ORC files, and data files that were there before the
    window. A task that reads rows names the file that it cannot decode.
    """
    table = ask.observation.table
    reach = reach_of(ask)
    looked = look_at(spark, table, reach)
    bad = sorted((*_lost_metadata(table), *looked.unreadable), key=lambda file: (_ORDER.index(file.what), file.path))
    finding = UnreadableFilesFinding(
        files_checked=looked.checked,
        count=len(bad),
        rows=sum(file.rows for file in bad),
        files=tuple(bad[:MAX_ROWS]),
        not_asked=looked.untold,
        content_checked=looked.content_checked,
        content_gone=looked.content_gone,
        commits=by_age(table, _writers(bad, "manifest", "data", "deletes"))[:COMMITS_TOLD],
        lists=by_age(table, _writers(bad, "manifest-list"))[::-1][:COMMITS_TOLD],
    )
    calm = Verdict.INCONCLUSIVE if looked.untold else Verdict.RULED_OUT
    return Answer(
        verdict=Verdict.CONFIRMED if bad else calm,
        headline=_headline(bad) if bad else _all_there(reach, looked),
        measures=(
            Measure(name="files that cannot be read", value=finding.count, unit="files"),
            Measure(name="rows in them", value=finding.rows, unit="rows"),
            Measure(name="files looked at", value=finding.files_checked, unit="files"),
        ),
        columns=("what", "file", "commit", "rows", "problem"),
        rows=tuple(
            (file.what, file.path.rsplit("/", 1)[-1], short(file.snapshot_id), f"{file.rows:,}", file.problem)
            for file in finding.files
        ),
        finding=finding,
        sources=looked.sources,
        could_not_look=(_passed_over(table, looked.untold),) if looked.untold else (),
    )


def _writers(bad: Sequence[UnreadableFile], *kinds: str) -> set[SnapshotId]:
    """Whose files of these kinds are among them."""
    return {file.snapshot_id for file in bad if file.what in kinds and file.snapshot_id is not None}


def _lost_metadata(table: TableState) -> tuple[UnreadableFile, ...]:
    if table.lost_metadata is None:
        return ()
    return (
        UnreadableFile(
            path=table.lost_metadata,
            what="metadata",
            snapshot_id=None,
            rows=0,
            problem="The catalog points at it, and it cannot be read.",
        ),
    )


def _headline(bad: list[UnreadableFile]) -> str:
    metadata = [file for file in bad if file.what not in {"data", "deletes"}]
    files = [file for file in bad if file.what in {"data", "deletes"}]
    commits = ids(tuple(sorted({file.snapshot_id for file in files if file.snapshot_id is not None})))
    told = []
    if metadata:
        first = metadata[0]
        more = f" and {len(metadata) - 1} more of its kind" if len(metadata) > 1 else ""
        told.append(f"the {first.what.replace('-', ' ')} {first.path.rsplit('/', 1)[-1]}{more}")
    if files:
        rows = sum(file.rows for file in files)
        told.append(f"{counted(len(files), 'file')} of {commits} with {counted(rows, 'row')}")
    is_one = len(bad) == 1
    text = f"{' and '.join(told)} {'is' if is_one else 'are'} missing or damaged: reads of the table fail."
    return text[0].upper() + text[1:]


def _all_there(reach: Reach, looked: Looked) -> str:
    if not reach.main:
        return f"No commit in the window; the {counted(looked.checked, 'metadata file')} of the head {_STAND}."
    footers = f"only {counted(looked.footers, 'Parquet footer was', 'Parquet footers were')}"
    read = f"{footers} read, and no row" if looked.footers else "nothing was read"
    unread = f"; {counted(looked.older, 'older manifest')} not looked at" if looked.older else ""
    return f"All {counted(looked.checked, 'file')} looked at {_STAND}; of their contents {read}{unread}."


def _passed_over(table: TableState, files: int) -> NotSeen:
    return NotSeen(
        source=f"{counted(files, 'file')} of {table.name} with {PASSED_OVER}",
        reason="Spark neither lists such files nor tells of them when it is asked.",
        remedy="Look for them with the storage's own tool.",
    )
