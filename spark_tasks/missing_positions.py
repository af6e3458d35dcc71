"""Is any source position missing around the window?"""

from collections.abc import Sequence

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.looked import NotSeen
from spark_tasks._by_key import is_by_key, told_by_key, untold_gaps, written_places
from spark_tasks._deleted_behind import deleted_behind
from spark_tasks._event_time import brings_rows
from spark_tasks._gaps import counted_gaps
from spark_tasks._overwriting import overwrites
from spark_tasks._places import gaps_between, live_places, rolled_back_places
from spark_tasks._position_words import bare, headline, open_still, untold_still
from spark_tasks._silent import silences
from spark_tasks._source_edges import Edges, edges_of, several_partitions, unplaced
from spark_tasks._tails import Tails, cut_short, tails_of, tops_of
from spark_tasks._window import Reach, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, absent_columns, cell, could_not, shown

TASK = Task(
    name="missing_positions",
    title="Missing positions",
    version=8,
    question="Is any source position missing between the lowest and the highest around the window?",
    confirmed_means="the source had records that no row of the table carries",
    ruled_out_means="no position is missing between the lowest and the highest",
    needs=("table", "contract.position"),
    cost="position columns of the window's rows, and position, key and event time of files whose positions reach its "
    "lowest or the next below. Where a source partition is named, it also reads these columns of the 20 "
    "commits below the window. Of expired commits it reads them only in files that may hold another partition "
    "than the window's. If the window has more than five commits, it reads those of its 20 newest. It looks in older "
    "files where the lowest position is not live. Where the window deletes or overwrites, it reads position "
    "columns of all files that it added. Of a table that is written by key, it reads their key columns too. Where "
    "another writer took rows out, it reads them of all rows",
)
_WHOLE = {"int", "long"}


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Gaps of live positions from just below the window's lowest position to the highest live one; that the window
    brought one below all that lives, and lost it, is a gap too.

    Positions are compared within each source partition where the contract names one. Rows of different keys at one
    position show that there are several, or several topics whose partitions have the same numbers; where a partition is
    named, their event times must differ too. Copies do not hide or make a gap. A window that holds
    the table's first commit is compared from its own lowest position on. What lies behind the last row of a source
    partition is told by the job's state, or left open; see `tails_of`. What the window brought there and deleted again
    leaves it open, too; see `deleted_behind`.
    """
    if (unfit := _unfit(ask)) is not None:
        return unfit
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its rows cannot be read.", reach)
    if not reach.main and not reach.branches:
        return _whole(None, "No commit in the window, so no position can be missing from it.")
    written = written_places(spark, ask, reach) if is_by_key(ask, reach) else None
    if isinstance(written, NotSeen):
        return could_not(f"Missing positions cannot be told: {written.reason}", written)
    edges = edges_of(spark, ask, reach, written)
    if isinstance(edges, NotSeen):
        return could_not(f"Missing positions cannot be told: {edges.reason}", edges)
    if not edges.each:
        return _without_positions(ask, reach, edges.rows)
    return _compared(spark, ask, reach, edges, written)


def _compared(spark: SparkSession, ask: Ask, reach: Reach, edges: Edges, written: DataFrame | None) -> Answer:
    live = live_places(spark, ask, reach.until, edges.each).persist()
    lost, by_key = None, None
    try:
        span = live.agg(
            F.max("position").alias("highest"),
            F.count_if(F.col("position") >= F.col("lowest")).alias("positions"),
            F.count_if("is_shared").alias("shared"),
        ).first()
        assert span is not None
        if span["shared"]:
            return _of_several_partitions(ask, int(span["shared"]))
        if written is not None:
            by_key = told_by_key(spark, ask, reach, edges.each, live, written)
            by_key.brought.persist()
        there = live if by_key is None else by_key.brought
        all_sure = gaps_between(live).withColumn("is_sure", F.lit(True))
        gaps = counted_gaps(all_sure if by_key is None else by_key.gaps)
        if reach.branches:
            lost = rolled_back_places(spark, ask, reach, there).first()
        tops = tops_of(there)
        replaced = None if by_key is None else by_key.brought.where("NOT is_live").count()
    finally:
        live.unpersist()
        if by_key is not None:
            by_key.brought.unpersist()
    tails = tails_of(spark, ask, reach, edges, tops)
    deleted = deleted_behind(spark, ask, reach, tops)
    unjudged = (*deleted, *_not_judged(ask, edges, silences(spark, ask, reach, edges), tails))
    missing = gaps.missing + tails.size
    is_untold = bool(gaps.untold) and not missing
    if gaps.untold:
        unjudged = (untold_gaps(ask, reach, gaps), *unjudged)
    elif unjudged and not missing:
        return open_still(edges, unjudged, is_deleted=bool(deleted))
    between = [_gap(row["partition"], row["first"], row["last"], ask) for row in gaps.first]
    behind = [_gap(gap.partition, gap.first, gap.last, ask) for gap in tails.missing]
    finding = GapsFinding(
        lowest=edges.each[0].lowest,
        highest=max(tops.values(), default=None),
        positions=int(span["positions"]),
        missing=gaps.untold if is_untold else missing,
        gaps=tuple(sorted((*between, *behind), key=lambda gap: (gap.partition or "", gap.first))[:MAX_ROWS]),
        replaced=replaced,
        is_untold=is_untold,
    )
    return _told(ask, reach, finding, gaps.count + len(behind), lost, edges, tails, unjudged)


def _told(
    ask: Ask,
    reach: Reach,
    finding: GapsFinding,
    gaps: int,
    lost: Row | None,
    edges: Edges,
    tails: Tails,
    unjudged: tuple[NotSeen, ...],
) -> Answer:
    inside = int(lost["inside"]) if lost else 0
    above = int(lost["above"]) if lost else 0
    verdict = Verdict.CONFIRMED if finding.missing else Verdict.RULED_OUT
    said = headline(ask, reach, finding, gaps, inside, above, edges, tails)
    if finding.is_untold:
        verdict, said = Verdict.INCONCLUSIVE, untold_still(unjudged[0])
    return Answer(
        verdict=verdict,
        headline=said,
        measures=(
            Measure(name="missing positions", value=0 if finding.is_untold else finding.missing, unit="positions"),
            Measure(name="gaps", value=gaps, unit="gaps"),
            Measure(name="missing and rolled back", value=inside, unit="positions"),
            Measure(name="rolled back above the highest live position", value=above, unit="positions"),
            Measure(name="read by the job and not committed yet", value=tails.waiting, unit="positions"),
            Measure(name="rows of the window without a position", value=edges.without, unit="rows"),
            *_of_replaced(finding),
            Measure(name="source partitions with a row in the window", value=len(edges.each), unit="partitions"),
        ),
        columns=("partition", "first missing", "last missing", "positions"),
        rows=tuple(_row(ask, gap) for gap in finding.gaps),
        finding=finding.model_copy(update={"to_come": above}),
        sources=(f"column {ask.contract.position} of the window's rows, of its rolled-back commits and just below",),
        could_not_look=unjudged,
    )


def _of_replaced(finding: GapsFinding) -> tuple[Measure, ...]:
    if finding.replaced is None:
        return ()
    return (Measure(name="replaced or deleted by key, not missing", value=finding.replaced, unit="positions"),)


def _not_judged(ask: Ask, edges: Edges, silent: Sequence[NotSeen], tails: Tails) -> tuple[NotSeen, ...]:
    return (
        *((unplaced(ask, edges.unplaced),) if edges.unplaced else ()),
        *silent,
        *((cut_short(ask, tails.stopped),) if tails.stopped else ()),
        *((bare(ask, edges),) if edges.without else ()),
    )


def _unfit(ask: Ask) -> Answer | None:
    """An inconclusive answer when the contract does not name columns that can be compared."""
    contract, table = ask.contract, ask.observation.table
    if contract.position is None:
        return could_not(
            f"Missing positions cannot be told: the contract of {table.name} names no position column.",
            NotSeen(
                source="contract.position",
                reason="The contract names no column that holds the source position.",
                remedy="Name one in the table's contract, if the rows carry it.",
            ),
        )
    if missing := absent_columns(ask, contract.position, contract.position_partition):
        return could_not(f"Missing positions cannot be told: {missing[0].reason}", *missing)
    kind = next(column.type for column in table.columns if column.name == contract.position)
    if kind in _WHOLE:
        return None
    return could_not(
        f"Missing positions cannot be told: column {contract.position} holds {kind}, not whole numbers.",
        NotSeen(
            source=f"column {contract.position} of {table.name}",
            reason=f"Expected an int or long; found {kind}.",
            remedy="Name another column as position, or none.",
        ),
    )


def _without_positions(ask: Ask, reach: Reach, rows: int) -> Answer:
    if rows == 0 and any(brings_rows(c) or overwrites(c) for c in (*reach.main, *reach.rolled_back)):
        return could_not("The window's commits added rows, and none of these lives any more.", _all_deleted(ask))
    if rows == 0:
        return _whole(None, "The window's commits added no row, so no position can be missing from it.")
    column = ask.contract.position
    return could_not(
        f"Missing positions cannot be told: {column} is null in every row of the window.",
        NotSeen(
            source=f"column {column} of {ask.observation.table.name}",
            reason=f"All {rows:,} rows of the window have null there.",
            remedy="Look whether the job still fills it; name another column if not.",
        ),
    )


def _all_deleted(ask: Ask) -> NotSeen:
    return NotSeen(
        source=f"column {ask.contract.position} of the window's rows",
        reason="The rows that the window added were all deleted or replaced since: which positions they had, and "
        "whether any was missing, is not known.",
        remedy="Ask who deleted them; if that was right, ask again with a window that ends before it.",
    )


def _of_several_partitions(ask: Ask, shared: int) -> Answer:
    several = several_partitions(ask, shared)
    return could_not(f"Missing positions cannot be told: {several.reason}", several)


def _whole(highest: int | None, headline: str) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        finding=GapsFinding(lowest=None, highest=highest, positions=0, missing=0, gaps=()),
    )


def _gap(partition: str | None, first: int, last: int, ask: Ask) -> PositionGap:
    named = ask.contract.position_partition
    return PositionGap(
        first=first, last=last, partition=None if named is None else shown(named, partition, ask.contract)
    )


def _row(ask: Ask, gap: PositionGap) -> tuple[str, ...]:
    position = ask.contract.position or ""
    bounds: Sequence[str] = [shown(position, bound, ask.contract) for bound in (gap.first, gap.last)]
    return (cell(gap.partition), bounds[0], bounds[1], str(gap.size))
