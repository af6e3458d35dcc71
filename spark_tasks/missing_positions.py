"""Is any source position missing around the window?

What `missing_positions` says, in words.

Source partitions that wrote until the window began and have no row in it: idle, or lost as a whole.

What the window brought behind the last live row of a source partition, or of one that has no row left in it, and
deleted again. A gap shows only where a later row lives.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.history.source_records import on_broker, on_broker_in_words
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import GapsFinding, GapsOnBroker, PositionGap
from bot.observation.ids import short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from spark_tasks._support.coverage import Range, moment_of, partition_of, parts_by_commit, within
from spark_tasks._support.coverage import tops_of as highest_of
from spark_tasks._support.data_files import DataFile, data_added, files_of, orc_times, rows_in
from spark_tasks._support.event_time import brings_rows, newest_with_rows, overwrites
from spark_tasks._support.places import added_places, usual_holes
from spark_tasks._support.positions import (
    MOST_PARTITIONS,
    Edges,
    Positions,
    only_adds,
    positions_of,
    several_partitions,
    unplaced,
    untold_gaps,
)
from spark_tasks._support.reading import column, renamed, rows_at
from spark_tasks._support.tails import NO_TAILS, Tails, cut_short, newest_of, source_state, tails_of, waiting_in_words
from spark_tasks._support.unlisted import highest_below
from spark_tasks._support.window import Reach, line_of, no_commits, reach_of
from spark_tasks._support.words import MAX_ROWS, absent_columns, at, cell, could_not, ids, shown

_MOST_NAMED = 4


def deleted_behind(spark: SparkSession, ask: Ask, reach: Reach, tops: Mapping[str | None, int]) -> tuple[NotSeen, ...]:
    """What is said of positions that commits of the window added, that lie above the highest live one of their
    partition (`tops`), and that no live row carries. Reads; nothing where the window neither deletes nor overwrites,
    and its compactions say that they kept their rows.

    Cost: position columns of the files that the window added; of live ones those whose bounds reach such a position.
    """
    if only_adds(reach.main):
        return ()
    position, named = ask.contract.position, ask.contract.position_partition
    assert position is not None
    names = [name for name in (named, position) if name is not None]
    if moved := renamed(ask.observation.table, names):
        return moved
    files = _may_lie_behind(spark, ask, reach, tops)
    if not files:
        return ()
    if unread := orc_times(ask.observation.table, {file.format for file in files}, names):
        return unread
    brought = rows_in(spark, ask.observation.table, files, names)
    places = brought.select(partition_of(ask).alias("partition"), column(position).cast("bigint").alias("position"))
    known = spark.createDataFrame(list(tops.items()), "of string, top bigint")
    joined = places.join(F.broadcast(known), F.col("partition").eqNullSafe(F.col("of")), "left")
    behind = joined.where("position IS NOT NULL AND (top IS NULL OR position > top)")
    edges = F.min("position").alias("low"), F.max("position").alias("high")
    try:
        spans = behind.groupBy("partition").agg(*edges).limit(MOST_PARTITIONS).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return (_gone(ask),)
    if not spans:
        return ()
    ranges = [Range(row["partition"], row["low"], row["high"]) for row in spans]
    live = within(rows_at(spark, ask.observation.table, reach.until), ask, ranges)
    there = live.select(partition_of(ask).alias("lives_of"), column(position).cast("bigint").alias("lives_at"))
    same = F.col("partition").eqNullSafe(F.col("lives_of")) & (F.col("position") == F.col("lives_at"))
    gone = behind.select("partition", "position").distinct().join(there, same, "left_anti")
    counts = gone.groupBy("partition").agg(F.count("*").alias("size"), *edges).orderBy("partition")
    found = counts.limit(MOST_PARTITIONS).collect()
    return (_in_words(ask, found),) if found else ()


def _may_lie_behind(spark: SparkSession, ask: Ask, reach: Reach, tops: Mapping[str | None, int]) -> list[DataFile]:
    """Files that the window added, but for those whose bounds end below, and what a repair of ours took out: of that it
    is known why. Bounds of several source partitions tell nothing of one that has no live row left."""
    bounded = next(each for each in ask.observation.table.columns if each.name == ask.contract.position)
    brought = {commit.snapshot_id for commit in reach.main if brings_rows(commit) and commit.operation != "replace"}
    repairs = {commit.snapshot_id for commit in reach.main if commit.is_repair}
    commits = [commit for commit in reach.main if commit.snapshot_id in brought | repairs]
    files = files_of(spark, commits, bounded)
    taken = {file.path for file in files if not file.is_added and file.snapshot_id in repairs}
    top = tops.get(None) if ask.contract.position_partition is None else None
    added = (file for file in data_added(files) if file.snapshot_id in brought and file.path not in taken)
    return [file for file in added if top is None or file.high is None or file.high > top]


def _gone(ask: Ask) -> NotSeen:
    return NotSeen(
        source=f"files of {ask.observation.table.name} that the window added",
        reason="A file that the window added is gone from storage, so whether it held positions behind the last live "
        "row, which were deleted, is not known.",
        remedy="Look by missing_files whether the table still needs it; else ask again with a window that begins after "
        "the deletion.",
    )


def _in_words(ask: Ask, found: list[Row]) -> NotSeen:
    size = sum(int(row["size"]) for row in found)
    parts = ", ".join(_span(ask, row) for row in found[:_MOST_NAMED])
    more = f" and of {len(found) - _MOST_NAMED} more" if len(found) > _MOST_NAMED else ""
    return NotSeen(
        source=f"positions of {ask.observation.table.name} that the window brought and deleted",
        reason=f"{counted(size, 'position')} that the window brought behind the last live row "
        f"{'was' if size == 1 else 'were'} deleted or replaced in it ({parts}{more}): whether that was right is not "
        "known.",
        remedy="Ask who deleted them; if that was right, ask again with a window that ends before it.",
    )


def _span(ask: Ask, row: Row) -> str:
    position, named = ask.contract.position or "", ask.contract.position_partition
    low, high = (shown(position, row[end], ask.contract) for end in ("low", "high"))
    span = low if low == high else f"{low} to {high}"
    return span if named is None else f"{span} of partition {shown(named, row['partition'], ask.contract)}"


BELOW = 20
"""Commits with rows below the window that are looked at: a partition that was silent through all of them had stopped
long before, and a look through the whole table would cost what the table costs."""
_NAMED = 4


@dataclass(frozen=True)
class Silent:
    """A partition of which the window has no row."""

    partition: str | None
    highest: int
    """The highest position that the commits just below the window brought."""
    following: int | None
    """Where the job's state goes on in it, as of the window's end or later; None: not known."""


def silences(spark: SparkSession, ask: Ask, reach: Reach, edges: Edges) -> tuple[NotSeen, ...]:
    """What is said of those that may have lost rows, and of expired commits that could not be looked at. Reads. One of
    which the job's own state shows that nothing came after its last row is idle, and left out; without a named source
    partition there is none.

    Cost: two columns of the newest `BELOW` commits with rows below the window; of expired ones as `highest_below`.
    """
    if ask.contract.position_partition is None:
        return ()
    wrote = {edge.partition for edge in edges.each}
    table = ask.observation.table
    below = newest_with_rows(table, reach.since, BELOW) if reach.since is not None else ()
    unseen: list[NotSeen] = []
    highest: dict[str | None, int] = {}
    if below and reach.since is not None:
        brought = parts_by_commit(spark, table, ask.contract, below)
        if isinstance(brought, NotSeen):
            highest = _highest(added_places(spark, ask, below, below[0].parent_id, reach.since))
        else:
            highest = highest_of(part for parts in brought.values() for part in parts)
    oldest = line_of(table, reach.until)[-1]
    if len(below) < BELOW and oldest.has_commit_below:
        older = highest_below(spark, ask, oldest, BELOW - len(below), wrote)
        if isinstance(older, NotSeen):
            unseen.append(older)
        else:
            highest |= {each: max(top, highest.get(each, top)) for each, top in older.items()}
    state = source_state(ask)
    found = (
        Silent(each, top, state.following(each) if state else None)
        for each, top in highest.items()
        if each not in wrote
    )
    silent = sorted((each for each in found if not _is_idle(each)), key=lambda each: each.partition or "")
    return (*((_silence(ask, reach, silent),) if silent else ()), *unseen)


def _highest(places: DataFrame) -> dict[str | None, int]:
    told = places.where("position IS NOT NULL").groupBy("partition").agg(F.max("position").alias("highest"))
    return {row["partition"]: int(row["highest"]) for row in told.limit(MOST_PARTITIONS).collect()}


def _silence(ask: Ask, reach: Reach, silent: Sequence[Silent]) -> NotSeen:
    """What is said of them; there is one at least."""
    named = ", ".join(_named(ask, each) for each in silent[:_NAMED])
    more = f" and {len(silent) - _NAMED} more" if len(silent) > _NAMED else ""
    several, has = ("s", "have") if len(silent) > 1 else ("", "has")
    return NotSeen(
        source=f"source partition{several} {named}{more} in the window",
        reason=f"Source partition{several} {named}{more} {has} no row {_begin(ask, reach)}, while others go "
        f"on{_read_past(ask, silent)}: idle, or its rows are lost.",
        remedy="Ask the source whether it has records there; if it has, they are missing.",
    )


def _begin(ask: Ask, reach: Reach) -> str:
    if reach.since is None:
        first = reach.main[0]
        moment = f"{first.committed_at:%Y-%m-%d %H:%M:%S} UTC"
        return f"from {short(first.snapshot_id)} ({moment}) on, the oldest commit that is listed"
    since = ask.observation.table.by_id[reach.since].committed_at
    return f"after {short(reach.since)} ({since:%Y-%m-%d %H:%M:%S} UTC), where the window begins"


def _read_past(ask: Ask, silent: Sequence[Silent]) -> str:
    """What the job's state tells against it being idle, of the first that it tells of."""
    past = next((each for each in silent if each.following is not None and each.following > each.highest + 1), None)
    if past is None or past.following is None:
        return ""
    name = shown(ask.contract.position_partition or "", past.partition, ask.contract)
    records = past.following - past.highest - 1
    return f"; by its own state the job has read {records:,} offsets of partition {name} that made no row"


def _named(ask: Ask, each: Silent) -> str:
    column = ask.contract.position_partition or ""
    return f"{shown(column, each.partition, ask.contract)} (last {_place(ask, each)})"


def _place(ask: Ask, each: Silent) -> str:
    return shown(ask.contract.position or "", each.highest, ask.contract)


def _is_idle(each: Silent) -> bool:
    return each.following == each.highest + 1


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
    position = ask.contract.position or ""
    lost = [s.snapshot_id for s in reach.rolled_back]
    of_rolled_back = f"{counted(len(lost), 'commit')} that {'was' if len(lost) == 1 else 'were'} rolled back"
    if not finding.missing:
        waiting = (
            f" {counted(above, 'position')} above it {'is' if above == 1 else 'are'} not in the table yet: "
            f"{'it was' if above == 1 else 'they were'} in {of_rolled_back}."
            if above
            else ""
        )
        highest = shown(position, finding.highest, ask.contract)
        one = "live one" if finding.replaced is None else "one that was brought"
        up_to = f"{_beginning(ask, edges)} up to the highest {one}, {highest}{_parts(ask, edges)}"
        holes = "" if found.is_dense else " Holes between rows of one commit are no loss there."
        return f"No position is missing{up_to}.{holes}{_replaced(finding)}{waiting}{waiting_in_words(tails)}"
    first = finding.gaps[0]
    low, high = (shown(position, bound, ask.contract) for bound in (first.first, first.last))
    where = f"{low} to {high}" if first.size > 1 else low
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


def untold_still(gaps: NotSeen) -> str:
    """No gap shows for sure that a row is missing, and some may."""
    return f"No position is missing for sure, but not all is known: {gaps.reason}"


def open_still(edges: Edges, unjudged: tuple[NotSeen, ...], *, is_deleted: bool) -> Answer:
    """Nothing is missing between what was seen, and that is not all. `is_deleted`: the first that is not judged is what
    the window brought and deleted."""
    reason = unjudged[0].reason
    said = f"not every source partition was: {reason[0].lower()}{reason[1:]}"
    if is_deleted:
        said = f"not all that the window brought lives: {reason[0].lower()}{reason[1:]}"
    elif edges.unplaced:
        said = f"below them there may be: {reason[0].lower()}{reason[1:]}"
    elif edges.without and len(unjudged) == 1:
        said = f"not all rows have one: {reason}"
    return could_not(f"No position is missing between those that were seen, but {said}", *unjudged)


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
_WHOLE = {"int", "long"}


@dataclass(frozen=True)
class Facts:
    """What was read of a window that brought positions."""

    reach: Reach
    positions: Positions
    tails: Tails = NO_TAILS
    deleted: tuple[NotSeen, ...] = ()
    """See `deleted_behind`."""
    silent: tuple[NotSeen, ...] = ()
    """See `silences`."""
    gaps: tuple[PositionGap, ...] = ()
    """The first, as they are shown: between live positions, and behind the last that the job had read."""
    on_broker: GapsOnBroker | None = None


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
    facts = read(spark, ask, reach)
    if isinstance(facts, NotSeen):
        return could_not(f"Missing positions cannot be told: {facts.reason}", facts)
    return judge(ask, facts)


def read(spark: SparkSession, ask: Ask, reach: Reach) -> Facts | NotSeen:
    """What the commits around the window brought is read at once, for other tasks too."""
    table = ask.observation.table
    if ask.contract.position_partition is not None and only_adds((*reach.main, *reach.rolled_back)):
        near = (*newest_with_rows(table, reach.since, BELOW), *newest_of(ask)) if reach.since is not None else ()
        parts_by_commit(
            spark, table, ask.contract, {c.snapshot_id: c for c in (*reach.main, *reach.rolled_back, *near)}.values()
        )
    positions = positions_of(spark, ask, reach, MAX_ROWS)
    if isinstance(positions, NotSeen):
        return positions
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
        silences(spark, ask, reach, positions.edges),
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
        several = several_partitions(ask, found.shared)
        return could_not(f"Missing positions cannot be told: {several.reason}", several)
    unjudged = (
        *((untold_gaps(ask, reach, gaps),) if gaps.untold else ()),
        *facts.deleted,
        *((unplaced(ask, edges.unplaced),) if edges.unplaced else ()),
        *facts.silent,
        *((cut_short(ask, tails.stopped),) if tails.stopped else ()),
        *((bare(ask, edges),) if edges.without else ()),
    )
    missing = gaps.missing + tails.size
    if unjudged and not gaps.untold and not missing:
        return open_still(edges, unjudged, is_deleted=bool(facts.deleted))
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
        verdict, said = Verdict.INCONCLUSIVE, untold_still(unjudged[0])
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
    position = ask.contract.position or ""
    bounds: Sequence[str] = [shown(position, bound, ask.contract) for bound in (gap.first, gap.last)]
    return (cell(gap.partition), bounds[0], bounds[1], str(gap.size))
