"""Entries of manifests, counted by commit and kind: here where there are few, by Spark where there are many."""

import re
from collections.abc import Collection, Iterable, Sequence
from typing import NamedTuple

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.table import MOST_PARTITIONS, Snapshot
from bot.domain.table import Column as TableColumn
from spark_tasks._bounds import with_bounds
from spark_tasks._few_entries import Entry, few_entries
from spark_tasks._manifests import own_manifests
from spark_tasks._parted import Parted, stored_value, struct_of
from spark_tasks._reading import entries_of, own_entries
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


def counts_of(
    spark: SparkSession,
    commits: Sequence[Snapshot],
    event: TableColumn | None,
    position: TableColumn | None,
    parted: Sequence[Parted] = (),
) -> list[Counts]:
    """What these commits themselves added and removed. Reads their manifest lists and the manifests they wrote."""
    manifests = own_manifests(spark, commits)
    few = few_entries(spark, manifests, (event, position), parted)
    if few is not None:
        wanted = {int(commit.snapshot_id) for commit in commits}
        return counted_here(each for each in few if each.snapshot_id in wanted and each.status in {1, 2})
    read = own_entries(entries_of(spark, manifests, bounds=True, more=struct_of(parted)), commits)
    rows = counted_by_spark(read, event, position, parted).limit(len(commits) * _KINDS_OF_ENTRY).collect()
    return [Counts(*row)._replace(partitions=tuple(Touched(*each) for each in row["partitions"])) for row in rows]


def counted_here(entries: Iterable[Entry]) -> list[Counts]:
    """Entries with the bounds of event time and position."""
    alike: dict[tuple[int, bool, bool], list[Entry]] = {}
    for entry in entries:
        alike.setdefault((entry.snapshot_id, entry.status == 1, entry.content == 0), []).append(entry)
    return [_counted(*kind, some) for kind, some in alike.items()]


def _counted(snapshot_id: int, is_added: bool, is_data: bool, entries: Sequence[Entry]) -> Counts:
    writers = [found[1] for entry in entries if (found := _WRITER.search(entry.path))]
    event, position = zip(*(entry.edges for entry in entries), strict=True)
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


def _touched(values: Collection[str]) -> Touched:
    return Touched(sorted(values)[:MOST_PARTITIONS], len(values))


def counted_by_spark(
    read: DataFrame, event: TableColumn | None, position: TableColumn | None, parted: Sequence[Parted] = ()
) -> DataFrame:
    """Shape: the fields of `Counts`; one row per commit and kind of entry. Lazy."""
    writer = F.regexp_extract("file_path", WRITER_IN_PATH, 1)
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
