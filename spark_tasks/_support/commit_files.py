"""What each commit's own files tell, counted in its manifests: writers, ranges of time and position, and partitions in
words.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from operator import attrgetter
from typing import NamedTuple
from uuid import UUID

from pyspark.sql import SparkSession

from bot.observation.contract import TableContract
from bot.observation.ids import SnapshotId
from bot.observation.ledger import MOST_RANGES, FileWriter, SourceRange
from bot.observation.record import Record
from bot.observation.table import MOST_PARTITIONS, PartitionField, Snapshot, TableState, TouchedPartitions
from bot.observation.table import Column as TableColumn
from spark_tasks._support.few_entries import NULL, Entry, Parted, entries_by_commit, parted_by, range_columns
from spark_tasks._support.manifests import own_manifests
from spark_tasks._support.source_ranges import Covered, ranges_of, source_columns, told_ranges
from spark_tasks._support.storage import WRITER_IN_PATH

_WRITER = re.compile(WRITER_IN_PATH, re.ASCII)


class Touched(NamedTuple):
    """Partitions of some files, by one field; values as they are stored."""

    values: Sequence[str]
    """The first `MOST_PARTITIONS`, sorted as text."""
    many: int


class Counts(NamedTuple):
    """Of all entries of one kind that one commit made."""

    snapshot_id: int
    is_added: bool
    is_data: bool
    files: int
    rows: int
    named: int
    """Files with Flink's name."""
    writers: Sequence[str]
    """`subtask-attempt`, each once."""
    spec_ids: Sequence[int]
    event_from: int | None
    event_until: int | None
    position_from: int | None
    position_until: int | None
    partitions: Sequence[Touched]
    """Of each field asked about. The files of a spec without it count, too: `spec_ids` says whether there are any."""


class Written(NamedTuple):
    """By some commits together."""

    counts: list[Counts]
    covered: Covered
    writers: Mapping[SnapshotId, tuple[FileWriter, ...]]
    """Whose names the files that each added have, as far as they have Flink's form; not of a commit with more than
    `MOST_RANGES`."""


def written_by_commits(
    spark: SparkSession,
    table: TableState,
    contract: TableContract,
    commits: Sequence[Snapshot],
    parted: Sequence[Parted] = (),
) -> Written:
    """What these commits themselves added and removed. Reads their manifest lists and the manifests they wrote."""
    event, position = range_columns(table, contract)
    manifests = own_manifests(spark, commits)
    counts: list[Counts] = []
    covered = Covered()
    writers: dict[SnapshotId, tuple[FileWriter, ...]] = {}
    wanted = {int(commit.snapshot_id) for commit in commits}
    for some in entries_by_commit(spark, manifests, (position, event, source_columns(table, contract)[2]), parted):
        own = [each for each in some if each.snapshot_id in wanted and each.status in {1, 2}]
        added = [each for each in own if each.status == 1]
        counts += counts_of(own)
        covered += ranges_of(added, table, contract)
        writers |= writers_of(added)
    return Written(counts, covered, writers)


def is_flinks(path: str) -> bool:
    """Whether the file has Flink's form of name."""
    return _WRITER.search(path) is not None


def writers_of(added: Iterable[Entry]) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    """Commit -> those whose names its files have; as `Written` has them."""
    numbers: dict[tuple[SnapshotId, str], list[int]] = {}
    for entry in added:
        if found := _WRITER.search(entry.path):
            numbers.setdefault((SnapshotId(entry.snapshot_id), found[1]), []).append(int(found[2]))
    return _by_commit((commit, name, min(those), max(those)) for (commit, name), those in numbers.items())


def _by_commit(found: Iterable[tuple[SnapshotId, str, int, int]]) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    of: dict[SnapshotId, list[FileWriter]] = {}
    for commit, name, first, last in found:
        subtask, attempt, its_id = name.split("-", 2)
        writer = FileWriter(subtask=int(subtask), attempt=int(attempt), id=its_id, first=first, last=last)
        of.setdefault(commit, []).append(writer)
    order = attrgetter("subtask", "attempt", "first", "id")
    return {commit: tuple(sorted(some, key=order)) for commit, some in of.items() if len(some) <= MOST_RANGES}


def counts_of(entries: Iterable[Entry]) -> list[Counts]:
    """Entries with the bounds of position and event time."""
    alike: dict[tuple[int, bool, bool], list[Entry]] = {}
    for entry in entries:
        alike.setdefault((entry.snapshot_id, entry.status == 1, entry.content == 0), []).append(entry)
    return [_counted(*kind, some) for kind, some in alike.items()]


def _counted(snapshot_id: int, is_added: bool, is_data: bool, entries: Sequence[Entry]) -> Counts:
    writers = [_short(found[1]) for entry in entries if (found := _WRITER.search(entry.path))]
    position, event = zip(*(entry.edges[:2] for entry in entries), strict=True)
    partitions = zip(*(entry.partition for entry in entries), strict=True)
    return Counts(
        snapshot_id=snapshot_id,
        is_added=is_added,
        is_data=is_data,
        files=len(entries),
        rows=sum(entry.rows for entry in entries),
        named=len(writers),
        writers=sorted(set(writers)),
        spec_ids=sorted({entry.spec_id for entry in entries}),
        event_from=min((edge.low for edge in event if edge.low is not None), default=None),
        event_until=max((edge.high for edge in event if edge.high is not None), default=None),
        position_from=min((edge.low for edge in position if edge.low is not None), default=None),
        position_until=max((edge.high for edge in position if edge.high is not None), default=None),
        partitions=tuple(_touched(set(values)) for values in partitions),
    )


def _short(writer: str) -> str:
    """`subtask-attempt`."""
    return "-".join(writer.split("-", 2)[:2])


def _touched(values: Collection[str]) -> Touched:
    return Touched(sorted(values)[:MOST_PARTITIONS], len(values))


_DECIMAL = re.compile(r"decimal\(\d+, (\d+)\)")
_LONGEST = 60
"""Characters of one value."""


def touched_by(parted: Sequence[Parted], kinds: Sequence[Counts]) -> tuple[TouchedPartitions, ...]:
    """Of one commit's files, added and removed, data and deletes; without the fields that one of their specs lacks,
    because what such a file holds, or deletes, is in no partition of these."""
    specs = {spec for each in kinds for spec in each.spec_ids}
    together = zip(*(each.partitions for each in kinds), strict=True)
    return tuple(
        _in_words(each.field, found) for each, found in zip(parted, together, strict=True) if specs <= each.specs
    )


def _in_words(field: PartitionField, found: Sequence[Touched]) -> TouchedPartitions:
    """`more` is then at least so many, where it counts any."""
    values = sorted({value for some in found for value in some.values})
    many = max(len(values), *(some.many for some in found))
    kept = values[:MOST_PARTITIONS]
    return TouchedPartitions(
        field=field.words, values=tuple(word_of(field, value) for value in kept), more=many - len(kept)
    )


def word_of(field: PartitionField, stored: str) -> str:
    """A stored value as engines show it; what lies outside of the calendar stays a number."""
    if stored == NULL:
        return "null"
    try:
        told = _told(field, stored)
    except (OverflowError, ValueError):
        told = stored
    return told if len(told) <= _LONGEST else f"{told[: _LONGEST - 1]}…"


def _told(field: PartitionField, stored: str) -> str:
    match field.transform:
        case "year":
            return str(1970 + int(stored))
        case "month":
            years, month = divmod(int(stored), 12)
            return f"{1970 + years}-{month + 1:02d}"
        case "day":
            return f"{date(1970, 1, 1) + timedelta(days=int(stored))}"
        case "hour":
            return f"{_EPOCH + timedelta(hours=int(stored)):%Y-%m-%d-%H}"
        case "bucket":
            return stored
        case _:
            return _plain(field.type, stored)


def _plain(kind: str, stored: str) -> str:
    """A column's own value, whole or cut."""
    match kind:
        case "date":
            return f"{date(1970, 1, 1) + timedelta(days=int(stored))}"
        case "time":
            return f"{(datetime.combine(date(1970, 1, 1), time()) + timedelta(microseconds=int(stored))).time()}"
        case "timestamp" | "timestamptz" | "timestamp_ns" | "timestamptz_ns":
            micros = int(stored) // 1000 if kind.endswith("_ns") else int(stored)
            return f"{_EPOCH + timedelta(microseconds=micros):%Y-%m-%d %H:%M:%S.%f}".removesuffix(".000000")
        case "uuid":
            return str(UUID(hex=stored))
    found = _DECIMAL.fullmatch(kind)
    if found is None:
        return stored
    return str(Decimal(int.from_bytes(bytes.fromhex(stored), "big", signed=True)).scaleb(-int(found[1])))


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class CommitFiles(Record):
    """What the files of one commit tell. Ranges are of the data files that it added, as Iceberg stores them; None
    where a bound is not stated."""

    added_files: int = 0
    added_rows: int = 0
    removed_files: int = 0
    removed_rows: int = 0
    added_delete_files: int = 0
    removed_delete_files: int = 0
    subtasks: tuple[int, ...] | None = None
    """Of the files added; None if it added none, or one with another engine's name."""
    attempts: tuple[int, ...] | None = None
    spec_ids: tuple[int, ...] = ()
    event_from: int | None = None
    event_until: int | None = None
    position_from: int | None = None
    position_until: int | None = None
    ranges: tuple[SourceRange, ...] | None = None
    writers: tuple[FileWriter, ...] | None = None
    partitions: tuple[TouchedPartitions, ...] = ()
    """As the ledger's row has them, and those above."""


def files_by_commit(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> dict[SnapshotId, CommitFiles]:
    """Commits that added or removed files. Reads the manifests that they wrote; nothing without commits."""
    if not commits:
        return {}
    by_commit: dict[SnapshotId, list[Counts]] = {}
    parted = parted_by(table, contract)
    counts, covered, writers = written_by_commits(spark, table, contract, commits, parted)
    for each in counts:
        by_commit.setdefault(SnapshotId(each.snapshot_id), []).append(each)
    ranges = (told_ranges(covered, table, contract, by_commit) if covered is not None else None) or {}
    return {of: _files(kinds, parted, ranges.get(of), writers.get(of)) for of, kinds in by_commit.items()}


def _files(
    kinds: Sequence[Counts],
    parted: Sequence[Parted],
    ranges: tuple[SourceRange, ...] | None,
    named: tuple[FileWriter, ...] | None,
) -> CommitFiles:
    told = {(each.is_added, each.is_data): each for each in kinds}
    added = [each for each in kinds if each.is_added]
    new, gone = told.get((True, True)), told.get((False, True))
    new_deletes, gone_deletes = told.get((True, False)), told.get((False, False))
    is_flinks = bool(added) and all(each.named == each.files for each in added)
    writers = {tuple(map(int, writer.split("-"))) for each in added for writer in each.writers}
    return CommitFiles(
        added_files=new.files if new else 0,
        added_rows=new.rows if new else 0,
        removed_files=gone.files if gone else 0,
        removed_rows=gone.rows if gone else 0,
        added_delete_files=new_deletes.files if new_deletes else 0,
        removed_delete_files=gone_deletes.files if gone_deletes else 0,
        subtasks=tuple(sorted({subtask for subtask, _ in writers})) if is_flinks else None,
        attempts=tuple(sorted({attempt for _, attempt in writers})) if is_flinks else None,
        spec_ids=tuple(sorted({spec for each in added for spec in each.spec_ids})),
        event_from=new.event_from if new else None,
        event_until=new.event_until if new else None,
        position_from=new.position_from if new else None,
        position_until=new.position_until if new else None,
        ranges=ranges if ranges is not None and len(ranges) <= MOST_RANGES else None,
        writers=named if is_flinks else None,
        partitions=touched_by(parted, kinds),
    )


def moment_of(bound: int | None, column: TableColumn | None) -> datetime | None:
    """A bound of a time column as a moment in UTC; None where it lies outside of the calendar."""
    if bound is None or column is None:
        return None
    try:
        if column.type == "date":
            return datetime.combine(date(1970, 1, 1) + timedelta(days=bound), time(), tzinfo=UTC)
        return _EPOCH + timedelta(microseconds=bound // 1000 if column.type.endswith("_ns") else bound)
    except OverflowError:
        return None
