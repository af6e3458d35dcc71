"""Positions that never had a record: transaction markers, aborted records, what compaction took.

A source reads in order, so no loss lies between two rows of one commit. How wide such holes are tells which of those
between commits are of the same kind. Whether positions are dense at all is told by the contract, by the broker, or by
the commits from before the incident.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._columns_of_before import renamed
from spark_tasks._coverage import Part, parts_by_commit
from spark_tasks._data_files import COMMIT, MAX_FILES, data_added, files_of, orc_times, rows_in
from spark_tasks._event_time import brings_rows, newest_with_rows
from spark_tasks._near import partition_of
from spark_tasks._reading import column
from spark_tasks._window import Reach
from spark_tasks._words import shown

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
    names = [name for name in (ask.contract.position_partition, ask.contract.position) if name is not None]
    if not commits or renamed(table, names) or sum(c.counted("added-data-files") for c in commits) > MAX_FILES:
        return nothing
    files = data_added(files_of(spark, commits))
    if not files or orc_times(table, {file.format for file in files}, names):
        return nothing
    places = rows_in(spark, table, files, names).select(
        COMMIT, partition_of(ask).alias("of"), column(names[-1]).cast("bigint").alias("at")
    )
    before = F.lag("at").over(Window.partitionBy(COMMIT, "of").orderBy("at"))
    holes = places.where("at IS NOT NULL").distinct().withColumn("hole", F.col("at") - before - 1)
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
    low, high = (shown(ask.contract.position or "", end, ask.contract) for end in first)
    where = f"the first {low}" if first[0] == first[1] else f"the first {low} to {high}"
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
