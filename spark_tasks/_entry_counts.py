"""Entries of manifests, counted by commit and kind: here where there are few, by Spark where there are many."""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from operator import attrgetter
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.ledger import MOST_RANGES, FileWriter
from bot.domain.table import MOST_PARTITIONS, Snapshot, TableState
from bot.domain.table import Column as TableColumn
from spark_tasks._bounds import NULLS, range_columns, with_bounds
from spark_tasks._covered import Covered
from spark_tasks._few_entries import Entry, few_entries
from spark_tasks._manifests import own_manifests
from spark_tasks._parted import Parted, stored_value, struct_of
from spark_tasks._reading import entries_of, own_entries
from spark_tasks._source_ranges import ranges_here, ranges_of, source_columns
from spark_tasks._spelling import WRITER_IN_PATH

_KINDS_OF_ENTRY = 4
"""Added and removed, data and deletes."""
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
    covered: Covered | None
    """None: more than `MAX_RANGES` ranges."""
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
    few = few_entries(spark, manifests, (position, event, source_columns(table, contract)[2]), parted)
    if few is not None:
        wanted = {int(commit.snapshot_id) for commit in commits}
        own = [each for each in few if each.snapshot_id in wanted and each.status in {1, 2}]
        added = [each for each in own if each.status == 1]
        return Written(counted_here(own), ranges_here(added, table, contract), writers_here(added))
    read = own_entries(entries_of(spark, manifests, bounds=True, more={**struct_of(parted), **NULLS}), commits)
    own_ones = read.persist()
    try:
        rows = counted_by_spark(own_ones, event, position, parted).limit(len(commits) * _KINDS_OF_ENTRY).collect()
        counts = [Counts(*row)._replace(partitions=tuple(Touched(*each) for each in row["partitions"])) for row in rows]
        added_ones = own_ones.where("status = 1")
        return Written(counts, ranges_of(added_ones, table, contract), _writers_by_spark(added_ones, len(commits)))
    finally:
        own_ones.unpersist()


def is_flinks(path: str) -> bool:
    """Whether the file has Flink's form of name."""
    return _WRITER.search(path) is not None


def writers_here(added: Iterable[Entry]) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    """Commit -> those whose names its files have; as `Written` has them."""
    numbers: dict[tuple[SnapshotId, str], list[int]] = {}
    for entry in added:
        if found := _WRITER.search(entry.path):
            numbers.setdefault((SnapshotId(entry.snapshot_id), found[1]), []).append(int(found[2]))
    return _by_commit((commit, name, min(those), max(those)) for (commit, name), those in numbers.items())


def _writers_by_spark(added: DataFrame, commits: int) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    """Reads. At most `MOST_RANGES` of each commit come here, and one more that says that there are more."""
    name, number = (F.regexp_extract("file_path", WRITER_IN_PATH, group) for group in (1, 2))
    named = added.select("snapshot_id", name.alias("name"), number.cast("bigint").alias("number")).where("name != ''")
    numbers = named.groupBy("snapshot_id", "name").agg(F.min("number").alias("first"), F.max("number").alias("last"))
    some = numbers.groupBy("snapshot_id").agg(
        F.slice(F.collect_list(F.struct("name", "first", "last")), 1, MOST_RANGES + 1).alias("some")
    )
    rows = some.limit(commits).collect()
    return _by_commit((SnapshotId(row["snapshot_id"]), *each) for row in rows for each in row["some"])


def _by_commit(found: Iterable[tuple[SnapshotId, str, int, int]]) -> dict[SnapshotId, tuple[FileWriter, ...]]:
    of: dict[SnapshotId, list[FileWriter]] = {}
    for commit, name, first, last in found:
        subtask, attempt, its_id = name.split("-", 2)
        writer = FileWriter(subtask=int(subtask), attempt=int(attempt), id=its_id, first=first, last=last)
        of.setdefault(commit, []).append(writer)
    order = attrgetter("subtask", "attempt", "first", "id")
    return {commit: tuple(sorted(some, key=order)) for commit, some in of.items() if len(some) <= MOST_RANGES}


def counted_here(entries: Iterable[Entry]) -> list[Counts]:
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


def counted_by_spark(
    read: DataFrame, event: TableColumn | None, position: TableColumn | None, parted: Sequence[Parted] = ()
) -> DataFrame:
    """Shape: the fields of `Counts`; one row per commit and kind of entry. Lazy."""
    writer = F.substring_index(F.regexp_extract("file_path", WRITER_IN_PATH, 1), "-", 2)
    ranges = ("event_from", "event_until", "position_from", "position_until")
    fields = {f"parted_{number}": stored_value(each, F.col("partition")) for number, each in enumerate(parted)}
    placed = with_bounds(read, {"event": event, "position": position}).select(
        "snapshot_id",
        (F.col("status") == 1).alias("is_added"),
        (F.col("content") == 0).alias("is_data"),
        "record_count",
        "spec_id",
        F.nullif(writer, F.lit("")).alias("writer"),
        *ranges,
        *(value.alias(name) for name, value in fields.items()),
    )
    counted = placed.groupBy("snapshot_id", "is_added", "is_data").agg(
        F.count("*").alias("files"),
        F.sum("record_count").alias("rows"),
        F.count("writer").alias("named"),
        F.collect_set("writer").alias("writers"),
        F.collect_set("spec_id").alias("spec_ids"),
        *((F.min if name.endswith("_from") else F.max)(name).alias(name) for name in ranges),
        *(F.collect_set(name).alias(name) for name in fields),
    )
    some = [F.struct(F.slice(F.array_sort(name), 1, MOST_PARTITIONS), F.size(name)) for name in fields]
    return counted.withColumn("partitions", F.array(*some)).drop(*fields)
