"""Places in the source: which positions the window brought, which are live, and what lies between them.

Some positions never had a record: transaction markers, aborted records, what compaction took. A source reads in order,
so no loss lies between two rows of one commit: how wide such holes are tells which of those between commits are of the
same kind. Whether positions are dense at all is told by the contract, by the broker, or by the commits before.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Ask
from bot.observation.findings import PositionGap
from bot.observation.ids import SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.coverage import (
    Edge,
    Part,
    Range,
    key_columns,
    key_hash,
    moment_of,
    partition_of,
    parts_by_commit,
    places_by,
    within,
)
from spark_tasks._support.data_files import COMMIT, data_added, files_of, rows_in
from spark_tasks._support.event_time import brings_rows, newest_with_rows
from spark_tasks._support.reading import (
    column,
    entries,
    operations,
    persisted,
    require_readable,
    rows_appended,
    rows_at,
)
from spark_tasks._support.window import Branch, Reach
from spark_tasks._support.words import shown_range

_COMMITS = 20
_FEWEST = 3
"""So many commits with holes before the incident, and half of all, show that positions are not dense."""
_ANY = 2**62
_WIDER = 10
"""Where positions are not dense, a hole between two commits is surely a loss if it is so many times as wide as any
between rows of one: holes vary, and commits are few."""


class Usual(NamedTuple):
    """Of some commits, between rows of one of them."""

    commits: int
    missing: int
    positions: int
    """With a row or without."""
    widest: int
    is_dense: bool
    """Whether each position has a record, see `are_dense`."""
    is_compacted: bool = False

    @property
    def sure_from(self) -> int:
        """From so many positions on a hole between two commits is surely a loss. Compaction makes them of any width."""
        if self.is_compacted:
            return _ANY
        return self.widest + 1 if self.is_dense else _WIDER * max(1, self.widest) + 1


def no_holes() -> Usual:
    """Where each position has a record, and each that lacks a row is missing."""
    return Usual(0, 0, 0, 0, is_dense=True)


def are_dense(spark: SparkSession, ask: Ask, reach: Reach, brought: Mapping[SnapshotId, Sequence[Part]]) -> bool:
    """Whether each position has a record, where the contract does not say. `brought`: by the window's commits on main.

    Not in a compacted topic, nor where commits from before the incident have holes between their rows. Those are the
    ones below the window; where these are few, the window's from before its newest run, too. Only a named
    source partition is read in order by one reader. A job that may lose rows in flight leaves such holes too, and one
    that is much wider than those before is no usual one: then each hole counts.
    Cost: as of `parts_by_commit`, of 20 commits that are mostly known.
    """
    observation = ask.observation
    if ask.contract.position_partition is None or any(run.may_lose_in_flight for run in observation.jobs.values):
        return True
    if observation.is_compacted:
        return False
    before = newest_with_rows(observation.table, reach.since, _COMMITS) if reach.since is not None else ()
    if len(before) <= _FEWEST:
        own = [commit for commit in reach.main if brings_rows(commit)]
        older = [commit for commit in own if commit.job_id != own[-1].job_id]
        before = (*before, *(older or own))
    told = parts_by_commit(spark, observation.table, ask.contract, before)
    if isinstance(told, NotSeen):
        return True
    holes = [max((part.missing for part in parts), default=0) for parts in told.values()]
    with_holes = sum(most > 0 for most in holes)
    if with_holes < _FEWEST or 2 * with_holes < len(holes):
        return True
    widest = max((part.missing for parts in brought.values() for part in parts), default=0)
    return widest > _WIDER * max(holes)


def usual_holes(spark: SparkSession, ask: Ask, reach: Reach, is_dense: bool) -> Usual:
    """In the newest commits with rows below the window; in the window's newest too, where positions are not dense. None
    where these cannot be read. Cost: two columns of their files, and a sort."""
    table, is_compacted = ask.observation.table, ask.observation.is_compacted
    commits = newest_with_rows(table, reach.since, _COMMITS) if reach.since is not None else ()
    if not is_dense:
        commits = (*commits, *[commit for commit in reach.main if brings_rows(commit)][-_COMMITS:])
    nothing = no_holes()._replace(is_dense=is_dense, is_compacted=is_compacted and not is_dense)
    if (places := places_by(spark, table, ask.contract, commits)) is None:
        return nothing
    before = F.lag("position").over(Window.partitionBy("snapshot_id", "partition").orderBy("position"))
    holes = places.where("position IS NOT NULL").distinct().withColumn("hole", F.col("position") - before - 1)
    try:
        told = holes.agg(
            F.sum("hole").alias("missing"), F.count("*").alias("rows"), F.max("hole").alias("most")
        ).first()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return nothing
    assert told is not None
    missing = int(told["missing"] or 0)
    return nothing._replace(
        commits=len(commits),
        missing=missing,
        positions=missing + int(told["rows"]),
        widest=int(told["most"] or 0),
    )


def outside_of(spark: SparkSession, gaps: DataFrame, parts: Sequence[Part]) -> DataFrame:
    """`gaps` without those between rows of one part."""
    ends = [(part.partition, part.low, part.high) for part in parts if part.low is not None]
    known = F.broadcast(spark.createDataFrame(ends, "of string, low bigint, high bigint"))
    is_inside = (F.col("first") > F.col("low")) & (F.col("last") < F.col("high"))
    return gaps.join(known, F.col("partition").eqNullSafe(F.col("of")) & is_inside, "left_anti")


def holding(gaps: DataFrame, places: DataFrame) -> DataFrame:
    """`gaps` in which some of these places lie. `places`: partition, position."""
    lost = places.select(F.col("partition").alias("of"), F.col("position").alias("at"))
    is_inside = (F.col("at") >= F.col("first")) & (F.col("at") <= F.col("last"))
    return gaps.join(lost, F.col("partition").eqNullSafe(F.col("of")) & is_inside, "left_semi")


def holes_untold(ask: Ask, size: int, first: tuple[int, int], usual: Usual) -> NotSeen:
    """What is said of holes of the usual kind; `first`: the ends of the first one."""
    where = f"the first {shown_range(ask, *first)}"
    alike = (
        f"Within {counted(usual.commits, 'commit')} there, {usual.missing:,} of {usual.positions:,} positions have no "
        f"row either, at most {usual.widest:,} in a row"
    )
    if usual.is_dense:
        why, remedy = f"{alike} before the window. They may never have had a record", "If records may lack positions, "
        remedy += "as in a compacted topic or one of a transactional producer, set position_is_dense to false."
    else:
        why = f"Positions are not dense here. {alike}"
        remedy = "Waterline compares the states that the job began from. Else ask the source for these positions."
    return NotSeen(
        source=f"positions of {ask.observation.table.name} between its commits",
        reason=f"{counted(size, 'position')} ({where}) {'has' if size == 1 else 'have'} no row. {why}.",
        remedy=remedy,
    )


_SIMPLE = {"append", "replace"}
"""A compaction brings no new position and is passed over."""


def window_places(spark: SparkSession, ask: Ask, reach: Reach) -> DataFrame:
    """Shape: partition (string), position (bigint); one row per row that was added by the window's commits, rolled-back
    ones too. Where they do more than append, of those on main what is left of it."""
    parts = [lost_places(spark, ask, reach)] if reach.branches else []
    if reach.main:
        parts.append(_added(spark, ask, reach.main, reach.since, reach.until))
    inside = parts[0].select("partition", "position")
    for part in parts[1:]:
        inside = inside.unionByName(part.select("partition", "position"))
    return inside


def places_as_written(spark: SparkSession, ask: Ask, commits: Sequence[Snapshot]) -> DataFrame:
    """Shape: snapshot_id, partition, position, key (a hash); one row per row that stands in a file which these commits
    added, whether it lives or not; without compactions, which bring none. Cost: these columns of the files."""
    files = data_added(
        files_of(spark, ask.observation.table, ask.contract, [c for c in commits if c.operation != "replace"])
    )
    rows = rows_in(spark, ask.observation.table, files, names_of_places(ask))
    return rows.select(F.col(COMMIT).alias("snapshot_id"), *_told(ask)).drop("moment")


def lost_places(spark: SparkSession, ask: Ask, reach: Reach) -> DataFrame:
    """Shape: partition, position; one row per row of the commits that were rolled back, of which there are some."""
    lost = _of_branch(spark, ask, reach.branches[0])
    for branch in reach.branches[1:]:
        lost = lost.unionByName(_of_branch(spark, ask, branch))
    return lost.select("partition", "position")


def older_places(spark: SparkSession, ask: Ask, at: SnapshotId, edges: Sequence[Edge]) -> DataFrame:
    """Shape: partition, position, key; one row per row that lived at `at` at or above its partition's edge, and some
    more. Cost: files whose positions reach the edges or more, by their bounds."""
    ranges = [Range(edge.partition, edge.begins, None) for edge in edges]
    return _places(within(rows_at(spark, ask.observation.table, at), ask, ranges), ask).drop("moment")


def names_of_places(ask: Ask) -> list[str]:
    """Columns that tell where in the source a row comes from, and of which record it is."""
    named = (ask.contract.position_partition, ask.contract.position, *key_columns(ask), *moment_of(ask))
    return list(dict.fromkeys(name for name in named if name is not None))


def added_places(
    spark: SparkSession, ask: Ask, commits: tuple[Snapshot, ...], since: SnapshotId | None, until: SnapshotId
) -> DataFrame:
    """Shape: partition, position; one row per row that these commits added, from `since` (exclusive) to `until`."""
    return _added(spark, ask, commits, since, until).select("partition", "position")


def live_places(spark: SparkSession, ask: Ask, at: SnapshotId, edges: Sequence[Edge]) -> DataFrame:
    """Shape: partition, position, lowest, is_shared (boolean: whether rows of different keys carry it, which a replay
    does not make; where the contract names a source partition, of different event times too, because one record may
    make several rows); one row per live position at or above its partition's edge.

    Cost: files whose positions reach the edges or more, by their bounds.
    """
    ranges = [Range(edge.partition, edge.begins, None) for edge in edges]
    live = _places(within(rows_at(spark, ask.observation.table, at), ask, ranges), ask)
    told = [(edge.partition, edge.lowest, edge.begins) for edge in edges]
    edge = F.broadcast(spark.createDataFrame(told, "of string, lowest bigint, begins bigint"))
    near = live.join(edge, F.col("partition").eqNullSafe(F.col("of")), "inner").where("position >= begins")
    return near.groupBy("partition", "position").agg(
        F.min("lowest").alias("lowest"), _is_shared(ask).alias("is_shared")
    )


def gaps_between(live: DataFrame) -> DataFrame:
    """Shape: partition, first, last (missing positions, inclusive), size; one row per gap that ends in or above
    the window's lowest position, one below the lowest live position too: the window brought that, and lost it. `live`
    has one row per position, so copies do not count."""
    before = F.lag("position").over(Window.partitionBy("partition").orderBy("position"))
    return (
        live.withColumn("before", F.coalesce(before, F.col("lowest") - 1))
        .where("position > before + 1 AND position >= lowest")
        .select(
            "partition",
            (F.col("before") + 1).alias("first"),
            (F.col("position") - 1).alias("last"),
            (F.col("position") - F.col("before") - 1).alias("size"),
        )
    )


@dataclass(frozen=True)
class Gaps:
    missing: int
    """Positions of those that are sure."""
    untold: int
    """Positions of the others."""
    count: int
    """How many are sure; where none is, how many are not."""
    first: tuple[PositionGap, ...]
    """Of these the first, by partition and position."""
    first_untold: PositionGap | None = None
    """The first of those that are not sure."""
    usual: Usual | None = None
    """Against which they were held; None: nothing else explains that they are not sure but deletes by key."""


NO_GAPS = Gaps(missing=0, untold=0, count=0, first=())
MOST_GAPS = 20_000
"""So many are judged one by one, the widest; where there are more, positions are scattered, and the others are open."""


def gaps_of(
    gaps: Sequence[PositionGap],
    most: int,
    usual: Callable[[], Usual],
    is_lost: Callable[[PositionGap], bool],
    *,
    open_ones: Sequence[PositionGap] = (),
    more: int = 0,
) -> Gaps:
    """`gaps`, by partition and position: each is sure by its width, or where it holds what a rolled-back commit
    brought. `open_ones`: those that are not sure whatever their width; `more`: positions in gaps that are not listed.
    """
    told = usual() if gaps else None
    sure = [gap for gap in gaps if told is not None and (gap.size >= told.sure_from or is_lost(gap))]
    surely = set(sure)
    others = [gap for gap in (*gaps, *open_ones) if gap not in surely]
    kept = sure or others
    return Gaps(
        missing=sum(gap.size for gap in sure),
        untold=sum(gap.size for gap in others) + more,
        count=len(kept),
        first=tuple(kept[:most]),
        first_untold=others[0] if others else None,
        usual=told,
    )


def gaps_in(gaps: DataFrame, most: int, usual: Callable[[], Usual], lost: DataFrame | None) -> Gaps:
    """The same of `gaps`: partition, first, last, size, is_sure (whether it may be sure); one row per gap. `lost`: as
    of `lost_places`. Reads."""
    with persisted(gaps) as kept:
        total = kept.agg(F.sum("size")).first()
        widest = kept.orderBy(F.desc("size"), "partition", "first").limit(MOST_GAPS).collect()
        of_lost: set[tuple[str | None, int]] = set()
        if lost is not None and widest:
            held = holding(kept, lost).select("partition", "first").distinct().limit(MOST_GAPS)
            of_lost = {(row["partition"], row["first"]) for row in held.collect()}
    told = [
        (PositionGap(first=row["first"], last=row["last"], partition=row["partition"]), row["is_sure"])
        for row in sorted(widest, key=lambda row: (row["partition"] or "", row["first"]))
    ]
    return gaps_of(
        [gap for gap, is_sure in told if is_sure],
        most,
        usual,
        lambda gap: (gap.partition, gap.first) in of_lost,
        open_ones=[gap for gap, is_sure in told if not is_sure],
        more=int((total[0] if total is not None else None) or 0) - sum(gap.size for gap, _ in told),
    )


def rolled_back_places(spark: SparkSession, ask: Ask, reach: Reach, live: DataFrame) -> DataFrame:
    """Shape: one row: inside, above (bigint): positions of rolled-back commits that no live row carries, below
    and above the highest live position of their partition."""
    lost = lost_places(spark, ask, reach).where("position IS NOT NULL").distinct()
    places = live.select(F.col("partition").alias("of"), F.col("position").alias("at"))
    same = F.col("partition").eqNullSafe(F.col("of")) & (F.col("position") == F.col("at"))
    absent = lost.join(places, on=same, how="left_anti")
    tops = live.groupBy(F.col("partition").alias("of")).agg(F.max("position").alias("top"))
    placed = absent.join(F.broadcast(tops), F.col("partition").eqNullSafe(F.col("of")), "left")
    is_inside = F.coalesce(F.col("position") < F.col("top"), F.lit(False))
    return placed.agg(F.count_if(is_inside).alias("inside"), F.count_if(~is_inside).alias("above"))


def _of_branch(spark: SparkSession, ask: Ask, branch: Branch) -> DataFrame:
    return _added(spark, ask, branch.commits, branch.fork, branch.leaf)


def _added(
    spark: SparkSession, ask: Ask, commits: tuple[Snapshot, ...], since: SnapshotId | None, until: SnapshotId
) -> DataFrame:
    """Places of the rows that these commits added; where they do more than append, of what is left of them, and of
    what they compacted, as it was before."""
    if since is not None and operations(commits) <= _SIMPLE:
        return _places(rows_appended(spark, ask.observation.table, since, until), ask)
    new = [commit for commit in commits if commit.operation != "replace"]
    files = entries(spark, new).where("status = 1 AND content = 0").select(F.col("file_path").alias("_file")).distinct()
    rows = rows_at(spark, ask.observation.table, until).select("*", "_file")
    left = _places(rows.join(F.broadcast(files), on="_file", how="left_semi"), ask)
    return left if len(new) == len(commits) else left.unionByName(_compacted(spark, ask, commits))


def _compacted(spark: SparkSession, ask: Ask, commits: tuple[Snapshot, ...]) -> DataFrame:
    """Places in files that these commits added and then compacted. Raises Inconclusive where a column was renamed
    since: such a file holds it under another name."""
    compactions = {commit.snapshot_id for commit in commits if commit.operation == "replace"}
    files = files_of(spark, ask.observation.table, ask.contract, commits)
    gone = {each.path for each in files if not each.is_added and each.snapshot_id in compactions}
    brought = [each for each in data_added(files) if each.snapshot_id not in compactions and each.path in gone]
    names = names_of_places(ask)
    require_readable(ask.observation.table, names)
    return _places(rows_in(spark, ask.observation.table, brought, names), ask)


def _places(rows: DataFrame, ask: Ask) -> DataFrame:
    return rows.select(*_told(ask))


def _told(ask: Ask) -> tuple[Column, ...]:
    position = ask.contract.position
    assert position is not None
    return (
        partition_of(ask).alias("partition"),
        column(position).cast("bigint").alias("position"),
        key_hash(key_columns(ask)).alias("key"),
        key_hash(moment_of(ask)).alias("moment"),
    )


def _is_shared(ask: Ask) -> Column:
    is_of_several = F.min("key") != F.max("key")
    if ask.contract.position_partition is None:
        return is_of_several if key_columns(ask) else F.count("*") > 1
    return is_of_several & (F.min("moment") != F.max("moment")) if moment_of(ask) else is_of_several
