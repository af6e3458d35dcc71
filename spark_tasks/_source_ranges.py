"""Which part of the source a commit covers, by the bounds of its files."""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.ledger import SourceRange
from bot.domain.table import Column as TableColumn
from bot.domain.table import TableState
from spark_tasks._bounds import whole_columns
from spark_tasks._covered import Covered, Range
from spark_tasks._few_entries import Edges, Entry
from spark_tasks._source_partition import in_words, of_bounds


class _Alike(NamedTuple):
    """Files of one commit and one source partition."""

    snapshot_id: int
    partition: str | None
    """As `_source_partition` spells it; empty where the contract names no column; None where a file holds several, or
    does not say."""
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
    rows: int
    """Of the files, those too."""
    uncounted: int
    """Files with bounds of the position that do not count the rows without one."""


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


def ranges_of(added: Iterable[Entry], table: TableState, contract: TableContract) -> Covered:
    """`added`: entries with status 1 and the edges of `source_columns`."""
    has_partitions = contract.position_partition is not None
    of = source_columns(table, contract)[2]
    kind = of.type if of is not None else ""
    alike: dict[tuple[int, str | None], list[Entry]] = {}
    for entry in added:
        if entry.content == 0 and entry.rows > 0:
            partition = of_bounds(entry.edges[2], entry.rows, kind) if has_partitions else ""
            alike.setdefault((entry.snapshot_id, partition), []).append(entry)
    return _covered(_alike(*key, some, has_partitions=has_partitions) for key, some in alike.items())


def told_ranges(
    covered: Covered, table: TableState, contract: TableContract, commits: Iterable[SnapshotId]
) -> dict[SnapshotId, tuple[SourceRange, ...]] | None:
    """What each of these commits brought, by partition and rising; without commits that do not tell all. None where
    the contract hides the position or the source partition, or the table does not have it."""
    position, _, of = source_columns(table, contract)
    named = contract.position_partition
    if position is None or (named is not None and of is None) or contract.hides(position.name) or contract.hides(named):
        return None
    found: dict[SnapshotId, list[SourceRange]] = {each: [] for each in commits if each not in covered.untold}
    for each in sorted(covered.positions, key=lambda one: (one.partition, one.low)):
        if each.snapshot_id in found:
            partition = in_words(each.partition, of.type) if of is not None else None
            found[each.snapshot_id].append(
                SourceRange(partition=partition, low=each.low, high=each.high, rows=each.rows)
            )
    return {each: tuple(ranges) for each, ranges in found.items()}


def _covered(alike: Iterable[_Alike]) -> Covered:
    """A commit with a file that does not tell is left out."""
    found = tuple(alike)
    mingled = {f.snapshot_id for f in found if f.partition is None and f.position_from is not None}
    untold = mingled | {f.snapshot_id for f in found if f.unplaced}
    untimed = {each.snapshot_id for each in found if each.untimed}
    unstated = frozenset(SnapshotId(each.snapshot_id) for each in found if each.unstated)
    mixed = frozenset(map(SnapshotId, mingled)) - unstated
    placed = (_range(f, f.partition, f.position_from, f.position_until, _placed(f)) for f in found)
    timed = (_range(each, "", each.event_from, each.event_until, None) for each in found)
    bare: dict[SnapshotId, int] = {}
    for each in found:
        if each.bare:
            bare[SnapshotId(each.snapshot_id)] = bare.get(SnapshotId(each.snapshot_id), 0) + each.bare
    return Covered(
        positions=tuple(each for each in placed if each is not None and each.snapshot_id not in untold),
        times=tuple(each for each in timed if each is not None and each.snapshot_id not in untimed),
        commits=frozenset(SnapshotId(each.snapshot_id) for each in found),
        unstated=unstated,
        mixed=mixed,
        untold=unstated | mixed,
        bare=bare,
    )


def _placed(alike: _Alike) -> int | None:
    """Rows that have a position."""
    return None if alike.uncounted else alike.rows - alike.bare


def _range(alike: _Alike, partition: str | None, low: int | None, high: int | None, rows: int | None) -> Range | None:
    if partition is None or low is None or high is None:
        return None
    return Range(SnapshotId(alike.snapshot_id), partition, low, high, rows)


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
        rows=sum(file.rows for file in files),
        uncounted=sum(edge.low is not None and edge.nulls is None for edge in positions),
    )


def _ends(edges: Sequence[Edges]) -> tuple[int | None, int | None]:
    low = min((edge.low for edge in edges if edge.low is not None), default=None)
    return low, max((edge.high for edge in edges if edge.high is not None), default=None)
