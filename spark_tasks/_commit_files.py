"""What each commit's own files tell: counts, writers, and the range of time and position they cover.

Which partitions a commit touched, in words, out of the values that its manifests hold.
"""

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from uuid import UUID

from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.ledger import MOST_RANGES, FileWriter, SourceRange
from bot.domain.record import Record
from bot.domain.table import MOST_PARTITIONS, PartitionField, Snapshot, TableState, TouchedPartitions
from bot.domain.table import Column as TableColumn
from spark_tasks._entry_counts import Counts, Touched, written_by_commits
from spark_tasks._parted import NULL, Parted, parted_by
from spark_tasks._source_ranges import told_ranges

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
