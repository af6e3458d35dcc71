"""What commits brought of the source, by commit and source partition: read once for all tasks, then compared here.

Commits never change, so what was read of one is kept. Rows are looked at again only where these ranges do not fit, near
given positions, by the bounds of their files.
"""

import threading
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from operator import and_, or_
from typing import NamedTuple

from cachetools import LRUCache, cached
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.source_starts import went_back
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask
from bot.observation.ids import SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.data_files import COMMIT, MAX_FILES, data_added, files_of, orc_times, rows_in
from spark_tasks._support.manifest_entries import Entry
from spark_tasks._support.reading import column, renamed, rows_at

_APART = 50
"""Ranges that are told to the files one by one; of more, one range that holds them all."""
_PRUNED = ("int", "long", "string")
"""How the types begin whose bounds in the files leave out other partitions."""


@dataclass(frozen=True)
class Edge:
    """Where a source partition stands at the window's beginning."""

    partition: str | None
    lowest: int
    """The lowest position that the window's commits brought, rolled-back ones too."""
    below: int | None
    """The highest live position below it; None: none lives."""

    @property
    def begins(self) -> int:
        """From here on positions are compared."""
        return self.lowest if self.below is None else self.below


@dataclass(frozen=True)
class Range:
    """Positions of one source partition."""

    partition: str | None
    low: int | None
    """Inclusive; None: from the first."""
    high: int | None
    """Inclusive; None: to the last."""


def partition_of(ask: Ask) -> Column:
    """The source partition as text; null where the contract names no column for it."""
    named = ask.contract.position_partition
    return F.lit(None).cast("string") if named is None else column(named).cast("string")


def within(rows: DataFrame, ask: Ask, ranges: Sequence[Range]) -> DataFrame:
    """Rows of these ranges, and of some more where they are many: what lies outside of files' bounds is not read."""
    if len(ranges) > _APART:
        lows, highs = [each.low for each in ranges], [each.high for each in ranges]
        low = None if None in lows else min(each for each in lows if each is not None)
        high = None if None in highs else max(each for each in highs if each is not None)
        return rows.where(_between(ask, Range(None, low, high)))
    return rows.where(reduce(or_, (_is_in(rows, ask, each) for each in ranges)))


def _is_in(rows: DataFrame, ask: Ask, wanted: Range) -> Column:
    named = ask.contract.position_partition
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    if named is None or not kinds.get(named, "").startswith(_PRUNED):
        return _between(ask, wanted)
    return column(named).eqNullSafe(F.lit(wanted.partition).cast(rows.schema[named].dataType)) & _between(ask, wanted)


def _between(ask: Ask, wanted: Range) -> Column:
    assert ask.contract.position is not None
    position = column(ask.contract.position)
    told = [position.isNotNull()]
    told += [] if wanted.low is None else [position >= F.lit(wanted.low)]
    told += [] if wanted.high is None else [position <= F.lit(wanted.high)]
    return reduce(and_, told)


def key_columns(ask: Ask) -> list[str]:
    """Those of the contract's key that the table has."""
    present = {each.name for each in ask.observation.table.columns}
    return [name for name in ask.contract.key if name in present]


def key_hash(names: Collection[str]) -> Column:
    """Of 64 bits; 0 without names. A hash passes nulls over, so which are null is hashed too."""
    told = [column(name) for name in names]
    return F.xxhash64(F.lit(0), *told, *(name.isNull() for name in told)) if told else F.lit(0).cast("bigint")


def moment_of(ask: Ask) -> list[str]:
    """The column that several rows made of one record share though their keys differ: the time of its event. Empty
    where none is named, and of a mere date, which other records share as well."""
    named = ask.contract.event_time
    kinds = {each.name: each.type for each in ask.observation.table.columns}
    return [named] if named is not None and kinds.get(named, "").startswith("timestamp") else []


def not_told_apart(ask: Ask, what: str, so: str) -> NotSeen:
    """What is said where one place of the source stands for different records: `what` shows it, `so` follows."""
    named = ask.contract.position_partition
    back = went_back(ask.observation, ask.contract)
    if back is not None:
        return NotSeen(
            source="the topic of the job",
            reason=f"{what}. {back} {so}",
            remedy="Ask who changed the topic. Do not replay from it what is older: other records have these offsets.",
        )
    if named is None:
        return NotSeen(
            source="contract.position_partition",
            reason=f"{what}: the source may have several partitions, and the contract names no column that tells them "
            f"apart. {so}",
            remedy="Name the column of the source's partition as position_partition in the contract, then ask again.",
        )
    shared = "" if moment_of(ask) else " Where one record makes several rows, name event_time, which they share."
    return NotSeen(
        source="contract.position_partition",
        reason=f"{what}: the job may read several topics, and {named} does not tell their partitions apart. {so}",
        remedy="Have the job write a column that names topic and partition together, and name it as position_partition "
        f"in the contract.{shared}",
    )


Partition = str | None
"""A source partition as text; None where the contract names no column for it, and where a row has none."""
Spans = dict[Partition, list[tuple[int, int]]]
"""Positions, both ends inclusive, rising and apart."""


class Part(NamedTuple):
    """Rows of one source partition that one commit brought, as they were written."""

    partition: Partition
    low: int | None
    high: int | None
    rows: int
    """That have a position."""
    positions: int
    """Different ones."""
    bare: int
    """Rows without a position."""

    @property
    def is_dense(self) -> bool:
        """Whether it has each position between its ends exactly once."""
        if self.low is None or self.high is None:
            return True
        return self.rows == self.positions == self.high - self.low + 1

    @property
    def missing(self) -> int:
        """Positions between its ends that it does not have."""
        return 0 if self.low is None or self.high is None else self.high - self.low + 1 - self.positions


_MOST_FILES = 5_000
"""Of the commits that are read together."""
_MOST_KEPT = 200_000
"""Parts, of all tables together."""
_KEPT: LRUCache[tuple[object, ...], tuple[Part, ...]] = LRUCache(_MOST_KEPT + 1, getsizeof=lambda parts: len(parts) + 1)
_LOCK = threading.Lock()


def parts_by_commit(
    spark: SparkSession,
    table: TableState,
    contract: TableContract,
    commits: Iterable[Snapshot],
    *,
    are_named_now: bool = False,
) -> dict[SnapshotId, tuple[Part, ...]] | NotSeen:
    """Commit -> what it brought; compactions bring nothing. The contract names a position, and the table has it.
    NotSeen where files cannot be read by the present names of these columns, or by Spark. `are_named_now`: it is known
    that these commits' files have the present names.

    Cost: manifests of commits that no task has read before, and two columns of their files, so many at a time.
    """
    names = [name for name in (contract.position_partition, contract.position) if name is not None]
    if not are_named_now and (unread := renamed(table, names)):
        return unread[0]
    ids = {each.name: each.field_id for each in table.columns}
    wanted = {each.snapshot_id: each for each in commits if each.operation != "replace"}
    keys = {each: (table.uuid, each, *(ids[name] for name in names)) for each in wanted}
    with _LOCK:
        found = {each: parts for each, key in keys.items() if (parts := _KEPT.get(key)) is not None}
    for some in _batches([commit for each, commit in wanted.items() if each not in found]):
        read = _read(spark, table, contract, names, some)
        if isinstance(read, NotSeen):
            return read
        with _LOCK:
            _KEPT.update((keys[each], parts) for each, parts in read.items())
        found |= read
    return found


def _batches(commits: Sequence[Snapshot]) -> Iterator[list[Snapshot]]:
    batch: list[Snapshot] = []
    files = 0
    for commit in commits:
        many = commit.counted("added-data-files")
        if batch and files + many > _MOST_FILES:
            yield batch
            batch, files = [], 0
        batch.append(commit)
        files += many
    if batch:
        yield batch


def _read(
    spark: SparkSession, table: TableState, contract: TableContract, names: Sequence[str], commits: Sequence[Snapshot]
) -> dict[SnapshotId, tuple[Part, ...]] | NotSeen:
    if sum(commit.counted("added-data-files") for commit in commits) > MAX_FILES:
        return NotSeen(
            source=f"files of {commits[0].snapshot_id}",
            reason=f"It added more than {MAX_FILES:,} files, which are not read one by one.",
            remedy="Ask again with a window that begins after it.",
        )
    files = data_added(files_of(spark, table, contract, commits))
    if unread := orc_times(table, {file.format for file in files}, names):
        return unread[0]
    found: dict[SnapshotId, list[Part]] = {commit.snapshot_id: [] for commit in commits}
    if not files:
        return dict.fromkeys(found, ())
    grouped = (
        places_in(spark, table, contract, files)
        .groupBy("snapshot_id", "partition")
        .agg(
            F.min("position"), F.max("position"), F.count("position"), F.count_distinct("position"),
            F.count_if(F.col("position").isNull()),
        )
    )  # fmt: skip
    rows = grouped.limit(_MOST_KEPT + 1).collect()
    if len(rows) > _MOST_KEPT:
        return no_source_partition(table, contract, _MOST_KEPT)
    for commit, *told in rows:
        found[SnapshotId(commit)].append(Part(*told))
    return {each: tuple(parts) for each, parts in found.items()}


def places_in(spark: SparkSession, table: TableState, contract: TableContract, files: Sequence[Entry]) -> DataFrame:
    """Shape: snapshot_id, partition (text; null where the contract names none), position; one row per row that stands
    in these files. The contract names a position. Cost: these columns of the files. Raises as `rows_in`."""
    names = [name for name in (contract.position_partition, contract.position) if name is not None]
    of = column(names[0]).cast("string") if len(names) > 1 else F.lit(None).cast("string")
    position = column(names[-1]).cast("bigint")
    rows = rows_in(spark, table, files, names)
    return rows.select(F.col(COMMIT).alias("snapshot_id"), of.alias("partition"), position.alias("position"))


def places_by(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> DataFrame | None:
    """As of `places_in`, in the files that these commits added. None without any, where they are too many, and where
    the columns cannot be read by their present names or by Spark."""
    names = [name for name in (contract.position_partition, contract.position) if name is not None]
    if renamed(table, names) or sum(commit.counted("added-data-files") for commit in commits) > MAX_FILES:
        return None
    files = data_added(files_of(spark, table, contract, commits))
    if not files or orc_times(table, {file.format for file in files}, names):
        return None
    return places_in(spark, table, contract, files)


def no_source_partition(table: TableState, contract: TableContract, most: int) -> NotSeen:
    """What is said of a column with more than so many values."""
    return NotSeen(
        source=f"column {contract.position_partition} of {table.name}",
        reason=f"Column {contract.position_partition} has more than {most:,} values in what was looked at: it is no "
        "source partition.",
        remedy="Correct position_partition in the table's contract.",
    )


def merged(spans: Iterable[tuple[int, int]]) -> list[tuple[int, int]]:
    """What these cover together, both ends inclusive: rising and apart."""
    found: list[tuple[int, int]] = []
    for low, high in sorted(spans):
        if found and low <= found[-1][1] + 1:
            found[-1] = found[-1][0], max(found[-1][1], high)
        else:
            found.append((low, high))
    return found


def spans_of(parts: Iterable[Part], *, may_overlap: bool = False, is_dense: bool = True) -> Spans | None:
    """What they cover together; None where one has a position twice or, as far as these are dense, lacks one, or two
    cover the same."""
    spans: Spans = {}
    for part in parts:
        if part.low is not None and part.high is not None:
            if part.rows != part.positions or (is_dense and not part.is_dense):
                return None
            spans.setdefault(part.partition, []).append((part.low, part.high))
    for own in spans.values():
        own.sort()
        if not may_overlap and any(later[0] <= earlier[1] for earlier, later in pairwise(own)):
            return None
    return {partition: merged(own) for partition, own in spans.items()}


def tops_of(parts: Iterable[Part]) -> dict[Partition, int]:
    """Partition -> the highest position."""
    return _ends(((p.partition, p.high) for p in parts), max)


def lowest_of(parts: Iterable[Part]) -> dict[Partition, int]:
    """Partition -> the lowest position."""
    return _ends(((p.partition, p.low) for p in parts), min)


def _ends(told: Iterable[tuple[Partition, int | None]], pick: Callable[[int, int], int]) -> dict[Partition, int]:
    found: dict[Partition, int] = {}
    for partition, at in told:
        if at is not None:
            found[partition] = pick(at, found.get(partition, at))
    return found


class Older(NamedTuple):
    """What of a source partition lived where the window begins."""

    below: int | None
    """The highest position below its lowest one of the window, as far as it was looked for."""
    again: int
    """Rows at that position or above."""


def _of_older(_spark: SparkSession, ask: Ask, at: SnapshotId, lowest: Mapping[Partition, int]) -> tuple[object, ...]:
    contract = ask.contract
    return ask.observation.table.uuid, at, contract.position, contract.position_partition, frozenset(lowest.items())


@cached(LRUCache(64), key=_of_older, lock=threading.Lock())
def older_at(spark: SparkSession, ask: Ask, at: SnapshotId, lowest: Mapping[Partition, int]) -> dict[Partition, Older]:
    """Of each partition, at the position next below `lowest` and above. Cost: files whose bounds reach that: in an
    orderly stream the one that holds the position."""
    table, contract = ask.observation.table, ask.contract
    if not lowest:
        return {}
    live = within(rows_at(spark, table, at), ask, [Range(of, low - 1, None) for of, low in lowest.items()])
    places = live.select(partition_of(ask).alias("partition"), column(contract.position or "").alias("position"))
    known = F.broadcast(spark.createDataFrame(list(lowest.items()), "of string, lowest bigint"))
    near = places.join(known, F.col("partition").eqNullSafe(F.col("of")), "inner").where("position >= lowest - 1")
    is_below = F.col("position") < F.col("lowest")
    told = near.groupBy("partition").agg(F.max(F.when(is_below, F.col("position"))), F.count_if(~is_below))
    rows = {row[0]: Older(row[1], row[2]) for row in told.limit(len(lowest)).collect()}
    return {each: rows.get(each, Older(None, 0)) for each in lowest}
