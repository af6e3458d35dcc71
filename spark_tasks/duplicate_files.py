"""Did a commit of the window add a data file that was live already?"""

from collections.abc import Iterable

from pyspark.sql import SparkSession

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import DuplicateFile, DuplicateFilesFinding
from bot.domain.ids import SnapshotId, short
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import TableState
from spark_tasks._live import ENTRIES_BELOW, MANIFESTS_BELOW
from spark_tasks._repeated_files import repeats_in
from spark_tasks._window import no_commits, reach_of
from spark_tasks._words import could_not, ids

TASK = Task(
    name="duplicate_files",
    title="Duplicate files",
    question="Did a commit of the window add a data file that was live already?",
    confirmed_means="the table lists one data file several times, and each row of it counts as often",
    ruled_out_means="no commit of the window added a file that was live already",
    needs=("table",),
    cost=f"manifests of the window and the newest below it: {MANIFESTS_BELOW}, or {ENTRIES_BELOW:,} entries",
    reads="metadata",
)


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Paths that the window's commits added to main and that have more than one live entry at its end.

    A path twice within one commit counts too. A copy of a file that is older than the manifests looked at is not
    seen here; `duplicate_rows` sees its rows.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its files cannot be compared.", reach)
    if not reach.main:
        return _none(0, "No commit in the window, so none can have added a file again.")
    table = ask.observation.table
    found, around = repeats_in(spark, table.by_id[reach.until], reach.main)
    compared = len(around.manifests)
    if not found.repeated:
        where = "" if around.is_whole else f" in the {counted(compared, 'manifest')} compared; older ones were not"
        headline = f"Each of {counted(found.files, 'data file')} that the window added is live once{where}."
        return _none(found.files, headline, compared)
    finding = DuplicateFilesFinding(
        files_checked=found.files,
        count=found.repeated,
        extra_rows=found.extra_rows,
        files=tuple(
            DuplicateFile(path=each.path, snapshots=_by_age(table, each.snapshots), rows=each.rows)
            for each in found.sample
        ),
        again=_by_age(table, {late for sharing in found.sharing for late in _by_age(table, sharing)[1:]}),
    )
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=_headline(finding),
        measures=(
            Measure(name="files live more than once", value=finding.count, unit="files"),
            Measure(name="extra rows", value=finding.extra_rows, unit="rows"),
            Measure(name="data files of the window", value=found.files, unit="files"),
            Measure(name="manifests compared", value=compared, unit="manifests"),
        ),
        columns=("file", "rows of one copy", "added by"),
        rows=tuple(
            (file.path.rsplit("/", 1)[-1], f"{file.rows:,}", " → ".join(short(s) for s in file.snapshots))
            for file in finding.files
        ),
        finding=finding,
        sources=_SOURCES,
    )


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


def _by_age(table: TableState, snapshots: Iterable[int]) -> tuple[SnapshotId, ...]:
    """Oldest first; one that is no longer listed is older than all that are."""
    ids = (SnapshotId(snapshot) for snapshot in snapshots)
    return tuple(sorted(ids, key=lambda snapshot: (table.place_of(snapshot), snapshot)))


def _none(files: int, headline: str, compared: int = 0) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        measures=(
            Measure(name="data files of the window", value=files, unit="files"),
            Measure(name="manifests compared", value=compared, unit="manifests"),
        ),
        finding=DuplicateFilesFinding(files_checked=files, count=0, extra_rows=0, files=(), again=()),
        sources=_SOURCES if files else (),
    )
