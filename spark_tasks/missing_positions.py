"""Is any source position missing around the window?"""

from collections.abc import Sequence

from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import GapsFinding, PositionGap
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from spark_tasks._places import gaps_between, live_places, rolled_back_places
from spark_tasks._silent import Silent, silence, silent_partitions
from spark_tasks._source_edges import Edges, edges_of, several_partitions, unplaced
from spark_tasks._window import Reach, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, absent_columns, cell, could_not, ids, shown

TASK = Task(
    name="missing_positions",
    title="Missing positions",
    question="Is any source position missing between the lowest and the highest around the window?",
    confirmed_means="the source had records that no live row carries",
    needs=("table", "contract.position"),
    cost="position columns of the window's rows, and of files whose positions reach its lowest or the next below (the "
    "key's too, where no source partition is named; where one is, both of the 20 commits below the window); of older "
    "files, where that one does not live",
)
_WHOLE = {"int", "long"}


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Gaps of live positions from just below the window's lowest position to the highest live one.

    Positions are compared within each source partition where the contract names one; where it names none, rows of
    different keys at one position show that there are several. Copies do not hide or make a gap. A window that holds
    the table's first commit is compared from its own lowest position on.
    """
    if (unfit := _unfit(ask)) is not None:
        return unfit
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its rows cannot be read.", reach)
    if not reach.main and not reach.branches:
        return _whole(None, "No commit in the window, so no position can be missing from it.")
    edges = edges_of(spark, ask, reach)
    if isinstance(edges, NotSeen):
        return could_not(f"Missing positions cannot be told: {edges.reason}", edges)
    if not edges.each:
        return _without_positions(ask, edges.rows)
    live = live_places(spark, ask, reach.until, edges.each).persist()
    lost = None
    try:
        span = live.agg(
            F.max("position").alias("highest"),
            F.count_if(F.col("position") >= F.col("lowest")).alias("positions"),
            F.count_if("is_shared").alias("shared"),
        ).first()
        assert span is not None
        if span["shared"]:
            return _of_several_partitions(ask, int(span["shared"]))
        gaps = gaps_between(live)
        counts = gaps.agg(F.count("*").alias("gaps"), F.sum("size").alias("missing")).first()
        first = gaps.orderBy("partition", "first").limit(MAX_ROWS).collect()
        assert counts is not None
        if reach.branches:
            lost = rolled_back_places(spark, ask, reach, live).first()
    finally:
        live.unpersist()
    silent = silent_partitions(spark, ask, reach, edges)
    unjudged = _not_judged(ask, reach, edges, silent)
    if unjudged and not counts["missing"]:
        return _open(edges, unjudged)
    finding = GapsFinding(
        lowest=edges.each[0].lowest,
        highest=None if span["highest"] is None else int(span["highest"]),
        positions=int(span["positions"]),
        missing=int(counts["missing"] or 0),
        gaps=tuple(_gap(row, ask) for row in first),
    )
    return _told(ask, reach, finding, int(counts["gaps"]), lost, edges, unjudged)


def _told(
    ask: Ask,
    reach: Reach,
    finding: GapsFinding,
    gaps: int,
    lost: Row | None,
    edges: Edges,
    unjudged: tuple[NotSeen, ...],
) -> Answer:
    inside = int(lost["inside"]) if lost else 0
    above = int(lost["above"]) if lost else 0
    verdict = Verdict.CONFIRMED if finding.missing else Verdict.RULED_OUT
    return Answer(
        verdict=verdict,
        headline=_headline(
            ask, reach, finding, gaps, inside, above, from_=_beginning(ask, edges), parts=_parts(ask, edges)
        ),
        measures=(
            Measure(name="missing positions", value=finding.missing, unit="positions"),
            Measure(name="gaps", value=gaps, unit="gaps"),
            Measure(name="missing and rolled back", value=inside, unit="positions"),
            Measure(name="rolled back above the highest live position", value=above, unit="positions"),
            Measure(name="rows of the window without a position", value=edges.without, unit="rows"),
            Measure(name="source partitions with a row in the window", value=len(edges.each), unit="partitions"),
        ),
        columns=("partition", "first missing", "last missing", "positions"),
        rows=tuple(_row(ask, gap) for gap in finding.gaps),
        finding=finding.model_copy(update={"to_come": above}),
        sources=(f"column {ask.contract.position} of the window's rows, of its rolled-back commits and just below",),
        could_not_look=unjudged,
    )


def _not_judged(ask: Ask, reach: Reach, edges: Edges, silent: Sequence[Silent]) -> tuple[NotSeen, ...]:
    return (
        *((unplaced(ask, edges.unplaced),) if edges.unplaced else ()),
        *((silence(ask, reach, silent),) if silent else ()),
        *((_bare(ask, edges),) if edges.without else ()),
    )


def _beginning(ask: Ask, edges: Edges) -> str:
    """From where on nothing is missing, where the table begins with a later position than the first that there is."""
    first = edges.each[0]
    if not edges.begins_with_table or first.lowest <= 0 or len(edges.each) > 1:
        return ""
    return f" from {shown(ask.contract.position or '', first.lowest, ask.contract)}, with which the table begins,"


def _parts(ask: Ask, edges: Edges) -> str:
    """Which source partitions were compared: one that wrote nothing in the window may be idle or lost."""
    if ask.contract.position_partition is None:
        return ""
    return f", in {counted(len(edges.each), 'source partition')} that the window wrote"


def _headline(
    ask: Ask, reach: Reach, finding: GapsFinding, gaps: int, inside: int, above: int, *, from_: str, parts: str
) -> str:
    position = ask.contract.position or ""
    lost = [s.snapshot_id for s in reach.rolled_back]
    of_rolled_back = f"{counted(len(lost), 'commit')} that {'was' if len(lost) == 1 else 'were'} rolled back"
    if not finding.missing:
        waiting = (
            f" {counted(above, 'position')} of {of_rolled_back} {'lies' if above == 1 else 'lie'} above it and "
            f"{'is' if above == 1 else 'are'} not written again yet."
            if above
            else ""
        )
        highest = shown(position, finding.highest, ask.contract)
        return f"No position is missing{from_} up to the highest live one, {highest}{parts}.{waiting}"
    first = finding.gaps[0]
    low, high = (shown(position, bound, ask.contract) for bound in (first.first, first.last))
    where = f"{low} to {high}" if first.size > 1 else low
    partition = f" of partition {first.partition}" if first.partition is not None else ""
    several = f" in {gaps} gaps, the first {where}{partition}" if gaps > 1 else f": {where}{partition}"
    is_or_are = "is" if finding.missing == 1 else "are"
    cause = f"; {inside:,} of them stood in {of_rolled_back} ({ids(lost)})" if inside else ""
    return f"{counted(finding.missing, 'position')} {is_or_are} missing{several}{cause}."


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


def _without_positions(ask: Ask, rows: int) -> Answer:
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


def _of_several_partitions(ask: Ask, shared: int) -> Answer:
    several = several_partitions(ask, shared)
    return could_not(f"Missing positions cannot be told: {several.reason}", several)


def _open(edges: Edges, unjudged: tuple[NotSeen, ...]) -> Answer:
    """Nothing is missing between what was seen, and that is not all."""
    reason = unjudged[0].reason
    said = f"not every source partition was: {reason[0].lower()}{reason[1:]}"
    if edges.unplaced:
        said = f"below them there may be: {reason[0].lower()}{reason[1:]}"
    elif edges.without and len(unjudged) == 1:
        said = f"not all rows have one: {reason}"
    return could_not(f"No position is missing between those that were seen, but {said}", *unjudged)


def _bare(ask: Ask, edges: Edges) -> NotSeen:
    column = ask.contract.position
    has = "has" if edges.without == 1 else "have"
    return NotSeen(
        source=f"column {column} of {ask.observation.table.name}",
        reason=f"{edges.without:,} of the window's {counted(edges.rows, 'row')} {has} null there: whether rows like "
        "these are missing is not known.",
        remedy="Look who wrote them, and whether the job still fills it; choose a window without them if they are "
        "another writer's.",
    )


def _whole(highest: int | None, headline: str) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        finding=GapsFinding(lowest=None, highest=highest, positions=0, missing=0, gaps=()),
    )


def _gap(row: Row, ask: Ask) -> PositionGap:
    named = ask.contract.position_partition
    partition = None if named is None else shown(named, row["partition"], ask.contract)
    return PositionGap(first=row["first"], last=row["last"], partition=partition)


def _row(ask: Ask, gap: PositionGap) -> tuple[str, ...]:
    position = ask.contract.position or ""
    bounds: Sequence[str] = [shown(position, bound, ask.contract) for bound in (gap.first, gap.last)]
    return (cell(gap.partition), bounds[0], bounds[1], str(gap.size))
