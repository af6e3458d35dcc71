"""Did a commit of the window add a data file that was live already?"""

from collections.abc import Iterable, Sequence
from itertools import chain
from typing import NamedTuple

from pyspark.sql import SparkSession

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import DuplicateFile, DuplicateFilesFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.few_entries import Entry, entries_by_commit
from spark_tasks._support.reading import ENTRIES_BELOW, MANIFESTS_BELOW, Around, manifests_around
from spark_tasks._support.window import no_commits, reach_of
from spark_tasks._support.words import MAX_ROWS, could_not, ids


class Repeated(NamedTuple):
    """One path and all its live entries."""

    path: str
    snapshots: tuple[int, ...]
    """The commits that added them, in no order; one that added it twice is there twice."""
    rows: int
    """Of one copy."""

    @property
    def extra(self) -> int:
        return (len(self.snapshots) - 1) * self.rows


class Repeats(NamedTuple):
    """What is live at the window's end of the files that its commits added to main."""

    files: int
    """Data files that the window added, each path once."""
    repeated: int
    """Of these: live more than once."""
    extra_rows: int
    sharing: frozenset[tuple[int, ...]]
    """Sets of commits that share a file."""
    sample: tuple[Repeated, ...]
    """At most 20, the largest harm first."""


def repeats_in(spark: SparkSession, at: Snapshot, window: Sequence[Snapshot]) -> tuple[Repeats, Around]:
    """What is live at `at` more than once and was added by one of the window's commits, and the manifests in which
    copies were looked for."""
    around = manifests_around(spark, at, window)
    return repeats_among(chain.from_iterable(entries_by_commit(spark, around.manifests)), window), around


def repeats_among(entries: Iterable[Entry], window: Sequence[Snapshot]) -> Repeats:
    """Live data files among these."""
    inside, by_path = {int(commit.snapshot_id) for commit in window}, dict[str, list[tuple[int, int]]]()
    for entry in entries:
        if entry.status != 2 and entry.content == 0:
            by_path.setdefault(entry.path, []).append((entry.snapshot_id, entry.rows))
    of_window = {path: copies for path, copies in by_path.items() if any(commit in inside for commit, _ in copies)}
    found = [
        Repeated(path, tuple(sorted(commit for commit, _ in copies)), max(rows for _, rows in copies))
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
