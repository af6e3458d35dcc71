"""Event times of what commits brought, and the highest one that was there before each.

Some lie in the future of their commit: a clock is wrong, or the time is only planned. Commits that put rows in the
place of others, by whole files or by marking single rows as deleted, are told apart: a delete, an update and a merge
that copy rows, and an overwrite that brings new ones, look alike in their summaries.
"""

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import NamedTuple

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Ask
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Column as TableColumn
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.data_files import COMMIT, PATH, data_added, files_of, rows_in
from spark_tasks._support.manifest_entries import Entry
from spark_tasks._support.reading import column
from spark_tasks._support.words import inconclusive, require_columns


class Timed(NamedTuple):
    """A data file that a commit added, with its event times in microseconds since 1970; None: not known. One that lies
    in the future of its commit is no high: a wrong clock would make all later events seem old."""

    file: Entry
    low: int | None
    high: int | None

    @property
    def snapshot_id(self) -> SnapshotId:
        return SnapshotId(self.file.snapshot_id)

    @property
    def rows(self) -> int:
        return self.file.rows

    @property
    def is_ahead(self) -> bool:
        """Whether every event lies in the future of its commit."""
        return self.high is None and self.low is not None


def overwrites(commit: Snapshot) -> bool:
    """Whether it removed files, or rows by their places in files that stay, and added rows that may be new."""
    said = commit.summary.get("added-records")
    has_rows = said != "0" if said is not None else commit.counted("added-data-files") > 0
    is_taking = commit.counted("deleted-data-files") > 0 or _deletes_older_rows(commit)
    return commit.operation != "replace" and is_taking and has_rows


def brings_new_rows(commit: Snapshot) -> bool:
    """Whether it brought rows, and none of them in the place of another."""
    return brings_rows(commit) and not overwrites(commit)


def mixes(commits: Iterable[Snapshot]) -> tuple[NotSeen, ...]:
    """A NotSeen for each commit that overwrites."""
    return tuple(
        NotSeen(
            source=f"the new rows of commit {short(commit.snapshot_id)}",
            reason=f"It put {_rows(commit)} in the place of {_replaced(commit)}: which are new and which are copied is "
            "not known.",
            remedy="Ask its writer what it overwrote or merged; if it only deleted or changed rows, it brought none.",
        )
        for commit in commits
        if overwrites(commit)
    )


def with_overwrites(table: TableState, at: SnapshotId | None, count: int) -> tuple[Snapshot, ...]:
    """The newest commits at or below `at` that brought rows, and the newest that overwrite, not below these: at most
    `count` of each, oldest first."""
    found: list[Snapshot] = []
    plain = rewriting = 0
    for commit in table.ancestors(at):
        if plain == count:
            break
        if brings_new_rows(commit):
            plain += 1
            found.append(commit)
        elif overwrites(commit) and rewriting < count:
            rewriting += 1
            found.append(commit)
    return tuple(reversed(found))


def bringing(commits: Sequence[Snapshot], files: Sequence[Timed]) -> tuple[Snapshot, ...]:
    """Those of `with_overwrites` that surely brought rows: of the ones that overwrite, which replaced whole partitions,
    added more than they removed, or hold an event that is newer than any before them."""
    grouped, marks = by_commit(files), marks_before(commits, files, None)

    def has_newer_event(commit: Snapshot) -> bool:
        mark, top = marks.get(commit.snapshot_id), highest(grouped.get(commit.snapshot_id, ()))
        return mark is not None and top is not None and top > mark

    return tuple(each for each in commits if brings_new_rows(each) or _adds_more(each) or has_newer_event(each))


def _adds_more(commit: Snapshot) -> bool:
    """As its summary tells."""
    is_of_partitions = commit.summary.get("replace-partitions") == "true"
    return is_of_partitions or commit.counted("added-records") > commit.rows_taken_out


def _deletes_older_rows(commit: Snapshot) -> bool:
    """Whether it deletes by place what it did not add: Spark and Trino do, in an update or a merge on read. Of Flink,
    whose upserts delete by key, such a place is in a file of the same commit."""
    is_upsert = commit.engine == "flink" or commit.counted("added-equality-deletes") > 0
    return not is_upsert and commit.rows_taken_out > 0


def _replaced(commit: Snapshot) -> str:
    files = commit.counted("deleted-data-files")
    return counted(files, "file") if files else counted(commit.rows_taken_out, "row")


def _rows(commit: Snapshot) -> str:
    said = commit.summary.get("added-records", "")
    return counted(int(said), "row") if said.isdigit() else "rows"


_CLOCKS = timedelta(minutes=5)
"""How far the clocks of the source and of the committer may be apart."""
_ZONES = timedelta(hours=14)
"""How far local time may be ahead of UTC, where the column's type leaves out whose time it is."""
_START = datetime(1970, 1, 1, tzinfo=UTC)


def latest_of(commits: Iterable[Snapshot], event: TableColumn) -> dict[SnapshotId, int]:
    """Commit -> the latest time, in microseconds since 1970, at which what it brought can have happened."""
    allowed = _CLOCKS if event.type == "timestamptz" else _CLOCKS + _ZONES
    return {each.snapshot_id: (each.committed_at + allowed - _START) // timedelta(microseconds=1) for each in commits}


def of_the_future(ask: Ask, files: Sequence[Timed]) -> tuple[NotSeen, ...]:
    """A NotSeen where files are of such events alone, so that they tell nothing of when the others happened."""
    ahead = [file for file in files if file.is_ahead]
    if not ahead:
        return ()
    name = ask.contract.event_time
    has = "has" if len(ahead) == 1 else "have"
    return (
        NotSeen(
            source=f"column {name} of {ask.observation.table.name}",
            reason=f"{counted(len(ahead), 'file')} {has} no event but such that lie in the future of their commit: "
            "when these happened is not known.",
            remedy="Look at the clock and the time zone of what writes them; where such times are rightly planned, "
            "name another column as event_time: one that tells when the event happened.",
        ),
    )


BELOW = 20
"""Commits below the window in which the highest event time is looked for: a stream's newest event is among its
newest commits, and a look through all of them would cost what the table costs."""
MICROS = 1_000_000
_TIMES = frozenset({"timestamp", "timestamptz"})


def event_column(ask: Ask) -> TableColumn:
    """The contract's column of the event's time. Raises Inconclusive where there is none that can be compared."""
    contract, table = ask.contract, ask.observation.table
    name = contract.event_time
    if name is None:
        raise inconclusive(
            source="contract.event_time",
            reason="The contract names no column that holds the time of the event.",
            remedy="Name one as event_time in the table's contract, if the rows carry it.",
        )
    require_columns(ask, name)
    found = next(each for each in table.columns if each.name == name)
    unfit = "is hidden, and an answer would be made of its values" if contract.hides(name) else None
    if found.type not in _TIMES:
        unfit = f"holds {found.type}, and no time"
    if unfit is not None:
        raise inconclusive(
            source=f"column {name} of {table.name}",
            reason=f"Column {name} {unfit}.",
            remedy="Name another column as event_time, or none: commit_every tells how old a table may be, too.",
        )
    return found


def micros(event: TableColumn) -> Column:
    """A row's event time in microseconds since 1970 (UTC), as the bounds of files tell it."""
    return F.unix_micros(column(event.name).cast("timestamp"))


def timed_files(spark: SparkSession, ask: Ask, commits: Sequence[Snapshot], event: TableColumn) -> list[Timed]:
    """The data files that these commits added.

    Cost: manifests; and the column of those files whose bounds the writer left out, or reach into the future.
    """
    table, latest = ask.observation.table, latest_of(commits, event)
    files = data_added(files_of(spark, table, ask.contract, commits))
    told = [Timed(file, file.event.low, file.event.high) for file in files]
    unsure = [f.file for f in told if f.rows and (f.high is None or f.high > latest[f.snapshot_id])]
    if not unsure:
        return told
    limits = spark.createDataFrame([(int(each), limit) for each, limit in latest.items()], "of bigint, latest bigint")
    rows = rows_in(spark, table, unsure, [event.name]).select(COMMIT, PATH, micros(event).alias("at"))
    read = rows.join(F.broadcast(limits), on=F.col(COMMIT) == F.col("of"), how="inner")
    high = F.max(F.when(F.col("at") <= F.col("latest"), F.col("at")))
    edges = read.groupBy(COMMIT, PATH).agg(F.min("at").alias("low"), high.alias("high"))
    ends: dict[tuple[int, str], tuple[int | None, int | None]] = {
        (file.snapshot_id, file.path): (file.event.low, None) for file in unsure
    }
    ends |= {(r[COMMIT], r[PATH]): (r["low"], r["high"]) for r in edges.limit(len(unsure)).collect()}
    return [Timed(each.file, *ends.get((each.file.snapshot_id, each.file.path), each[1:])) for each in told]


def newest_with_rows(table: TableState, at: SnapshotId | None, count: int) -> tuple[Snapshot, ...]:
    """The newest commits at or below `at` that brought rows, oldest first; compactions bring none."""
    return tuple(islice(filter(brings_rows, table.ancestors(at)), count))[::-1]


def brings_rows(commit: Snapshot) -> bool:
    """Whether it added rows, as far as its summary tells: a writer that says nothing of rows may have.

    A commit that rewrote files (delete or merge, copy on write) mostly copies; see `_overwriting`.
    """
    told = commit.summary.get("added-records")
    is_rewrite = commit.operation in {"replace", "delete"} or commit.counted("deleted-data-files") > 0
    return not is_rewrite and told != "0" and not _is_empty(commit)


def by_commit(files: Iterable[Timed]) -> dict[SnapshotId, list[Timed]]:
    grouped: dict[SnapshotId, list[Timed]] = {}
    for file in files:
        grouped.setdefault(file.snapshot_id, []).append(file)
    return grouped


def highest(files: Iterable[Timed]) -> int | None:
    return max((file.high for file in files if file.high is not None), default=None)


def marks_before(commits: Sequence[Snapshot], files: Iterable[Timed], start: int | None) -> dict[SnapshotId, int]:
    """Commit -> the highest event time in all commits before it; without those that have nothing before them."""
    grouped = by_commit(files)
    marks: dict[SnapshotId, int] = {}
    mark = start
    for commit in commits:
        if mark is not None:
            marks[commit.snapshot_id] = mark
        top = highest(grouped.get(commit.snapshot_id, ()))
        mark = top if mark is None else max(mark, mark if top is None else top)
    return marks


def _is_empty(commit: Snapshot) -> bool:
    """Flink's empty commits say neither of rows nor of files that they added any."""
    return commit.job_id is not None and not {"added-records", "added-data-files"} & commit.summary.keys()
