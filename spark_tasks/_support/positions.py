"""Which source positions around the window live, and which do not: told by the ranges that commits brought, where these
are whole, else by the rows.

Where each source partition stood when the window began: the highest live position below what the window brought.
Positions come in order, so it is nearly always the very next one below, in files whose bounds hold it. In a table that
is written by key a row that was replaced takes its position along: there it counts whether any commit brought a row at
the position.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.contract import bare_deletes, why_by_key
from bot.observation.evidence import Ask
from bot.observation.findings import PositionGap
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted, few
from bot.observation.table import Snapshot
from spark_tasks._support.copies import keeps_rows
from spark_tasks._support.coverage import (
    Edge,
    Older,
    Part,
    Partition,
    Range,
    Spans,
    key_columns,
    key_hash,
    lowest_of,
    no_source_partition,
    not_told_apart,
    older_at,
    partition_of,
    parts_by_commit,
    spans_of,
    within,
)
from spark_tasks._support.places import (
    NO_GAPS,
    Gaps,
    Usual,
    are_dense,
    gaps_between,
    gaps_in,
    gaps_of,
    holes_untold,
    live_places,
    lost_places,
    names_of_places,
    no_holes,
    older_places,
    outside_of,
    places_as_written,
    rolled_back_places,
    usual_holes,
    window_places,
)
from spark_tasks._support.reading import column, local_ids, persisted, require_readable, rows_at
from spark_tasks._support.window import Reach, is_cut
from spark_tasks._support.words import Inconclusive, inconclusive, shown, shown_range

_OLDER = -1
"""The place of a row that lived where the window begins."""


@dataclass(frozen=True)
class ByKey:
    brought: DataFrame
    """Shape: partition, position, is_live (boolean), earliest, latest (places of the window's commits that brought it,
    from 0; -1: it lived where the window begins; null: not told); one row per position that is accounted for: a row
    lives there, or a newer row or a delete of its key replaced it."""
    gaps: DataFrame
    """As of `gaps_between`, and is_sure (boolean): whether the source skipped the position, or main lost its row, for
    sure."""


def is_by_key(ask: Ask, reach: Reach) -> bool:
    """Whether newer rows of a key are meant to replace older ones."""
    return why_by_key(ask.observation.table.properties, reach.main) is not None


def takers(reach: Reach) -> tuple[Snapshot, ...]:
    """Commits on main of other writers than Flink that took rows out. Not compactions: corrected_rows compares what
    these kept."""
    others = (commit for commit in reach.main if commit.job_id is None and commit.operation != "replace")
    return tuple(c for c in others if c.counted("deleted-data-files") or c.counted("added-delete-files"))


def written_places(spark: SparkSession, ask: Ask, reach: Reach) -> DataFrame:
    """As of `places_as_written`, for the window's commits on main. Raises Inconclusive where their files cannot be read
    by the table's present names, or no key tells what another writer took out. Raises EvidenceFailed; see `rows_in`."""
    require_readable(ask.observation.table, names_of_places(ask))
    if not key_columns(ask) and (others := takers(reach)):
        raise inconclusive(
            source="contract.key",
            reason=f"The table is written by key, {short(others[0].snapshot_id)} of another writer took rows out, "
            "and the contract names no key: which rows were replaced rightly is not known.",
            remedy="Name the key of the Flink sink in the table's contract, then ask again.",
        )
    return places_as_written(spark, ask, reach.main)


def told_by_key(
    spark: SparkSession, ask: Ask, reach: Reach, edges: Sequence[Edge], live: DataFrame, written: DataFrame
) -> ByKey:
    """`live`: as of `live_places`; `written`: as of `places_as_written`. Where another writer took rows out, a row that
    is gone is accounted for only if its key (by a hash of 64 bits) lives.

    A gap is sure that holds positions of rolled-back commits, or that lies between what two commits brought where none
    from the one to the other carries a delete without a row. Within one commit a sink may have left out rows that newer
    ones of their key followed at once. A gap below what had been reached where the window begins is not the window's.
    Cost: position and key of the files that the window's commits added, and of rows near its lowest position where it
    begins; with another writer's deletes the key of the whole table.
    """
    wanted = F.broadcast(spark.createDataFrame([(each.partition, each.begins, each.lowest) for each in edges], _EDGE))
    order = local_ids(spark, [commit.snapshot_id for commit in reach.main])
    told = written.join(F.broadcast(order), on="snapshot_id", how="inner")
    rows = told.select("partition", "position", "key", "place")
    if reach.since is not None:
        older = older_places(spark, ask, reach.since, edges)
        rows = rows.unionByName(older.select("partition", "position", "key", F.lit(_OLDER).alias("place")))
    is_of = F.col("partition").eqNullSafe(F.col("of"))
    rows = rows.join(wanted, is_of, "inner").where("position >= begins").drop("of", "begins", "lowest")
    lost = [lost_places(spark, ask, reach)] if reach.branches else []
    if takers(reach):
        keys = rows_at(spark, ask.observation.table, reach.until).select(key_hash(key_columns(ask)).alias("key"))
        kept = rows.join(keys.distinct(), on="key", how="left_semi")
        if bare_deletes(ask.observation.table.properties, (c for c in reach.main if c.job_id)) == 0:
            lost.append(rows.join(keys.distinct(), on="key", how="left_anti").select("partition", "position"))
        rows = kept
    lives = live.select("partition", "position", F.lit(None).cast("int").alias("place"), F.lit(True).alias("is_live"))
    brought = (
        rows.select("partition", "position", "place", F.lit(False).alias("is_live"))
        .unionByName(lives)
        .groupBy("partition", "position")
        .agg(F.bool_or("is_live").alias("is_live"), F.min("place").alias("earliest"), F.max("place").alias("latest"))
    )
    return ByKey(brought, _gaps(spark, ask, reach, brought, lost, wanted))


def untold_gaps(ask: Ask, reach: Reach, gaps: Gaps) -> NotSeen:
    """What is said of gaps that are not sure, of which there are some."""
    one = gaps.first_untold
    assert one is not None
    if gaps.usual is not None and not is_by_key(ask, reach):
        return holes_untold(ask, gaps.untold, (one.first, one.last), gaps.usual)
    where = f"{'' if one.size == gaps.untold else 'the first '}{shown_range(ask, one.first, one.last)}"
    others = takers(reach)
    also = f", and {short(others[0].snapshot_id)} of another writer may have taken rows away" if others else ""
    return NotSeen(
        source=f"positions of {ask.observation.table.name} that no row shows",
        reason=f"{counted(gaps.untold, 'position')} ({where}) {'has' if gaps.untold == 1 else 'have'} no row that "
        "lives or was replaced. The table is written by key: the source may have had deletes there, which leave no "
        f"position, or rows that newer ones of their key followed at once{also}. Whether rows are missing is not "
        "known.",
        remedy="Read these positions in the source: whatever is no delete there must have a newer row of its key in "
        "the table.",
    )


_EDGE = "of string, begins bigint, lowest bigint"


def _gaps(
    spark: SparkSession, ask: Ask, reach: Reach, brought: DataFrame, lost: Sequence[DataFrame], edge: DataFrame
) -> DataFrame:
    marked = brought.select("partition", "position", "earliest", "latest", F.lit(0).alias("is_lost"))
    nowhere = F.lit(None).cast("int")
    for each in lost:
        gone = each.where("position IS NOT NULL").distinct().join(
            brought.select(F.col("partition").alias("of"), F.col("position").alias("at")),
            F.col("partition").eqNullSafe(F.col("of")) & (F.col("position") == F.col("at")), "left_anti",
        )  # fmt: skip
        marked = marked.unionByName(
            gone.select(
                "partition", "position", nowhere.alias("earliest"), nowhere.alias("latest"), F.lit(1).alias("is_lost")
            )
        )
    whole = Window.partitionBy("partition")
    by_position = whole.orderBy("position")
    reached = F.max(F.when(F.col("earliest") == _OLDER, F.col("position"))).over(whole)
    counted_lost = marked.withColumns({"lost": F.sum("is_lost").over(by_position), "reached": reached})
    there = counted_lost.where("is_lost = 0").join(edge, F.col("partition").eqNullSafe(F.col("of")), "inner")
    paired = there.withColumns(
        {
            "before": F.coalesce(F.lag("position").over(by_position), F.col("lowest") - 1),
            "lost": F.col("lost") - F.coalesce(F.lag("lost").over(by_position), F.lit(0)),
            "earliest_before": F.coalesce(F.lag("earliest").over(by_position), F.lit(_OLDER)),
            "latest_before": F.coalesce(F.lag("latest").over(by_position), F.lit(_OLDER)),
        }
    ).where("position > before + 1 AND position >= lowest")
    is_older = F.coalesce(F.col("position") - 1 <= F.col("reached"), F.lit(False))
    is_apart = (F.col("latest_before") < F.col("earliest")) | (F.col("latest") < F.col("earliest_before"))
    spanned = _with_bare(spark, ask, reach, paired)
    is_skipped = F.coalesce(is_apart & (F.col("bare_until") == F.col("bare_below")), F.lit(False))
    told = spanned.withColumn("is_sure", (F.col("lost") > 0) | is_skipped).where((F.col("lost") > 0) | ~is_older)
    return told.select(
        "partition",
        (F.col("before") + 1).alias("first"),
        (F.col("position") - 1).alias("last"),
        (F.col("position") - F.col("before") - 1).alias("size"),
        "is_sure",
    )


def _with_bare(spark: SparkSession, ask: Ask, reach: Reach, paired: DataFrame) -> DataFrame:
    """With bare_below and bare_until: deletes without a row of the commits up to the first of those between which the
    gap lies (exclusive), and to the last (inclusive). One that does not tell them counts as having one."""
    sums, so_far = [(_OLDER, 0, 0)], 0
    for place, commit in enumerate(reach.main):
        below, bare = so_far, bare_deletes(ask.observation.table.properties, [commit])
        so_far += 1 if bare is None else bare
        sums.append((place, below, so_far))
    known = F.broadcast(spark.createDataFrame(sums, "_at int, _below bigint, _until bigint"))
    first = F.least("earliest", "earliest_before")
    last = F.greatest("latest", "latest_before")
    ends: list[tuple[Column, str, str]] = [(first, "_below", "bare_below"), (last, "_until", "bare_until")]
    for place_of, told, name in ends:
        found = known.select(F.col("_at"), F.col(told).alias(name))
        paired = paired.join(found, place_of == F.col("_at"), "left").drop("_at")
    return paired


MOST_PARTITIONS = 2_000
_STEPS = (10_000, 10_000_000, None)
"""How far below the lowest position is looked, for those partitions of which nothing was found nearer; None: all."""


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


@dataclass(frozen=True)
class Positions:
    edges: Edges
    gaps: Gaps
    live: int = 0
    """Different positions that live at or above the lowest of their partition."""
    tops: Mapping[Partition, int] = field(default_factory=dict)
    """The highest live one of each partition; of a table that is written by key the highest that was brought."""
    shared: int = 0
    """Positions that rows of different records carry. Where there are any, nothing else is told."""
    inside: int = 0
    """Positions of rolled-back commits that no live row carries, below the highest live one of their partition."""
    above: int = 0
    replaced: int | None = None
    """See `GapsFinding.replaced`."""
    is_dense: bool = True
    """See `GapsFinding.is_dense`."""


def positions_of(spark: SparkSession, ask: Ask, reach: Reach, most: int) -> Positions:
    """From the highest live position below what the window's commits brought, rolled-back ones too, to the highest live
    one; with the first `most` gaps. Raises Inconclusive for a column that is no source partition, or that older files
    do not hold.

    Cost: see `parts_by_commit`, and files whose bounds hold the position next below, or reach further; of a partition
    where that one does not live, files further down, and in the end all that can hold it. Where the ranges of the
    commits are not whole, or overlap, or rows were deleted: files whose positions reach the lowest.
    """
    written = written_places(spark, ask, reach) if is_by_key(ask, reach) else None
    brought = _brought(spark, ask, reach, is_by_key=written is not None)
    whole = _left(spark, ask, reach) if brought is None else [*brought.main, *brought.lost]
    if len({part.partition for part in whole}) > MOST_PARTITIONS:
        raise Inconclusive(no_source_partition(ask.observation.table, ask.contract, MOST_PARTITIONS))
    is_first = begins_with_table(ask, reach)
    is_plain = brought is not None and written is None and (is_first or reach.since is not None)
    at = reach.since if reach.since is not None and (is_plain or written is not None) else reach.until
    lowest = lowest_of(whole)
    older = older_at(spark, ask, at, lowest) if is_plain and not is_first else {}
    below = {} if is_plain and is_first else _below(spark, ask, at, lowest, older)
    edges = _edges(ask, reach, whole, below)
    if not edges.each:
        return Positions(edges, NO_GAPS)
    dense = ask.contract.position_is_dense
    if dense is None:
        dense = brought is None or written is not None or are_dense(spark, ask, reach, brought.by_commit)
    usual = partial(usual_holes, spark, ask, reach, dense)
    if brought is not None and is_plain and not any(each.again for each in older.values()):
        told = by_ranges(edges, brought.main, brought.lost, most, usual, is_dense=dense)
        if told is not None:
            return replace(told, is_dense=dense)
    found = _by_rows(spark, ask, reach, edges, written, most, usual, brought, is_dense=dense)
    return replace(found, is_dense=dense)


@dataclass(frozen=True)
class _Brought:
    by_commit: Mapping[SnapshotId, Sequence[Part]]
    """On main."""
    lost: Sequence[Part]

    @property
    def main(self) -> Sequence[Part]:
        return [part for parts in self.by_commit.values() for part in parts]


def only_adds(commits: Sequence[Snapshot]) -> bool:
    """Whether all rows that these commits brought still live after them."""
    return all(c.operation == "append" or (c.operation == "replace" and keeps_rows(c)) for c in commits)


def _brought(spark: SparkSession, ask: Ask, reach: Reach, *, is_by_key: bool) -> _Brought | None:
    """None where some of it was taken out again, but by key, and where files do not tell it."""
    if not (is_by_key or only_adds(reach.main)) or not only_adds(reach.rolled_back):
        return None
    told = parts_by_commit(spark, ask.observation.table, ask.contract, (*reach.main, *reach.rolled_back))
    if isinstance(told, NotSeen):
        return None
    of_main = {commit.snapshot_id: told.get(commit.snapshot_id, ()) for commit in reach.main}
    return _Brought(of_main, [part for c in reach.rolled_back for part in told.get(c.snapshot_id, ())])


def _left(spark: SparkSession, ask: Ask, reach: Reach) -> list[Part]:
    """What is left of what the window brought, by partition; of several commits together."""
    grouped = window_places(spark, ask, reach).groupBy("partition")
    at = F.col("position")
    told = grouped.agg(F.min(at), F.max(at), F.count(at), F.count(at), F.count_if(at.isNull()))
    return [Part(*row) for row in told.limit(MOST_PARTITIONS + 1).collect()]


def by_ranges(
    edges: Edges, main: Sequence[Part], lost: Sequence[Part], most: int, usual: Callable[[], Usual] = no_holes,
    *, is_dense: bool = True,
) -> Positions | None:  # fmt: skip
    """Where no older row lives at the lowest position of its partition or above, and all of `main` lives; None where
    only the rows tell. `lost`: of rolled-back commits."""
    live, gone = spans_of(main, is_dense=is_dense), spans_of(lost, may_overlap=True)
    if live is None or gone is None:
        return None
    gaps: list[PositionGap] = []
    tops: dict[Partition, int] = {}
    inside = above = 0
    for edge in edges.each:
        own: list[PositionGap] = []
        before = edge.lowest - 1 if edge.below is None else edge.below
        for low, high in live.get(edge.partition, ()):
            if low > before + 1:
                own.append(PositionGap(first=before + 1, last=low - 1, partition=edge.partition))
            before = high
        if edge.below is not None or edge.partition in live:
            tops[edge.partition] = before
        for low, high in gone.get(edge.partition, ()):
            inside += sum(max(0, min(high, gap.last) - max(low, gap.first) + 1) for gap in own)
            above += max(0, high - max(low - 1, before))
        gaps += own
    gaps.sort(key=lambda gap: (gap.partition or "", gap.first))
    return Positions(
        edges,
        gaps_of(gaps, most, usual, lambda gap: _holds(gap, gone)),
        live=sum(part.positions for part in main),
        tops=tops,
        inside=inside,
        above=above,
    )


def _holds(gap: PositionGap, spans: Spans) -> bool:
    return any(low <= gap.last and gap.first <= high for low, high in spans.get(gap.partition, ()))


def _by_rows(
    spark: SparkSession, ask: Ask, reach: Reach, edges: Edges, written: DataFrame | None, most: int,
    usual: Callable[[], Usual], brought: _Brought | None, *, is_dense: bool,
) -> Positions:  # fmt: skip
    by_key = None
    with ExitStack() as stack:
        live = stack.enter_context(persisted(live_places(spark, ask, reach.until, edges.each)))
        span = live.agg(F.count_if(F.col("position") >= F.col("lowest")), F.count_if("is_shared")).first()
        assert span is not None
        if span[1]:
            return Positions(edges, NO_GAPS, shared=int(span[1]))
        if written is not None:
            by_key = told_by_key(spark, ask, reach, edges.each, live, written)
            stack.enter_context(persisted(by_key.brought))
        there = live if by_key is None else by_key.brought
        gaps = gaps_between(live).withColumn("is_sure", F.lit(True)) if by_key is None else by_key.gaps
        if by_key is None and brought is not None and not is_dense:
            gaps = outside_of(spark, gaps, brought.main)
        held = lost_places(spark, ask, reach) if reach.branches and by_key is None else None
        lost = rolled_back_places(spark, ask, reach, there).first() if reach.branches else None
        tops = there.groupBy("partition").agg(F.max("position").alias("top")).limit(MOST_PARTITIONS).collect()
        return Positions(
            edges,
            gaps_in(gaps, most, no_holes if by_key and is_dense else usual, held),
            live=int(span[0]),
            tops={row["partition"]: int(row["top"]) for row in tops},
            inside=int(lost["inside"]) if lost else 0,
            above=int(lost["above"]) if lost else 0,
            replaced=None if by_key is None else by_key.brought.where("NOT is_live").count(),
        )


def unplaced(ask: Ask, edges: Sequence[Edge]) -> NotSeen:
    """What is said of partitions below which nothing lives."""
    named = ask.contract.position_partition
    first = edges[0]
    of = "the source"
    if named is not None:
        parts = few([shown(named, edge.partition, ask.contract) for edge in edges])
        of = f"source partition{'s' if len(edges) > 1 else ''} {parts}"
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


def _edges(ask: Ask, reach: Reach, brought: Sequence[Part], below: Mapping[Partition, int]) -> Edges:
    each = [Edge(of, low, below.get(of)) for of, low in lowest_of(brought).items()]
    return Edges(
        each=tuple(sorted(each, key=lambda edge: edge.lowest)),
        rows=sum(part.rows + part.bare for part in brought),
        without=sum(part.bare for part in brought),
        begins_with_table=begins_with_table(ask, reach),
    )


def begins_with_table(ask: Ask, reach: Reach) -> bool:
    """See `Edges`."""
    return bool(reach.main) and not reach.main[0].has_commit_below and not is_cut(ask, reach)


def _below(
    spark: SparkSession, ask: Ask, at: SnapshotId, lowest: Mapping[Partition, int], older: Mapping[Partition, Older]
) -> dict[Partition, int]:
    """Partition -> the highest live position below its lowest; those without one are left out. Below 0, where few
    sources have any, it is looked for at once and by bounds alone finds no file to be read. `older`: of those that were
    looked at next below."""
    found = {each: told.below for each, told in older.items() if told.below is not None}
    for step in _STEPS[1:] if older else _STEPS:
        left = {each: low for each, low in lowest.items() if each not in found and (low != 0 or step is None)}
        if left:
            found |= highest_below(spark, ask, at, left, step)
    return found


def highest_below(
    spark: SparkSession, ask: Ask, at: SnapshotId, lowest: Mapping[Partition, int], step: int | None
) -> dict[Partition, int]:
    """Partition -> the highest live position below, as far as it is looked for (`step`); None: through all of them."""
    ranges = [Range(each, None if step is None else low - step, low - 1) for each, low in lowest.items()]
    live = within(rows_at(spark, ask.observation.table, at), ask, ranges)
    assert ask.contract.position is not None
    places = live.select(partition_of(ask).alias("partition"), column(ask.contract.position).alias("position"))
    wanted = F.broadcast(spark.createDataFrame(list(lowest.items()), "of string, lowest bigint"))
    near = places.join(wanted, F.col("partition").eqNullSafe(F.col("of")), "inner").where("position < lowest")
    rows = near.groupBy("partition").agg(F.max("position").alias("below")).limit(MOST_PARTITIONS).collect()
    return {row["partition"]: int(row["below"]) for row in rows}
