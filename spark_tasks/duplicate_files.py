"""Did a commit of the window add a data file that was live already?"""

from collections.abc import Iterable, Sequence
from itertools import chain

from pyspark.sql import SparkSession

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import DuplicateFile, DuplicateFilesFinding
from bot.observation.ids import short
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifest_entries import Entry, asked_of, entries_by_commit
from spark_tasks._support.reading import ENTRIES_BELOW, MANIFESTS_BELOW, Around, manifests_around
from spark_tasks._support.window import by_age, reach_of
from spark_tasks._support.words import MAX_ROWS, answers, ids


def repeats_in(
    spark: SparkSession, ask: Ask, at: Snapshot, window: Sequence[Snapshot]
) -> tuple[DuplicateFilesFinding, Around]:
    """What is live at `at` more than once and was added by one of the window's commits, and the manifests in which
    copies were looked for."""
    table, around = ask.observation.table, manifests_around(spark, at, window)
    entries = chain.from_iterable(entries_by_commit(spark, around.manifests, asked_of(table, ask.contract)))
    return repeats_among(entries, window, table), around


def repeats_among(entries: Iterable[Entry], window: Sequence[Snapshot], table: TableState) -> DuplicateFilesFinding:
    """Live data files among these that a commit of the window added; named are those that do the largest harm."""
    inside, by_path = {int(commit.snapshot_id) for commit in window}, dict[str, list[Entry]]()
    for entry in entries:
        if entry.status != 2 and entry.is_data:
            by_path.setdefault(entry.path, []).append(entry)
    of_window = [copies for copies in by_path.values() if any(copy.snapshot_id in inside for copy in copies)]
    found = [
        DuplicateFile(
            path=copies[0].path,
            snapshots=by_age(table, (copy.snapshot_id for copy in copies)),
            rows=max(copy.rows for copy in copies),
        )
        for copies in of_window
        if len(copies) > 1
    ]
    found.sort(key=lambda each: (-_extra(each), each.path))
    return DuplicateFilesFinding(
        files_checked=len(of_window),
        count=len(found),
        extra_rows=sum(map(_extra, found)),
        files=tuple(found[:MAX_ROWS]),
        again=by_age(table, {late for each in found for late in each.snapshots[1:]}),
    )


def _extra(file: DuplicateFile) -> int:
    return (len(file.snapshots) - 1) * file.rows


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


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Paths that the window's commits added to main and that have more than one live entry at its end.

    A path twice within one commit counts too. A copy of a file that is older than the manifests looked at is not
    seen here; `duplicate_rows` sees its rows.
    """
    reach = reach_of(ask)
    if not reach.main:
        nothing = DuplicateFilesFinding(files_checked=0, count=0, extra_rows=0, files=(), again=())
        said = "No commit in the window, so none can have added a file again."
        return Answer(verdict=Verdict.RULED_OUT, headline=said, finding=nothing)
    finding, around = repeats_in(spark, ask, ask.observation.table.by_id[reach.until], reach.main)
    compared = len(around.manifests)
    where = "" if around.is_whole else f" in the {counted(compared, 'manifest')} compared; older ones were not"
    calm = f"Each of {counted(finding.files_checked, 'data file')} that the window added is live once{where}."
    return Answer(
        verdict=Verdict.CONFIRMED if finding.count else Verdict.RULED_OUT,
        headline=_headline(finding) if finding.count else calm,
        measures=(
            Measure(name="files live more than once", value=finding.count, unit="files"),
            Measure(name="extra rows", value=finding.extra_rows, unit="rows"),
            Measure(name="data files of the window", value=finding.files_checked, unit="files"),
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
