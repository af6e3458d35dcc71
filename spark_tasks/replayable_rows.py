"""Does the declared source still give what the table lacks?"""

from pyspark.sql import Column, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.source_records import in_words, on_broker
from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import PositionGap, ReplayableFinding
from bot.observation.looked import Seen
from bot.observation.replay import PositionRange, ReplayRange, ReplayRecipe
from bot.observation.sentences import counted
from spark_tasks._support.kafka import held
from spark_tasks._support.positions import positions_of, several_partitions, unplaced, untold_gaps
from spark_tasks._support.reading import column, persisted, rows_appended, rows_at, whole_schema
from spark_tasks._support.replay import event_span, rows_absent, rows_given, summed
from spark_tasks._support.window import Reach, reach_of
from spark_tasks._support.words import (
    MAX_ROWS,
    Inconclusive,
    answers,
    at,
    cell,
    inconclusive,
    require_columns,
    require_key,
    shown,
)

TASK = Task(
    name="replayable_rows",
    title="Replayable rows",
    question="Can the declared source still give rows that the table lacks?",
    confirmed_means="a replay would write them; the answer says how many, and whether any can no longer be read",
    ruled_out_means="the source has no row that the table lacks",
    needs=("table", "contract.key"),
    cost="as missing_positions; then the source within the bounds, and the table's key columns",
    confirmed_is="relief",
    version=3,
)
MAX_RANGES = 200
"""Gaps that are replayed one by one; more than these are no lost range."""


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Asks the source for exactly the missing positions; without positions for the window's event times, as far as they
    are settled. A row whose key lives is never counted as absent. Raises EvidenceFailed for a recipe that does not fit.
    """
    recipe = ask.replay
    if recipe is None:
        raise inconclusive(
            source=f"`replay` of {ask.observation.table.name} in the configuration file",
            reason="Nothing is declared from which rows could be made once more: no topic, SELECT or function.",
            remedy="Declare `replay` with `kafka`, `sql` or `function`, restart Waterline, and ask again.",
        )
    require_key(ask)
    contract = ask.contract
    require_columns(ask, contract.position, contract.position_partition, contract.event_time)
    reach = reach_of(ask)
    if contract.position is not None:
        bounds, lost = _gaps(spark, ask, reach)
    else:
        bounds, lost = _times(spark, ask, reach, recipe), None
    if bounds is None:
        return _nothing(lost)
    return _told(spark, ask, reach, recipe, bounds, lost)


def _gaps(spark: SparkSession, ask: Ask, reach: Reach) -> tuple[ReplayRange | None, int]:
    """(the missing positions, how many). Of a table that is written by key those that are missing for sure: a replay of
    what was replaced or deleted would bring deleted rows back."""
    if not reach.main and not reach.branches:
        return None, 0
    found = positions_of(spark, ask, reach, MAX_RANGES)
    if not found.edges.each:
        return None, 0
    if found.gaps.untold and not found.gaps.missing:
        raise Inconclusive(untold_gaps(ask, reach, found.gaps))
    if found.shared:
        raise Inconclusive(several_partitions(ask, found.shared))
    if not found.gaps.count and found.edges.unplaced:
        raise Inconclusive(unplaced(ask, found.edges.unplaced))
    if found.gaps.count > MAX_RANGES:
        raise inconclusive(
            source="gaps of source positions",
            reason=f"More than {MAX_RANGES} separate gaps: the positions are scattered, not lost in ranges.",
            remedy="Look whether the column of the contract counts by one, or ask with a shorter window.",
        )
    ranges = tuple(_range(ask, gap) for gap in found.gaps.first)
    return (ReplayRange(positions=ranges) if ranges else None), found.gaps.missing


def _range(ask: Ask, gap: PositionGap) -> PositionRange:
    """A hidden partition is not named in the record: then positions are meant of every one."""
    of = None if ask.contract.hides(ask.contract.position_partition) else gap.partition
    return PositionRange(first=gap.first, last=gap.last, partition=of)


def _times(spark: SparkSession, ask: Ask, reach: Reach, recipe: ReplayRecipe) -> ReplayRange | None:
    """From the window's first event to where the job has surely read, as the window's newest event tells."""
    named = ask.contract.event_time
    if named is None:
        raise inconclusive(
            source="contract.position and contract.event_time",
            reason="The contract names neither a position nor an event time, so that a replay has no bounds.",
            remedy="Name one of both in the table's contract, and give it in the declared replay.",
        )
    if not reach.main:
        return None
    table, since = ask.observation.table, reach.since
    inside = rows_at(spark, table, reach.until) if since is None else rows_appended(spark, table, since, reach.until)
    event = F.unix_micros(column(named).cast("timestamp"))
    edges = inside.agg(F.min(event).alias("low"), F.max(event).alias("high")).first()
    assert edges is not None
    if edges["low"] is None:
        return None
    since_, until_ = at(edges["low"]), at(edges["high"]) - recipe.settled_after
    if since_ >= until_:
        raise inconclusive(
            source="the window's event times",
            reason=f"Every event of the window is younger than {recipe.settled_after}, so that the job may still "
            "bring what is missing.",
            remedy="Wait, then ask again; or name a shorter `settled_after` if the job is surely further.",
        )
    return ReplayRange(event_from=since_, event_until=until_)


def _told(
    spark: SparkSession, ask: Ask, reach: Reach, recipe: ReplayRecipe, bounds: ReplayRange, lost: int | None
) -> Answer:
    table, contract = ask.observation.table, ask.contract
    schema, asked, seen = whole_schema(spark, table), bounds, ask.observation.kafka
    there = 0
    if recipe.kafka is not None and isinstance(seen, Seen):
        asked = bounds.model_copy(update={"positions": held(bounds.positions, seen.values)})
        there = sum(each.last - each.first + 1 for each in asked.positions)
    is_gone = bool(bounds.positions) and not asked.positions
    given = spark.createDataFrame([], schema) if is_gone else rows_given(spark, recipe, asked, contract, schema)
    with persisted(given):
        places = [F.count_distinct(F.struct(*_place(contract))).alias("places")] if lost is not None else []
        keys = F.count_distinct(F.struct(*(column(key) for key in contract.key))).alias("keys")
        total = given.agg(F.count("*").alias("rows"), keys, *places).first()
        absent = rows_absent(spark, table, reach.until, contract, given)
        rows, digest = summed(absent)
        since, until = event_span(absent, contract)
        assert total is not None
    found = rows if _of_every_partition(bounds, contract) else int(total["rows"])
    placed = min(found, int(total["places"])) if lost is not None else 0
    finding = ReplayableFinding(
        bounds=bounds,
        missing=lost,
        given=found,
        repeated=int(total["rows"]) - int(total["keys"]),
        absent=rows,
        elsewhere=found - rows if lost is not None else 0,
        not_given=max(0, lost - max(placed, there)) if lost is not None else None,
        empty=max(0, there - placed),
        event_from=since,
        event_until=until,
        digest=digest,
    )
    return Answer(
        verdict=Verdict.CONFIRMED if rows else Verdict.RULED_OUT,
        headline=" ".join((_headline(finding), *(() if finding.empty else _kept(ask, bounds)))),
        measures=(
            Measure(name="rows to be written", value=rows, unit="rows"),
            Measure(name="missing positions", value=lost or 0, unit="positions"),
            Measure(name="no longer given", value=finding.not_given or 0, unit="positions"),
        ),
        columns=("partition", "first missing", "last missing"),
        rows=tuple(_row(ask, each) for each in bounds.positions[:MAX_ROWS]),
        finding=finding,
        sources=(recipe.source, "key columns of the table"),
    )


def _of_every_partition(bounds: ReplayRange, contract: TableContract) -> bool:
    """Where partitions are hidden, the source gives rows of the others as well; those live already."""
    return contract.position_partition is not None and any(each.partition is None for each in bounds.positions)


def _place(contract: TableContract) -> list[Column]:
    columns = (contract.position_partition, contract.position)
    return [column(each) for each in columns if each is not None]


def _row(ask: Ask, each: PositionRange) -> tuple[str, ...]:
    position = ask.contract.position or ""
    return (cell(each.partition), *(shown(position, bound, ask.contract) for bound in (each.first, each.last)))


def _kept(ask: Ask, bounds: ReplayRange) -> tuple[str, ...]:
    """What Kafka still has of them."""
    gaps = (PositionGap(first=each.first, last=each.last, partition=each.partition) for each in bounds.positions)
    return () if ask.contract.hides(ask.contract.position) else in_words(on_broker(ask.observation.kafka, gaps))


def _headline(found: ReplayableFinding) -> str:
    gone = f"; {counted(found.not_given, 'position')} it no longer gives" if found.not_given else ""
    if found.missing is None:
        return f"The source gives {counted(found.absent, 'row')} of the window's event times that the table lacks."
    missing = counted(found.missing, "position")
    if found.empty and not found.absent:
        return f"Nothing can be replayed: at {found.empty:,} of the {missing} that are missing, Kafka has no row{gone}."
    if found.empty:
        gone = f"; at {found.empty:,} Kafka has no row{gone}"
    if not found.given:
        return f"The source gives none of the {missing} that are missing."
    return f"Of {missing} that are missing, a replay would write {counted(found.absent, 'row')}{gone}."


def _nothing(lost: int | None) -> Answer:
    bare = ReplayableFinding(
        bounds=ReplayRange(), missing=lost, given=0, repeated=0, absent=0, elsewhere=0,
        not_given=None if lost is None else 0, event_from=None, event_until=None, digest="0-0-0",
    )  # fmt: skip
    return Answer(
        verdict=Verdict.RULED_OUT, headline="No position is missing, so nothing has to be replayed.", finding=bare
    )
