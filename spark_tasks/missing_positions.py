"""Is any source position missing around the window?

What lies between live positions, what may lie behind the last of each source partition, and what the window brought
there and deleted again: a gap shows only where a later row lives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.source_records import on_broker, on_broker_in_words
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import GapsFinding, GapsOnBroker, PositionGap
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.coverage import (
    Partition,
    Range,
    lowest_of,
    moment_of,
    partition_of,
    parts_by_commit,
    tops_of,
    within,
)
from spark_tasks._support.data_files import data_added, files_of
from spark_tasks._support.event_time import brings_rows, newest_with_rows, overwrites
from spark_tasks._support.manifest_entries import WHOLE
from spark_tasks._support.places import usual_holes
from spark_tasks._support.positions import (
    Edges,
    Positions,
    highest_below,
    only_adds,
    positions_of,
    several_partitions,
    unplaced,
    untold_gaps,
)
from spark_tasks._support.reading import column, rows_at
from spark_tasks._support.tails import (
    BELOW,
    NO_TAILS,
    Stopped,
    Tails,
    ends_untold,
    newest_of,
    silent_in,
    tails_of,
    waiting_in_words,
)
from spark_tasks._support.window import Reach, reach_of
from spark_tasks._support.words import (
    MAX_ROWS,
    Inconclusive,
    answers,
    at,
    cell,
    could_not,
    ids,
    inconclusive,
    require_columns,
    shown,
    shown_range,
)

_MOST_NAMED = 4


def deleted_behind(spark: SparkSession, ask: Ask, reach: Reach, tops: Mapping[Partition, int]) -> tuple[NotSeen, ...]:
    """What is said of positions that the window brought behind the highest live one of their partition (`tops`), and
    deleted again. Nothing where the window neither deletes nor overwrites, and its compactions say that they kept their
    rows.

    Cost: as of `parts_by_commit`.
    """
    if only_adds(reach.main):
        return ()
    try:
        brought = parts_by_commit(spark, ask.observation.table, ask.contract, _not_undone(spark, ask, reach))
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        brought = NotSeen(
            source=f"files of {ask.observation.table.name} that the window added",
            reason="A file that the window added is gone from storage. Whether it held positions behind the last "
            "live row, which were deleted, is not known.",
            remedy="Look by missing_files whether the table still needs it; else ask again with a window that begins "
            "after the deletion.",
        )
    if isinstance(brought, NotSeen):
        return (brought,)
    parts = [part for own in brought.values() for part in own]
    behind = {of: top for of, top in tops_of(parts).items() if of not in tops or top > tops[of]}
    unknown = {of: top + 1 for of, top in behind.items() if of not in tops}
    live = highest_below(spark, ask, reach.until, unknown, 1) if unknown else {}
    lowest = lowest_of(parts)
    gone = [(of, tops.get(of, lowest[of] - 1) + 1, top) for of, top in behind.items() if live.get(of) != top]
    if not gone:
        return ()
    named = ", ".join(_span(ask, *each) for each in gone[:_MOST_NAMED])
    more = f" and of {len(gone) - _MOST_NAMED} more" if len(gone) > _MOST_NAMED else ""
    return (
        NotSeen(
            source=f"positions of {ask.observation.table.name} that the window brought and deleted",
            reason=f"Positions that the window brought behind the last live row were deleted or replaced in it "
            f"({named}{more}): whether that was right is not known.",
            remedy="Ask who deleted them; if that was right, ask again with a window that ends before it.",
        ),
    )


def _not_undone(spark: SparkSession, ask: Ask, reach: Reach) -> list[Snapshot]:
    """Commits that brought rows, but for those of which a repair of ours took out every file: why is known."""
    brought = [commit for commit in reach.main if brings_rows(commit)]
    repairs = {commit.snapshot_id for commit in reach.main if commit.is_repair}
    if not repairs:
        return brought
    files = files_of(
        spark, ask.observation.table, ask.contract, [c for c in reach.main if brings_rows(c) or c.is_repair]
    )
    taken = {file.path for file in files if not file.is_added and file.snapshot_id in repairs}
    left = {file.snapshot_id for file in data_added(files) if file.path not in taken}
    return [commit for commit in brought if commit.snapshot_id in left]


def _span(ask: Ask, of: Partition, first: int, last: int) -> str:
    span, named = shown_range(ask, first, last), ask.contract.position_partition
    return span if named is None else f"{span} of partition {shown(named, of, ask.contract)}"


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


def headline(ask: Ask, reach: Reach, finding: GapsFinding, gaps: int, found: Positions, tails: Tails) -> str:
    """What is missing, and where it stood once; or up to where nothing is, and what is still to come."""
    edges, inside, above = found.edges, found.inside, found.above
    lost = [s.snapshot_id for s in reach.rolled_back]
    of_rolled_back = f"{counted(len(lost), 'commit')} that {'was' if len(lost) == 1 else 'were'} rolled back"
    if not finding.missing:
        waiting = (
            f" {counted(above, 'position')} above it {'is' if above == 1 else 'are'} not in the table yet: "
            f"{'it was' if above == 1 else 'they were'} in {of_rolled_back}."
            if above
            else ""
        )
        highest = shown(ask.contract.position or "", finding.highest, ask.contract)
        one = "live one" if finding.replaced is None else "one that was brought"
        up_to = f"{_beginning(ask, edges)} up to the highest {one}, {highest}{_parts(ask, edges)}"
        holes = "" if found.is_dense else " Holes between rows of one commit are no loss there."
        return f"No position is missing{up_to}.{holes}{_replaced(finding)}{waiting}{waiting_in_words(tails)}"
    first = finding.gaps[0]
    where = shown_range(ask, first.first, first.last)
    partition = f" of partition {first.partition}" if first.partition is not None else ""
    several = f" in {gaps} gaps, the first {where}{partition}" if gaps > 1 else f": {where}{partition}"
    told = f"{_replaced(finding)}{waiting_in_words(tails)}"
    is_or_are = "is" if finding.missing == 1 else "are"
    cause = f"; {inside:,} of them were in {of_rolled_back} ({ids(lost)})" if inside else ""
    if tails.size:
        cause += (
            f"; {tails.size:,} of them the job had read by checkpoint {tails.state_of}, which the newest commit carries"
        )
    kept = "".join(f" {each}" for each in on_broker_in_words(finding, ask.observation.kafka))
    return f"{counted(finding.missing, 'position')} {is_or_are} missing{several}{cause}.{kept}{told}"


def _replaced(finding: GapsFinding) -> str:
    """Of a table that is written by key, the positions of rows that are gone rightly."""
    if not finding.replaced:
        return ""
    return (
        f" The rows of {counted(finding.replaced, 'position')} were replaced or deleted by their key: these are no "
        "missing rows."
    )


def bare(ask: Ask, edges: Edges) -> NotSeen:
    """What is said of rows of the window that carry no position."""
    column = ask.contract.position
    has = "has" if edges.without == 1 else "have"
    return NotSeen(
        source=f"column {column} of {ask.observation.table.name}",
        reason=f"{edges.without:,} of the window's {counted(edges.rows, 'row')} {has} null there: whether rows like "
        "these are missing is not known.",
        remedy="Look who wrote them, and whether the job still fills it; choose a window without them if they are "
        "another writer's.",
    )


TASK = Task(
    name="missing_positions",
    title="Missing positions",
    version=11,
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
    "another writer took rows out, it reads them of all rows. Where a position is missing, it reads the position "
    "columns of the 20 commits below the window, to compare their holes",
)


@dataclass(frozen=True)
class Facts:
    """What was read of a window that brought positions."""

    reach: Reach
    positions: Positions
    tails: Tails = NO_TAILS
    deleted: tuple[NotSeen, ...] = ()
    """See `deleted_behind`."""
    silent: tuple[Stopped, ...] = ()
    expired: tuple[NotSeen, ...] = ()
    """See `silent_in`."""
    gaps: tuple[PositionGap, ...] = ()
    """The first, as they are shown: between live positions, and behind the last that the job had read."""
    on_broker: GapsOnBroker | None = None


@answers(TASK)
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
    _require_position(ask)
    reach = reach_of(ask)
    if not reach.main and not reach.branches:
        return _whole(None, "No commit in the window, so no position can be missing from it.")
    return judge(ask, read(spark, ask, reach))


def read(spark: SparkSession, ask: Ask, reach: Reach) -> Facts:
    """What the commits around the window brought is read at once, for other tasks too."""
    table = ask.observation.table
    if ask.contract.position_partition is not None and only_adds((*reach.main, *reach.rolled_back)):
        near = (*newest_with_rows(table, reach.since, BELOW), *newest_of(ask)) if reach.since is not None else ()
        parts_by_commit(
            spark, table, ask.contract, {c.snapshot_id: c for c in (*reach.main, *reach.rolled_back, *near)}.values()
        )
    positions = positions_of(spark, ask, reach, MAX_ROWS)
    if not positions.edges.each or positions.shared:
        return Facts(reach, positions)
    tails = tails_of(spark, ask, reach, positions.edges, positions.tops)
    if tails.missing and not positions.is_dense:
        usual = positions.gaps.usual or usual_holes(spark, ask, reach, positions.is_dense)
        tails = tails.beyond(usual.widest)
    found = [_gap(gap, ask) for gap in (*positions.gaps.first, *tails.missing)]
    gaps = tuple(sorted(found, key=lambda gap: (gap.partition or "", gap.first))[:MAX_ROWS])
    is_sure = positions.gaps.missing or tails.size or not positions.gaps.untold
    return Facts(
        reach,
        positions,
        tails,
        deleted_behind(spark, ask, reach, positions.tops),
        *silent_in(spark, ask, reach, {edge.partition for edge in positions.edges.each}),
        gaps,
        _on_broker(spark, ask, reach, gaps) if is_sure else None,
    )


def judge(ask: Ask, facts: Facts) -> Answer:
    """Without Spark."""
    reach, found, tails = facts.reach, facts.positions, facts.tails
    edges, gaps = found.edges, found.gaps
    if not edges.each:
        return _without_positions(ask, reach, edges.rows)
    if found.shared:
        raise Inconclusive(several_partitions(ask, found.shared))
    unjudged = (
        *((untold_gaps(ask, reach, gaps),) if gaps.untold else ()),
        *facts.deleted,
        *((unplaced(ask, edges.unplaced),) if edges.unplaced else ()),
        *((ends_untold(ask, reach, facts.silent),) if facts.silent else ()),
        *facts.expired,
        *((ends_untold(ask, reach, tails.stopped),) if tails.stopped else ()),
        *((bare(ask, edges),) if edges.without else ()),
    )
    missing = gaps.missing + tails.size
    if unjudged and not gaps.untold and not missing:
        said = f"No position is missing between those that were seen, but not all is known: {unjudged[0].reason}"
        return could_not(said, *unjudged)
    is_untold = bool(gaps.untold) and not missing
    finding = GapsFinding(
        lowest=edges.each[0].lowest,
        highest=max(found.tops.values(), default=None),
        positions=found.live,
        missing=gaps.untold if is_untold else missing,
        gaps=facts.gaps,
        to_come=found.above,
        replaced=found.replaced,
        is_untold=is_untold,
        is_dense=found.is_dense,
        on_broker=facts.on_broker,
        tops={partition: top for partition, top in found.tops.items() if partition is not None},
    )
    many = gaps.count + len(tails.missing)
    said = headline(ask, reach, finding, many, found, tails)
    verdict = Verdict.CONFIRMED if missing else Verdict.RULED_OUT
    if is_untold:
        verdict = Verdict.INCONCLUSIVE
        said = f"No position is missing for sure, but not all is known: {unjudged[0].reason}"
    told = (
        ("missing positions", 0 if is_untold else missing, "positions"),
        ("gaps", many, "gaps"),
        ("missing and rolled back", found.inside, "positions"),
        ("rolled back above the highest live position", found.above, "positions"),
        ("read by the job and not committed yet", tails.waiting, "positions"),
        ("rows of the window without a position", edges.without, "rows"),
        ("replaced or deleted by key, not missing", found.replaced, "positions"),
        ("lost for good", facts.on_broker.lost_positions if facts.on_broker is not None else None, "positions"),
        ("source partitions with a row in the window", len(edges.each), "partitions"),
    )
    return Answer(
        verdict=verdict,
        headline=said,
        measures=tuple(Measure(name=name, value=value, unit=unit) for name, value, unit in told if value is not None),
        columns=("partition", "first missing", "last missing", "positions"),
        rows=tuple(_row(ask, gap) for gap in finding.gaps),
        finding=finding,
        sources=(f"column {ask.contract.position} of the window's rows, of its rolled-back commits and just below",),
        could_not_look=unjudged,
    )


def _on_broker(spark: SparkSession, ask: Ask, reach: Reach, gaps: Sequence[PositionGap]) -> GapsOnBroker | None:
    """What Kafka still has of them. Reads the event times beside the first gaps that it has lost."""
    told = None if ask.contract.hides(ask.contract.position) else on_broker(ask.observation.kafka, gaps)
    named = moment_of(ask)
    if told is None or not told.lost or not named or ask.contract.hides(named[0]):
        return told
    first = told.lost[:_MOST_NAMED]
    beside = [Range(gap.partition, place, place) for gap in first for place in (gap.first - 1, gap.last + 1)]
    rows = within(rows_at(spark, ask.observation.table, reach.until), ask, beside)
    position = column(ask.contract.position or "").cast("bigint")
    places = rows.select(
        partition_of(ask).alias("partition"),
        position.alias("position"),
        F.unix_micros(column(named[0]).cast("timestamp")).alias("at"),
    )
    moments = (
        places.groupBy("partition", "position")
        .agg(F.min("at").alias("at"))
        .where("at IS NOT NULL")
        .limit(len(beside))
        .collect()
    )
    known = {(row["partition"], row["position"]): at(row["at"]) for row in moments}

    def timed(gap: PositionGap) -> PositionGap:
        times = sorted(
            known[place] for place in ((gap.partition, gap.first - 1), (gap.partition, gap.last + 1)) if place in known
        )
        return gap if len(times) < 2 else gap.model_copy(update={"event_from": times[0], "event_until": times[1]})

    return told.model_copy(update={"lost": (*map(timed, first), *told.lost[_MOST_NAMED:])})


def _require_position(ask: Ask) -> None:
    """Raises Inconclusive when the contract does not name columns that can be compared."""
    name, table = ask.contract.position, ask.observation.table
    if name is None:
        raise inconclusive(
            source="contract.position",
            reason="The contract names no column that holds the source position.",
            remedy="Name one in the table's contract, if the rows carry it.",
        )
    require_columns(ask, name, ask.contract.position_partition)
    kind = next(column.type for column in table.columns if column.name == name)
    if kind not in WHOLE:
        raise inconclusive(
            source=f"column {name} of {table.name}",
            reason=f"Column {name} holds {kind}, not whole numbers.",
            remedy="Name another column as position, or none.",
        )


def _without_positions(ask: Ask, reach: Reach, rows: int) -> Answer:
    if rows == 0 and any(brings_rows(c) or overwrites(c) for c in (*reach.main, *reach.rolled_back)):
        raise inconclusive(
            source=f"column {ask.contract.position} of the window's rows",
            reason="The rows that the window added were all deleted or replaced since.",
            remedy="Ask who deleted them; if that was right, ask again with a window that ends before it.",
        )
    if rows == 0:
        return _whole(None, "The window's commits added no row, so no position can be missing from it.")
    raise inconclusive(
        source=f"column {ask.contract.position} of {ask.observation.table.name}",
        reason=f"Column {ask.contract.position} is null in all {rows:,} rows of the window.",
        remedy="Look whether the job still fills it; name another column if not.",
    )


def _whole(highest: int | None, headline: str) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        finding=GapsFinding(lowest=None, highest=highest, positions=0, missing=0, gaps=()),
    )


def _gap(gap: PositionGap, ask: Ask) -> PositionGap:
    named = ask.contract.position_partition
    return gap if named is None else gap.model_copy(update={"partition": shown(named, gap.partition, ask.contract)})


def _row(ask: Ask, gap: PositionGap) -> tuple[str, ...]:
    bounds = (shown(ask.contract.position or "", bound, ask.contract) for bound in (gap.first, gap.last))
    return (cell(gap.partition), *bounds, str(gap.size))
