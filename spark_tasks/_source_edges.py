"""Where each source partition stood when the window began: the highest live position below what the window brought.

Positions come in order, so it is nearly always the very next one below, in files whose bounds hold it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from spark_tasks._near import Edge, Range, not_told_apart, partition_of, within
from spark_tasks._places import window_places
from spark_tasks._reading import column, rows_at
from spark_tasks._window import Reach, is_cut
from spark_tasks._words import shown

MOST_PARTITIONS = 2_000
_STEPS = (1, 10_000, 10_000_000, None)
"""How far below the lowest position is looked, for those partitions of which nothing was found nearer; None: all."""
_NAMED = 4


@dataclass(frozen=True)
class Edges:
    """Of every source partition that the window wrote, where it stood."""

    each: tuple[Edge, ...]
    """Those with any position, by rising lowest one."""
    rows: int
    """Of the window, those without a position too."""
    without: int
    """Of these, those that carry no position."""
    begins_with_table: bool
    """Whether the window holds the table's very first commit, so that nothing can lie below. Not where it was to begin
    at a snapshot of which this table knows nothing: a former table of its name may have held what comes before."""

    @property
    def unplaced(self) -> tuple[Edge, ...]:
        """Those of which nothing lives below although the table was there, and which do not begin with position 0: what
        they should go on from is not known."""
        if self.begins_with_table:
            return ()
        return tuple(edge for edge in self.each if edge.below is None and edge.lowest != 0)


def edges_of(spark: SparkSession, ask: Ask, reach: Reach, written: DataFrame | None = None) -> Edges | NotSeen:
    """Reads the positions of the window's rows, then looks below. NotSeen for a column that is no source partition.

    `written`: of a table that is written by key, what the window's commits on main brought (`places_as_written`): its
    rows may be replaced, and those below it, which are looked for where the window begins.

    Cost: files whose bounds hold the position next below; of a partition where that one does not live, files further
    down, and in the end all that can hold the partition.
    """
    inside = window_places(spark, ask, reach, written).groupBy("partition")
    told = (
        inside.agg(F.min("position").alias("lowest"), F.count("*").alias("rows"), F.count("position").alias("placed"))
        .limit(MOST_PARTITIONS + 1)
        .collect()
    )
    if len(told) > MOST_PARTITIONS:
        return NotSeen(
            source=f"column {ask.contract.position_partition} of {ask.observation.table.name}",
            reason=f"The window's rows have more than {MOST_PARTITIONS:,} values there: it is no source partition.",
            remedy="Correct position_partition in the table's contract.",
        )
    lowest = {row["partition"]: int(row["lowest"]) for row in told if row["lowest"] is not None}
    at = reach.since if written is not None and reach.since is not None else reach.until
    below = _below(spark, ask, at, lowest)
    each = [Edge(partition, low, below.get(partition)) for partition, low in lowest.items()]
    return Edges(
        each=tuple(sorted(each, key=lambda edge: edge.lowest)),
        rows=sum(int(row["rows"]) for row in told),
        without=sum(int(row["rows"]) - int(row["placed"]) for row in told),
        begins_with_table=bool(reach.main) and not reach.main[0].has_commit_below and not is_cut(ask, reach),
    )


def unplaced(ask: Ask, edges: Sequence[Edge]) -> NotSeen:
    """What is said of partitions below which nothing lives."""
    named = ask.contract.position_partition
    first = edges[0]
    of = "the source"
    if named is not None:
        parts = ", ".join(shown(named, edge.partition, ask.contract) for edge in edges[:_NAMED])
        more = f" and {len(edges) - _NAMED} more" if len(edges) > _NAMED else ""
        of = f"source partition{'s' if len(edges) > 1 else ''} {parts}{more}"
    lowest = shown(ask.contract.position or "", first.lowest, ask.contract)
    return NotSeen(
        source=f"positions of {of} below the window",
        reason=f"No live row carries a position below {lowest}, the lowest that the window brought"
        f"{' of the first of them' if len(edges) > 1 else ''}: whether records before it were lost is not known.",
        remedy="Look in the source where it begins; if it is older, ask again with a window that begins earlier.",
    )


def several_partitions(ask: Ask, shared: int) -> NotSeen:
    """What is said where one position stands for different records."""
    how = "by rows of different keys" if ask.contract.key else "by several rows, and the contract names no key"
    named = ask.contract.position_partition
    of = f" of one {named}" if named is not None else ""
    number = f"1 position{of} is" if shared == 1 else f"{shared:,} positions{of} are"
    return not_told_apart(ask, f"{number} carried {how}", "A position of one can hide what is missing of another.")


def _below(spark: SparkSession, ask: Ask, at: SnapshotId, lowest: Mapping[str | None, int]) -> dict[str | None, int]:
    """Partition -> the highest live position below its lowest; those without one are left out. Below 0, where few
    sources have any, it is looked for at once and by bounds alone finds no file to be read."""
    found: dict[str | None, int] = {}
    for step in _STEPS:
        left = {each: low for each, low in lowest.items() if each not in found and (low != 0 or step is None)}
        if left:
            found |= _highest(spark, ask, at, left, step)
    return found


def _highest(
    spark: SparkSession, ask: Ask, at: SnapshotId, lowest: Mapping[str | None, int], step: int | None
) -> dict[str | None, int]:
    ranges = [Range(each, None if step is None else low - step, low - 1) for each, low in lowest.items()]
    live = within(rows_at(spark, ask.observation.table, at), ask, ranges)
    assert ask.contract.position is not None
    places = live.select(partition_of(ask).alias("partition"), column(ask.contract.position).alias("position"))
    wanted = F.broadcast(spark.createDataFrame(list(lowest.items()), "of string, lowest bigint"))
    near = places.join(wanted, F.col("partition").eqNullSafe(F.col("of")), "inner").where("position < lowest")
    rows = near.groupBy("partition").agg(F.max("position").alias("below")).limit(MOST_PARTITIONS).collect()
    return {row["partition"]: int(row["below"]) for row in rows}
