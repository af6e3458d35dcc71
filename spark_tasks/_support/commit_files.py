"""What each commit's own files tell, counted in its manifests: writers, ranges of time and position, and partitions in
words.
"""

import re
from collections.abc import Iterable, Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from operator import attrgetter
from uuid import UUID

from pyspark.sql import SparkSession

from bot.observation.contract import TableContract
from bot.observation.ids import SnapshotId
from bot.observation.ledger import MOST_RANGES, FileWriter, SourceRange
from bot.observation.record import Record
from bot.observation.table import MOST_PARTITIONS, PartitionField, Snapshot, TableState, TouchedPartitions
from bot.observation.table import Column as TableColumn
from spark_tasks._support.manifest_entries import NULL, Asked, Bounds, Entry, asked_of, entries_by_commit
from spark_tasks._support.manifests import own_manifests
from spark_tasks._support.source_ranges import ranges_of, told_ranges
from spark_tasks._support.storage import WRITER_IN_PATH

_WRITER = re.compile(WRITER_IN_PATH, re.ASCII)


class CommitFiles(Record):
    """What the files of one commit tell. Ranges are of the data files that it added, as Iceberg stores them; None
    where a bound is not stated, and of hidden columns."""

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
    event_from: datetime | None = None
    event_until: datetime | None = None
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
    asked, wanted = asked_of(table, contract), {int(commit.snapshot_id) for commit in commits}
    found: dict[SnapshotId, CommitFiles] = {}
    for some in entries_by_commit(spark, own_manifests(spark, commits), asked):
        own: dict[SnapshotId, list[Entry]] = {}
        for entry in some:
            if entry.snapshot_id in wanted and entry.status in {1, 2}:
                own.setdefault(SnapshotId(entry.snapshot_id), []).append(entry)
        covered = ranges_of((each for entries in own.values() for each in entries if each.is_added), table, contract)
        ranges = told_ranges(covered, table, contract, own) or {}
        found |= {of: _files(entries, asked, contract, ranges.get(of)) for of, entries in own.items()}
    return found


def _files(
    entries: Sequence[Entry], asked: Asked, contract: TableContract, ranges: tuple[SourceRange, ...] | None
) -> CommitFiles:
    """Of all entries that one commit made."""
    added, removed = ([each for each in entries if each.is_added == is_added] for is_added in (True, False))
    new, gone = ([each for each in some if each.is_data] for some in (added, removed))
    writers = writers_of(added)
    are_flinks = bool(added) and all(is_flinks(entry.path) for entry in added)
    event_from, event_until = _span([each.event for each in new], asked.event, contract)
    position_from, position_until = _span([each.position for each in new], asked.position, contract)
    return CommitFiles(
        added_files=len(new),
        added_rows=sum(each.rows for each in new),
        removed_files=len(gone),
        removed_rows=sum(each.rows for each in gone),
        added_delete_files=len(added) - len(new),
        removed_delete_files=len(removed) - len(gone),
        subtasks=tuple(sorted({each.subtask for each in writers})) if are_flinks else None,
        attempts=tuple(sorted({each.attempt for each in writers})) if are_flinks else None,
        spec_ids=tuple(sorted({each.spec_id for each in added})),
        event_from=moment_of(event_from, asked.event),
        event_until=moment_of(event_until, asked.event),
        position_from=position_from,
        position_until=position_until,
        ranges=ranges if ranges is not None and len(ranges) <= MOST_RANGES else None,
        writers=writers if are_flinks and len(writers) <= MOST_RANGES else None,
        partitions=touched_by(asked, entries),
    )


def _span(
    bounds: Iterable[Bounds], column: TableColumn | None, contract: TableContract
) -> tuple[int | None, int | None]:
    if column is None or contract.hides(column.name):
        return None, None
    known = list(bounds)
    return (
        min((each.low for each in known if each.low is not None), default=None),
        max((each.high for each in known if each.high is not None), default=None),
    )


def is_flinks(path: str) -> bool:
    """Whether the file has Flink's form of name."""
    return _WRITER.search(path) is not None


def writers_of(added: Iterable[Entry]) -> tuple[FileWriter, ...]:
    """Those whose names these files have, as far as they have Flink's form."""
    numbers: dict[str, list[int]] = {}
    for entry in added:
        if found := _WRITER.search(entry.path):
            numbers.setdefault(found[1], []).append(int(found[2]))
    writers = []
    for name, those in numbers.items():
        subtask, attempt, its_id = name.split("-", 2)
        writers.append(
            FileWriter(subtask=int(subtask), attempt=int(attempt), id=its_id, first=min(those), last=max(those))
        )
    return tuple(sorted(writers, key=attrgetter("subtask", "attempt", "first", "id")))


_DECIMAL = re.compile(r"decimal\(\d+, (\d+)\)")
_LONGEST = 60
"""Characters of one value."""


def touched_by(asked: Asked, entries: Sequence[Entry]) -> tuple[TouchedPartitions, ...]:
    """Of one commit's files, added and removed, data and deletes; without the fields that one of their specs lacks,
    because what such a file holds, or deletes, is in no partition of these."""
    specs = {each.spec_id for each in entries}
    told = []
    for place, parted in enumerate(asked.parted):
        if specs <= parted.specs:
            values = sorted({each.partition[place] for each in entries})
            kept = tuple(word_of(parted.field, value) for value in values[:MOST_PARTITIONS])
            told.append(TouchedPartitions(field=parted.field.words, values=kept, more=len(values) - len(kept)))
    return tuple(told)


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
