"""Can storage still give every file that the window's commits brought, and the metadata that leads to them?"""

from pyspark.sql import SparkSession

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import COMMITS_TOLD, UnreadableFile, UnreadableFilesFinding
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import TableState
from spark_tasks._named_files import MANIFESTS_CHECKED, Looked, look_at
from spark_tasks._storage import PASSED_OVER
from spark_tasks._window import Reach, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, cell, could_not, ids

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


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Metadata first: what cannot be reached through a lost manifest is not counted as lost itself.

    A file is asked for its name and size; of a Parquet file the footer is read too, and the rows that it counts.
    Not looked at: pages of Parquet files, contents of Avro and ORC files, and data files that were there before the
    window. A task that reads rows names the file that it cannot decode.
    """
    table = ask.observation.table
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so nothing can be said of its files.", reach)
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
        commits=_commits_of(table, bad, "manifest", "data", "deletes")[:COMMITS_TOLD],
        lists=_commits_of(table, bad, "manifest-list")[::-1][:COMMITS_TOLD],
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
            (file.what, file.path.rsplit("/", 1)[-1], _commit(file.snapshot_id), f"{file.rows:,}", file.problem)
            for file in finding.files
        ),
        finding=finding,
        sources=looked.sources,
        could_not_look=(_passed_over(table, looked.untold),) if looked.untold else (),
    )


def _commits_of(table: TableState, bad: list[UnreadableFile], *kinds: str) -> tuple[SnapshotId, ...]:
    """Whose files of these kinds are among them, oldest first; what is no longer listed is older than all that is."""
    found = {file.snapshot_id for file in bad if file.what in kinds and file.snapshot_id is not None}
    return tuple(sorted(found, key=lambda each: (table.place_of(each), each)))


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


def _commit(snapshot: SnapshotId | None) -> str:
    return cell(snapshot) if snapshot is None else short(snapshot)
