"""Which part of the source a commit covers, by the bounds of its files, and which commits cover the same."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.table import TableState
from spark_tasks._bounds import range_columns, stored, with_bounds

MAX_RANGES = 50_000


@dataclass(frozen=True)
class Range:
    """What one commit covers: of one source partition by position, or of all of them by event time."""

    snapshot_id: SnapshotId
    partition: str
    low: int
    high: int
    """Inclusive."""


@dataclass(frozen=True)
class Overlap:
    """Two commits, and how much of the source both cover."""

    one: SnapshotId
    other: SnapshotId
    size: int


@dataclass(frozen=True)
class Covered:
    """Ranges of commits, by the better measure that they have."""

    positions: tuple[Range, ...]
    """Of commits all of whose files hold one source partition each, or whose source has only one."""
    times: tuple[Range, ...]
    """Of commits by event time."""
    commits: frozenset[SnapshotId]
    """Those that added data files, with a range or without."""

    def known(self, commits: Sequence[SnapshotId]) -> bool:
        """Whether any two of these can be compared: all by position, or all by event time."""
        by_position, by_time = ({r.snapshot_id for r in ranges} for ranges in (self.positions, self.times))
        return by_position >= set(commits) or by_time >= set(commits)

    def overlaps(self) -> Iterator[Overlap]:
        """Pairs that cover the same: positions exactly; event times, which overlap a little at every orderly
        hand-over, where half of the shorter one is covered, and only for pairs that positions do not tell."""
        exact = {r.snapshot_id for r in self.positions}
        yield from (overlap for overlap, _ in _overlaps(self.positions))
        for overlap, shorter in _overlaps(self.times):
            if 2 * overlap.size >= shorter and not {overlap.one, overlap.other} <= exact:
                yield overlap


def ranges_of(added: DataFrame, table: TableState, contract: TableContract) -> Covered:
    """Reads. `added`: entries with bounds, those with status 1. At most `MAX_RANGES` ranges are compared."""
    event, position = range_columns(table, contract)
    by_name = {column.name: column.field_id for column in table.columns}
    of = by_name.get(contract.position_partition) if contract.position_partition else None
    partition = F.lit("") if contract.position_partition is None else _single_value(of)
    bounded = with_bounds(added.where("content = 0"), {"position": position, "event": event})
    placed = bounded.withColumn("partition", partition)
    grouped = placed.groupBy("snapshot_id", "partition").agg(
        F.min("position_from").alias("position_from"),
        F.max("position_until").alias("position_until"),
        F.min("event_from").alias("event_from"),
        F.max("event_until").alias("event_until"),
        F.count_if(F.col("position_from").isNull()).alias("unplaced"),
        F.count_if(F.col("event_from").isNull()).alias("untimed"),
    )
    rows = grouped.limit(MAX_RANGES).collect()
    mixed = {row["snapshot_id"] for row in rows if row["partition"] is None or row["unplaced"]}
    untimed = {row["snapshot_id"] for row in rows if row["untimed"]}
    return Covered(
        positions=tuple(
            Range(SnapshotId(row["snapshot_id"]), row["partition"], row["position_from"], row["position_until"])
            for row in rows
            if row["snapshot_id"] not in mixed
        ),
        times=tuple(
            Range(SnapshotId(row["snapshot_id"]), "", row["event_from"], row["event_until"])
            for row in rows
            if row["snapshot_id"] not in untimed
        ),
        commits=frozenset(SnapshotId(row["snapshot_id"]) for row in rows),
    )


def _single_value(field_id: int | None) -> Column:
    """The column's one value in a file, as stored, in hexadecimal digits; null where the file holds several."""
    low, high = stored("lower_bounds", field_id), stored("upper_bounds", field_id)
    return F.when(low == high, low)


def _overlaps(ranges: Iterable[Range]) -> Iterator[tuple[Overlap, int]]:
    """Pairs of one partition that share a place, with the size of the shorter one; swept by lower end."""
    open_ones: list[Range] = []
    partition: str | None = None
    for each in sorted(ranges, key=lambda r: (r.partition, r.low)):
        if each.partition != partition:
            open_ones, partition = [], each.partition
        open_ones = [one for one in open_ones if one.high >= each.low]
        for one in open_ones:
            size = min(one.high, each.high) - each.low + 1
            shorter = min(one.high - one.low, each.high - each.low) + 1
            if one.snapshot_id != each.snapshot_id:
                yield Overlap(one.snapshot_id, each.snapshot_id, size), shorter
        open_ones.append(each)
