"""Which part of the source a commit covers, by the bounds of its files."""

from collections.abc import Iterable, Sequence

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.ledger import SourceRange
from bot.domain.table import Column as TableColumn
from bot.domain.table import TableState
from spark_tasks._bounds import whole_columns
from spark_tasks._covered import Covered, Range
from spark_tasks._few_entries import Edges, Entry
from spark_tasks._source_partition import in_words, of_bounds


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
    alike: dict[tuple[SnapshotId, str | None], list[Entry]] = {}
    for entry in added:
        if entry.content == 0 and entry.rows > 0:
            partition = of_bounds(entry.edges[2], entry.rows, kind) if has_partitions else ""
            alike.setdefault((SnapshotId(entry.snapshot_id), partition), []).append(entry)
    positions: list[Range] = []
    times: list[Range] = []
    unplaced, unstated, mingled, untimed = set[SnapshotId](), set[SnapshotId](), set[SnapshotId](), set[SnapshotId]()
    bare: dict[SnapshotId, int] = {}
    for (commit, partition), files in alike.items():
        placed = [file for file in files if file.edges[0].low is not None]
        if any(file.edges[0].nulls != file.rows for file in files if file.edges[0].low is None):
            unplaced.add(commit)
        if has_partitions and any(f.edges[2].stored_low is None and f.edges[2].nulls != f.rows for f in placed):
            unstated.add(commit)
        if any(file.edges[1].low is None for file in files):
            untimed.add(commit)
        if without := sum(file.edges[0].nulls or 0 for file in files):
            bare[commit] = bare.get(commit, 0) + without
        if placed and partition is None:
            mingled.add(commit)
        elif placed and partition is not None:
            is_counted = all(file.edges[0].nulls is not None for file in placed)
            rows = sum(file.rows for file in files) - without if is_counted else None
            positions += _range(commit, partition, [file.edges[0] for file in placed], rows)
        times += _range(commit, "", [file.edges[1] for file in files], None)
    unstated |= unplaced
    return Covered(
        positions=tuple(each for each in positions if each.snapshot_id not in mingled | unplaced),
        times=tuple(each for each in times if each.snapshot_id not in untimed),
        commits=frozenset(commit for commit, _ in alike),
        unstated=frozenset(unstated),
        mixed=frozenset(mingled - unstated),
        untold=frozenset(unstated | mingled),
        bare=bare,
    )


def _range(commit: SnapshotId, partition: str, edges: Sequence[Edges], rows: int | None) -> list[Range]:
    lows, highs = (
        [end for end in ends if end is not None] for ends in zip(*((e.low, e.high) for e in edges), strict=True)
    )
    return [Range(commit, partition, min(lows), max(highs), rows)] if lows and highs else []


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
