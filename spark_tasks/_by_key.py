"""Missing positions of a table that is written by key. There a row that was replaced takes its position along, so what
counts is whether any commit brought a row at the position, not whether that row lives."""

from collections.abc import Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import bare_deletes, why_by_key
from bot.domain.evidence import Ask
from bot.domain.ids import short
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import Snapshot
from spark_tasks._columns_of_before import renamed
from spark_tasks._holes import holes_untold
from spark_tasks._near import Edge, key_columns, key_hash
from spark_tasks._places import Gaps, lost_places, names_of_places, older_places, places_as_written
from spark_tasks._reading import local_ids, rows_at
from spark_tasks._window import Reach
from spark_tasks._words import shown

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


def written_places(spark: SparkSession, ask: Ask, reach: Reach) -> DataFrame | NotSeen:
    """As of `places_as_written`, for the window's commits on main; NotSeen where their files cannot be read by the
    table's present names, or no key tells what another writer took out. Raises EvidenceFailed; see `rows_in`."""
    if unread := renamed(ask.observation.table, names_of_places(ask)):
        return unread[0]
    if (bare := _without_keys(ask, reach)) is not None:
        return bare
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
    low, high = (shown(ask.contract.position or "", end, ask.contract) for end in (one.first, one.last))
    where = f"{'' if one.size == gaps.untold else 'the first '}{low if one.size == 1 else f'{low} to {high}'}"
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


def _without_keys(ask: Ask, reach: Reach) -> NotSeen | None:
    """What is said where another writer took rows out, and no key tells replaced rows from these; None: all is well."""
    if key_columns(ask) or not (others := takers(reach)):
        return None
    return NotSeen(
        source="contract.key",
        reason=f"The table is written by key, {short(others[0].snapshot_id)} of another writer took rows out, and the "
        "contract names no key: which rows were replaced rightly is not known.",
        remedy="Name the key of the Flink sink in the table's contract, then ask again.",
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
    for place_of, column, name in ends:
        found = known.select(F.col("_at"), F.col(column).alias(name))
        paired = paired.join(found, place_of == F.col("_at"), "left").drop("_at")
    return paired
