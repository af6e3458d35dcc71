"""Which part of the source a commit covers, by the bounds of its files, and which commits cover the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.errors import EvidenceFailed
from bot.domain.ids import SnapshotId
from bot.domain.table import Column as TableColumn
from bot.domain.table import TableState
from spark_tasks._bounds import nulls_of, stored, whole_columns, with_bounds
from spark_tasks._few_entries import Edges, Entry

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
    is_exact: bool
    """Whether positions show it, and more of them than the one at which two longer ranges touch."""


@dataclass(frozen=True)
class Covered:
    """Ranges of commits, by the better measure that they have."""

    positions: tuple[Range, ...]
    """Of commits all of whose files hold one source partition each, or whose source has only one."""
    times: tuple[Range, ...]
    """Of commits by event time."""
    commits: frozenset[SnapshotId]
    """Those that added rows, with a range or without."""
    unstated: frozenset[SnapshotId] = frozenset()
    """Those with a file that may hold positions and of which nothing tells which: their writer left out the bounds."""
    unread: str = ""
    """Why the rows of these were not read instead, as the end of a sentence."""
    bare: Mapping[SnapshotId, int] = field(default_factory=dict)
    """Commit -> rows that have no position, as far as that is counted."""

    def known(self, commits: Sequence[SnapshotId]) -> bool:
        """Whether any two of these can be compared: all by position, or all by event time."""
        by_position, by_time = ({r.snapshot_id for r in ranges} for ranges in (self.positions, self.times))
        return by_position >= set(commits) or by_time >= set(commits)

    def overlaps(self) -> Iterator[Overlap]:
        """Pairs that cover the same: positions exactly; event times, which overlap a little at every orderly
        hand-over, where half of the shorter one is covered, and only for pairs that positions do not tell."""
        exact = {r.snapshot_id for r in self.positions}
        for one, other, size, shorter in _overlaps(self.positions):
            yield Overlap(one, other, size, is_exact=size > 1 or shorter == 1)
        for one, other, size, shorter in _overlaps(self.times):
            if 2 * size >= shorter and not {one, other} <= exact:
                yield Overlap(one, other, size, is_exact=False)


class _Alike(NamedTuple):
    """Files of one commit and one source partition."""

    snapshot_id: int
    partition: str | None
    """Empty where the contract names no column; None where a file holds several, or does not say."""
    position_from: int | None
    position_until: int | None
    event_from: int | None
    event_until: int | None
    unplaced: int
    """Files without a bound of the position, but for those that hold none."""
    untimed: int
    unstated: int
    """Files of which bounds tell nothing, of their positions or of the source partition."""
    bare: int
    """Rows that have no position."""


def source_columns(
    table: TableState, contract: TableContract
) -> tuple[TableColumn | None, TableColumn | None, TableColumn | None]:
    """(position, event time, source partition): columns whose bounds tell what part of the source a file covers. No
    event time that is a date: all commits of a day cover that day, and repeat nothing of each other. Hidden ones too,
    as ranges are compared and not shown."""
    event, position = whole_columns(table, contract)
    event = event if event is not None and event.type != "date" else None
    named = (column for column in table.columns if column.name == contract.position_partition)
    return position, event, next(named, None)


def ranges_here(added: Iterable[Entry], contract: TableContract) -> Covered:
    """`added`: entries with status 1 and the edges of `source_columns`."""
    has_partitions = contract.position_partition is not None
    alike: dict[tuple[int, str | None], list[Entry]] = {}
    for entry in added:
        if entry.content == 0 and entry.rows > 0:
            partition = _single(entry.edges[2]) if has_partitions else ""
            alike.setdefault((entry.snapshot_id, partition), []).append(entry)
    return _covered(_alike(*key, some, has_partitions=has_partitions) for key, some in alike.items())


def ranges_of(added: DataFrame, table: TableState, contract: TableContract) -> Covered:
    """Reads. `added`: entries with bounds and `NULLS`, those with status 1. Raises EvidenceFailed above `MAX_RANGES`
    ranges."""
    position, event, of = source_columns(table, contract)
    partition, is_stated = F.lit(""), F.lit(True)
    if contract.position_partition is not None:
        field_id = of.field_id if of else None
        partition = _single_value(field_id)
        is_stated = stored("lower_bounds", field_id).isNotNull() | _is_null_throughout(nulls_of(field_id))
    nulls = nulls_of(position.field_id if position else None)
    data = added.where("content = 0 AND record_count > 0")
    bounded = with_bounds(data, {"position": position, "event": event})
    placed = bounded.withColumns({"partition": partition, "is_stated": is_stated, "nulls": nulls})
    is_unplaced = F.col("position_from").isNull() & ~_is_null_throughout(F.col("nulls"))
    is_unstated = is_unplaced | (F.col("position_from").isNotNull() & ~F.col("is_stated"))
    grouped = placed.groupBy("snapshot_id", "partition").agg(
        F.min("position_from").alias("position_from"),
        F.max("position_until").alias("position_until"),
        F.min("event_from").alias("event_from"),
        F.max("event_until").alias("event_until"),
        F.count_if(is_unplaced).alias("unplaced"),
        F.count_if(F.col("event_from").isNull()).alias("untimed"),
        F.count_if(is_unstated).alias("unstated"),
        F.coalesce(F.sum("nulls"), F.lit(0)).alias("bare"),
    )
    rows = grouped.limit(MAX_RANGES + 1).collect()
    if len(rows) > MAX_RANGES:
        raise EvidenceFailed(
            "The window's commits cover too many parts of the source to be compared.",
            f"Expected at most {MAX_RANGES:,} ranges, one for each commit and source partition; there are more.",
            "Choose a window that begins later, then ask again.",
        )
    return _covered(_Alike(*row) for row in rows)


def _covered(alike: Iterable[_Alike]) -> Covered:
    """A commit with a file that does not tell is left out."""
    found = tuple(alike)
    mixed = {f.snapshot_id for f in found if f.unplaced or (f.partition is None and f.position_from is not None)}
    untimed = {each.snapshot_id for each in found if each.untimed}
    placed = (_range(each, each.partition, each.position_from, each.position_until) for each in found)
    timed = (_range(each, "", each.event_from, each.event_until) for each in found)
    bare: dict[SnapshotId, int] = {}
    for each in found:
        if each.bare:
            bare[SnapshotId(each.snapshot_id)] = bare.get(SnapshotId(each.snapshot_id), 0) + each.bare
    return Covered(
        positions=tuple(each for each in placed if each is not None and each.snapshot_id not in mixed),
        times=tuple(each for each in timed if each is not None and each.snapshot_id not in untimed),
        commits=frozenset(SnapshotId(each.snapshot_id) for each in found),
        unstated=frozenset(SnapshotId(each.snapshot_id) for each in found if each.unstated),
        bare=bare,
    )


def _range(alike: _Alike, partition: str | None, low: int | None, high: int | None) -> Range | None:
    if partition is None or low is None or high is None:
        return None
    return Range(SnapshotId(alike.snapshot_id), partition, low, high)


def _alike(snapshot_id: int, partition: str | None, files: Sequence[Entry], *, has_partitions: bool) -> _Alike:
    positions, events = [file.edges[0] for file in files], [file.edges[1] for file in files]
    unplaced = [f for f in files if f.edges[0].low is None and f.edges[0].nulls != f.rows]
    placed = [f for f in files if f.edges[0].low is not None]
    unparted = [f for f in placed if has_partitions and f.edges[2].stored_low is None and f.edges[2].nulls != f.rows]
    return _Alike(
        snapshot_id,
        partition,
        *_ends(positions),
        *_ends(events),
        unplaced=len(unplaced),
        untimed=sum(edge.low is None for edge in events),
        unstated=len(unplaced) + len(unparted),
        bare=sum(edge.nulls or 0 for edge in positions),
    )


def _ends(edges: Sequence[Edges]) -> tuple[int | None, int | None]:
    low = min((edge.low for edge in edges if edge.low is not None), default=None)
    return low, max((edge.high for edge in edges if edge.high is not None), default=None)


def _single(edges: Edges) -> str | None:
    """As `_single_value` has it."""
    low, high = edges.stored_low, edges.stored_high
    return low.hex().upper() if low is not None and low == high else None


def _single_value(field_id: int | None) -> Column:
    """The column's one value in a file, as stored, in hexadecimal digits; null where the file holds several."""
    low, high = stored("lower_bounds", field_id), stored("upper_bounds", field_id)
    return F.when(low == high, low)


def _is_null_throughout(nulls: Column) -> Column:
    return F.coalesce(nulls == F.col("record_count"), F.lit(False))


def _overlaps(ranges: Iterable[Range]) -> Iterator[tuple[SnapshotId, SnapshotId, int, int]]:
    """Pairs of one partition that share a place, with the size of what they share and of the shorter one; swept by
    lower end."""
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
                yield one.snapshot_id, each.snapshot_id, size, shorter
        open_ones.append(each)
