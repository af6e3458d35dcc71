"""Does any commit of the window bring what another had brought before?

Compared are the part of the source that each covers, and the files that several added: told by their manifests, and by
rows where these do not tell.
"""

from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import replace
from itertools import islice
from typing import Literal, NamedTuple

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.contract import TableContract
from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import (
    MOST_COMMIT_RANGES,
    CommitRanges,
    DuplicateCommitsFinding,
    RepeatedCommit,
)
from bot.observation.ids import SnapshotId, short, short_job
from bot.observation.listed import at_checkpoints
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.coverage import merged, parts_by_commit, places_by
from spark_tasks._support.manifest_entries import WHOLE, Entry, asked_of, entries_by_commit
from spark_tasks._support.manifests import own_manifests
from spark_tasks._support.source_ranges import (
    Covered,
    Overlap,
    Range,
    by_two_runs,
    came_whole,
    earlier_of_checkpoint,
    of_value,
    ranges_of,
    read_twice,
    run_of,
    told_ranges,
    without_position,
)
from spark_tasks._support.window import Reach, line_of, reach_of
from spark_tasks._support.words import MAX_ROWS, absent_columns, answers, cell, could_not, ids


def rows_by_bounds(overlaps: Sequence[Overlap], covered: Covered) -> int | None:
    """How many rows of a commit stand at the positions of its overlaps; None where only the rows tell: a range that
    takes part has not each of its positions once, as where the job filters, or the contract does not tell source
    partitions apart."""
    ranges = {(each.snapshot_id, each.partition): each for each in covered.positions}
    sides = ((each.one, each.other, each.partition) for each in overlaps)
    parts = [ranges.get((side, of)) for one, other, of in sides for side in (one, other)]
    if not overlaps or not all(each is not None and each.is_dense for each in parts):
        return None
    spans: dict[str, list[tuple[int, int]]] = {}
    for each in overlaps:
        spans.setdefault(each.partition, []).append((each.low, each.low + each.size - 1))
    return sum(last - first + 1 for own in spans.values() for first, last in merged(own))


def counted_in_parts(
    spark: SparkSession,
    table: TableState,
    contract: TableContract,
    repeated: Sequence[RepeatedCommit],
    overlaps: Mapping[SnapshotId, Sequence[Overlap]],
) -> tuple[RepeatedCommit, ...]:
    """`repeated`, those whose rows bounds do not tell with what is read from these: none that has no row there.

    Cost: position columns of these commits, and of those that they repeat. Where these cannot be read, `in_parts` stays
    None.
    """
    asked = [
        each.again
        for each in repeated
        if each.in_parts is None and any(o.is_of_positions for o in overlaps.get(each.again, ()))
    ]
    pairs = {(again, side) for again in asked for each in overlaps[again] for side in (each.one, each.other)}
    rows = _rows_read(spark, table, contract, {pair for pair in pairs if pair[0] != pair[1]}) if asked else {}
    told = (each.model_copy(update={"in_parts": rows.get(each.again, each.in_parts)}) for each in repeated)
    return tuple(each for each in told if each.in_parts != 0)


def _rows_read(
    spark: SparkSession, table: TableState, contract: TableContract, pairs: Set[tuple[SnapshotId, SnapshotId]]
) -> dict[SnapshotId, int]:
    """Commit -> rows of it at a position that one of those which it is paired with has too; empty where they are too
    many to be read, or cannot be."""
    commits = [table.by_id[each] for each in sorted({s for pair in pairs for s in pair})]
    if (rows := places_by(spark, table, contract, commits)) is None:
        return {}
    told = spark.createDataFrame([(int(again), int(first)) for again, first in pairs], "again bigint, first bigint")
    before = rows.join(F.broadcast(told), on=F.col("snapshot_id") == F.col("first"), how="inner")
    before = before.select("again", F.col("partition").alias("of_first"), F.col("position").alias("at_first"))
    same = (F.col("snapshot_id") == F.col("again")) & (F.col("position") == F.col("at_first"))
    both = rows.join(before, on=same & F.col("partition").eqNullSafe(F.col("of_first")), how="left_semi")
    again = {again for again, _ in pairs}
    try:
        found_rows = both.groupBy("snapshot_id").count().limit(len(again)).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return {}
    counts = {row["snapshot_id"]: int(row["count"]) for row in found_rows}
    return {each: counts.get(int(each), 0) for each in again}


_MAX_GROUPS = 500


class Shared(NamedTuple):
    """Paths that the same commits have added, each counted once."""

    files: int
    rows: int
    """Of data files."""


class Brought(NamedTuple):
    """Of some commits together."""

    covered: Covered
    shared: Mapping[tuple[SnapshotId, ...], Shared]
    """Commits that added the same paths, their ids rising -> these paths; the `_MAX_GROUPS` that share most."""


def brought_by(spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]) -> Brought:
    """Reads the manifest lists of these commits, which are some, and the manifests that they wrote; and rows where
    these do not tell. A writer leaves bounds out where the table tells it to (`write.metadata.metrics`), of columns
    behind the hundredth, and in Avro files. Of a file that holds several source partitions, bounds tell nothing of any:
    so it is where a job has fewer writers than its source has partitions."""
    entries = entries_by_commit(spark, own_manifests(spark, commits), asked_of(table, contract))
    covered, shared = told_by_entries(entries, table, contract, commits)
    return Brought(_with_rows_read(spark, table, contract, commits, covered), shared)


def _with_rows_read(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot], covered: Covered
) -> Covered:
    """`covered`, with what rows tell of commits that are `unstated` or `mixed`: of those that a Flink run made, the
    others are not compared. What is not read stays so, and `unread` says why. None is where the contract names no
    position, or columns that cannot be read as one."""
    position, of = asked_of(table, contract).position, asked_of(table, contract).source
    asked = frozenset(each.snapshot_id for each in commits if run_of(table, each) is not None)
    if position is None or (of is None and contract.position_partition is not None) or len(asked) < 2:
        return replace(covered, unstated=frozenset(), mixed=frozenset())
    untold = replace(covered, unstated=covered.unstated & asked, mixed=covered.mixed & asked)
    wanted = [each for each in commits if each.snapshot_id in untold.unstated | untold.mixed]
    if not wanted:
        return untold
    if of is not None and of.type not in (*WHOLE, "string"):
        return replace(untold, unread=f"{of.name} holds {of.type}, which is not compared")
    try:
        brought = parts_by_commit(spark, table, contract, wanted)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return replace(untold, unread="a file of theirs is gone from storage")
    if isinstance(brought, NotSeen):
        return replace(untold, unread=brought.reason.rstrip("."))
    ranges = (
        Range(commit, of_value(part.partition, of.type) if of is not None else "", part.low, part.high, part.rows)
        for commit, parts in brought.items()
        for part in parts
        if part.low is not None and part.high is not None
    )
    bare = {commit: sum(part.bare for part in parts) for commit, parts in brought.items()}
    return replace(
        untold,
        positions=(*(each for each in covered.positions if each.snapshot_id not in brought), *ranges),
        unstated=frozenset(),
        mixed=frozenset(),
        untold=covered.untold - brought.keys(),
        bare={**covered.bare, **{each: rows for each, rows in bare.items() if rows}},
    )


def told_by_entries(
    entries: Iterable[Sequence[Entry]], table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> Brought:
    """`entries`: as of `entries_by_commit`."""
    wanted = {int(commit.snapshot_id) for commit in commits}
    covered = Covered()
    by_path: dict[str, tuple[set[SnapshotId], int]] = {}
    for some in entries:
        added = [each for each in some if each.snapshot_id in wanted and each.status == 1]
        covered += ranges_of(added, table, contract)
        for entry in added:
            those, _ = by_path.setdefault(entry.path, (set(), entry.rows if entry.is_data else 0))
            those.add(SnapshotId(entry.snapshot_id))
    shared: dict[tuple[SnapshotId, ...], Shared] = {}
    for those, rows in by_path.values():
        if len(those) > 1:
            before = shared.get(group := tuple(sorted(those)), Shared(0, 0))
            shared[group] = Shared(before.files + 1, before.rows + rows)
    most = sorted(shared.items(), key=lambda each: -each[1].files)
    return Brought(covered, dict(most[:_MAX_GROUPS]))


_How = Literal["same-files", "same-checkpoint", "same-source-range"]
STRENGTH: tuple[_How, ...] = ("same-files", "same-checkpoint", "same-source-range")
_Proof = tuple[int, int, int]
"""Place in `STRENGTH`, minus the size of what is repeated, place of the earlier commit: the least is the best."""


def repeating(
    table: TableState,
    commits: Sequence[Snapshot],
    reach: Reach,
    covered: Covered,
    shared: Mapping[tuple[SnapshotId, ...], Shared],
) -> tuple[tuple[RepeatedCommit, ...], dict[SnapshotId, list[Overlap]]]:
    """The repeating commits, and what each shares with those before it of which that is proven."""
    place = {commit.snapshot_id: number for number, commit in enumerate(commits)}
    by_id = {commit.snapshot_id: commit for commit in commits}
    proofs: dict[SnapshotId, list[_Proof]] = {}

    def proves(first: SnapshotId, again: SnapshotId, how: _How, size: int) -> None:
        proofs.setdefault(again, []).append((STRENGTH.index(how), -size, place[first]))

    of_files: dict[SnapshotId, int] = {}
    for together, (files, rows) in shared.items():
        first, *later = sorted(together, key=lambda snapshot: place[snapshot])
        for again in later:
            proves(first, again, "same-files", files)
            of_files[again] = of_files.get(again, 0) + rows
    overlapping: dict[tuple[SnapshotId, SnapshotId], list[Overlap]] = {}
    for overlap in covered.overlaps():
        first, again = sorted((overlap.one, overlap.other), key=lambda snapshot: place[snapshot])
        overlapping.setdefault((first, again), []).append(overlap)
    exact = {pair for pair, those in overlapping.items() if any(each.is_exact for each in those)}
    again_by_one = read_twice(table, commits, covered.positions, exact)
    proven: dict[SnapshotId, list[Overlap]] = {}
    for (first, again), those in overlapping.items():
        if (first, again) in again_by_one or by_two_runs(table, by_id[first], by_id[again]):
            proves(first, again, "same-source-range", sum(each.size for each in those))
            proven.setdefault(again, []).extend(those)
    for first, again in earlier_of_checkpoint(commits, set(overlapping), covered):
        proves(first, again, "same-checkpoint", by_id[again].counted("added-records"))
        proven.setdefault(again, []).extend(overlapping.get((first, again), ()))
    found = []
    for commit in (each for each in reach.main if each.snapshot_id in proofs):
        how, _, number = min(proofs[commit.snapshot_id])
        told = _told(commits[number], commit, STRENGTH[how])
        many = _too_many(told, commits[number], commit, covered, of_files)
        its = [each for each in proven.get(commit.snapshot_id, ()) if each.is_of_positions and not many]
        in_parts = rows_by_bounds(its, covered)
        found.append(told.model_copy(update={"too_many": many, "in_parts": in_parts}))
    return tuple(found), proven


def _told(first: Snapshot, again: Snapshot, how: _How) -> RepeatedCommit:
    return RepeatedCommit(
        first=first.snapshot_id,
        again=again.snapshot_id,
        how=how,
        job_id=again.job_id,
        checkpoint_id=again.checkpoint_id,
        rows=again.counted("added-records"),
        is_cherry_pick=again.is_pick,
    )


def _too_many(
    told: RepeatedCommit, first: Snapshot, again: Snapshot, covered: Covered, of_files: Mapping[SnapshotId, int]
) -> int | None:
    if told.how == "same-files":
        return of_files[told.again]
    if told.how == "same-checkpoint":
        return told.rows if came_whole(first, again, covered) else 0
    return None


class Doubts(NamedTuple):
    """Among commits that Flink made: others are not compared by what they cover of the source."""

    unseen: tuple[NotSeen, ...] = ()
    are_of_rows: bool = True
    """Whether what could be told of whole commits was: rows that say nothing of the source are left, or files of which
    only the rows do."""


def doubts_of(ask: Ask, reach: Reach, commits: Sequence[Snapshot], covered: Covered) -> Doubts:
    """Where the contract names a position: one that cannot be read as a number, commits that state none, and rows of
    the window that have none. Nothing where the window brought no row, or no other commit did."""
    placed = [each for each in commits if _brings_rows(each, covered) and run_of(ask.observation.table, each)]
    inside = {each.snapshot_id for each in reach.main}
    of_window = [each for each in placed if each.snapshot_id in inside]
    if ask.contract.position is None or not of_window or len(placed) < 2:
        return Doubts()
    if unfit := _unfit(ask):
        return Doubts(unfit)
    unstated = [each.snapshot_id for each in placed if each.snapshot_id in covered.unstated]
    bare = sum(covered.bare.get(each.snapshot_id, 0) for each in of_window)
    mixed = [each.snapshot_id for each in placed if each.snapshot_id in covered.mixed]
    named = [name for name in (ask.contract.position_partition, ask.contract.position) if name is not None]
    unread = f"and the rows were not read instead{f' ({covered.unread})' if covered.unread else ''}"
    unseen = []
    if unstated:
        states = f"state{'s' if len(unstated) == 1 else ''} no bounds of {' or '.join(named)}, {unread}"
        settings = " and ".join(f"write.metadata.metrics.column.{name}" for name in named)
        unseen.append(_not_compared(ask, unstated, states, f"So that files to come state it, set {settings} to full."))
    if mixed:
        brings = f"bring{'s' if len(mixed) == 1 else ''} several source partitions in one file, {unread}"
        remedy = f"Where the table is partitioned by {named[0]}, each file holds one."
        unseen.append(_not_compared(ask, mixed, brings, remedy))
    if bare:
        rows = sum(each.counted("added-records") for each in of_window)
        doubt = "it repeats another" if bare == 1 else "these repeat others"
        unseen.append(without_position(ask, ask.contract.position, bare, rows, doubt))
    return Doubts(tuple(unseen), are_of_rows=not unstated)


def runs_apart(ask: Ask, reach: Reach, commits: Sequence[Snapshot], covered: Covered) -> NotSeen | None:
    """Where two runs wrote, and not all that they brought can be compared, neither by position nor by event time. Of
    the window's commits without any position `doubts_of` tells."""
    read = [(each, run) for each in commits if (run := run_of(ask.observation.table, each)) is not None]
    runs = {run for _, run in read}
    bare = {each.snapshot_id for each in reach.main if _is_bare(each, covered)}
    placed = [each.snapshot_id for each, _ in read if _brings_rows(each, covered) and each.snapshot_id not in bare]
    if len(runs) < 2 or covered.known(placed):
        return None
    return NotSeen(
        source="contract.position",
        reason=f"Whether {len(runs)} runs brought the same part of the source is not known: the files of "
        f"{ask.observation.table.name} state no comparable bounds of a position or event time.",
        remedy="Name position (with position_partition) or event_time in the contract, and keep their metrics.",
    )


def _brings_rows(commit: Snapshot, covered: Covered) -> bool:
    """By its own manifests; a summary only names a counter that is above 0, so an empty commit has none."""
    return commit.snapshot_id in covered.commits or commit.counted("added-data-files") > 0


def _is_bare(commit: Snapshot, covered: Covered) -> bool:
    return covered.bare.get(commit.snapshot_id, 0) >= commit.counted("added-records") > 0


def _unfit(ask: Ask) -> tuple[NotSeen, ...]:
    contract, table = ask.contract, ask.observation.table
    if missing := absent_columns(ask, contract.position, contract.position_partition):
        return missing
    if asked_of(table, contract).position is not None:
        return ()
    kind = next(each.type for each in table.columns if each.name == contract.position)
    return (
        NotSeen(
            source=f"column {contract.position} of {table.name}",
            reason=f"Column {contract.position} holds {kind}; positions that are no whole numbers are not compared.",
            remedy="Name another column as position, or none.",
        ),
    )


def _not_compared(ask: Ask, commits: Sequence[SnapshotId], why: str, remedy: str) -> NotSeen:
    """`why`: what their files are like, and for what reason rows were not read."""
    columns = [name for name in (ask.contract.position_partition, ask.contract.position) if name is not None]
    return NotSeen(
        source=f"bounds of {' and '.join(columns)} in the files of {ask.observation.table.name}",
        reason=f"{counted(len(commits), 'commit')} ({ids(commits)}) {why}: whether what was brought there came before, "
        "or again, is not known.",
        remedy=f"Ask for replayed_rows, which compares the rows. {remedy}",
    )


COMMITS_BELOW = 20
TASK = Task(
    name="duplicate_commits",
    title="Duplicate commits",
    question="Does any commit of the window repeat an earlier one?",
    confirmed_means="some checkpoint or source range was committed twice",
    ruled_out_means="no commit of the window repeats an earlier one",
    needs=("table",),
    cost=f"manifests of the window and of the {COMMITS_BELOW} commits below it. Where these leave out bounds of "
    "positions, or a file holds several source partitions, it also reads the position columns. Where positions have "
    "holes, it reads these columns of overlapping commits too",
    reads="metadata",
    version=7,
)


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """For each repeating commit of main its strongest proof, and the commit of which it repeats most.

    Files and checkpoint ids prove by themselves. A source range does by the bounds of the position column where each
    file holds one source partition, of one run only where its source began anew where it had begun before; or, against
    another run, by those of the event time, which late or backfilled events imitate. A cherry-pick is of the run whose
    commit it copied. A checkpoint id that comes again with other files and another range is no repetition (a V1 job
    that was started anew under its old id counts from 1), nor are the batches of one Flink CDC checkpoint.
    """
    reach = reach_of(ask)
    if not reach.main:
        return Answer(
            verdict=Verdict.RULED_OUT,
            headline="No commit in the window, so none repeats another.",
            finding=DuplicateCommitsFinding(commits_checked=0, repeated=()),
        )
    return judge(ask, reach, read(spark, ask, reach))


class Facts(NamedTuple):
    """What was read of the commits that are compared."""

    commits: Sequence[Snapshot]
    """The window's, and those from before it; oldest first."""
    covered: Covered
    repeated: tuple[RepeatedCommit, ...]


def read(spark: SparkSession, ask: Ask, reach: Reach) -> Facts:
    """Of commits that repeat others rows are read where ranges do not tell how many."""
    table, commits = ask.observation.table, _compared(ask, reach)
    covered, shared = brought_by(spark, table, ask.contract, commits)
    repeated, proven = repeating(table, commits, reach, covered, shared)
    own = {each.again: proven.get(each.again, ()) for each in repeated if not each.too_many}
    return Facts(commits, covered, counted_in_parts(spark, table, ask.contract, repeated, own))


def judge(ask: Ask, reach: Reach, facts: Facts) -> Answer:
    """Without Spark."""
    commits, covered, repeated = facts
    doubts, apart = doubts_of(ask, reach, commits, covered), runs_apart(ask, reach, commits, covered)
    unseen = (*doubts.unseen, *((apart,) if apart is not None and not repeated else ()))
    if repeated:
        verdict = Verdict.CONFIRMED
        headline = " ".join((_headline(repeated), *(each.reason for each in unseen)))
    elif unseen:
        verdict = Verdict.INCONCLUSIVE
        headline = f"No file and no checkpoint was committed twice, but not all else is known: {unseen[0].reason}"
        if apart is not None or not doubts.are_of_rows:  # not every commit was compared as a whole
            return could_not(headline, *unseen)
    else:
        verdict = Verdict.RULED_OUT
        headline = f"None of {counted(len(reach.main), 'commit')} repeats another one{_or_below(ask, reach)}."
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="repeating commits", value=len(repeated), unit="commits"),
            Measure(name="repeated rows", value=sum(each.rows_again for each in repeated), unit="rows"),
            Measure(name="commits of the window", value=len(reach.main), unit="commits"),
            Measure(name="commits compared", value=len(commits), unit="commits"),
        ),
        columns=("first", "again", "proof", "run", "checkpoint", "rows", "brought again", "cherry-picked"),
        rows=tuple(_row(each) for each in repeated[:MAX_ROWS]),
        finding=DuplicateCommitsFinding(
            commits_checked=len(reach.main), repeated=repeated, ranges=_brought(ask, commits, covered)
        ),
        sources=_SOURCES,
        could_not_look=unseen,
    )


def _brought(ask: Ask, commits: Sequence[Snapshot], covered: Covered) -> tuple[CommitRanges, ...] | None:
    """None above `MOST_COMMIT_RANGES`: of a part nobody could say what the rest brought."""
    ids_of = [commit.snapshot_id for commit in commits]
    told = told_ranges(covered, ask.observation.table, ask.contract, ids_of)
    if told is None or sum(map(len, told.values())) > MOST_COMMIT_RANGES:
        return None
    return tuple(CommitRanges(snapshot_id=each, ranges=told.get(each)) for each in ids_of)


def _compared(ask: Ask, reach: Reach) -> tuple[Snapshot, ...]:
    """The window's commits on main, the newest below, and older ones that carry a checkpoint of the window's."""
    below = line_of(ask.observation.table, reach.since)
    near, older = below[:COMMITS_BELOW], below[COMMITS_BELOW:]
    names = {(c.job_id, c.operator_id, c.checkpoint_id) for c in reach.main if c.checkpoint_id is not None}
    at = at_checkpoints(older, {checkpoint for _, _, checkpoint in names})
    same = [c for c in map(older.__getitem__, at) if (c.job_id, c.operator_id, c.checkpoint_id) in names]
    return (*reversed([*near, *same]), *reach.main)


def _or_below(ask: Ask, reach: Reach) -> str:
    """Against which commits from before the window it was held, too."""
    near = len(list(islice(ask.observation.table.ancestors(reach.since), COMMITS_BELOW + 1)))
    if not near:
        return ""
    compared = min(near, COMMITS_BELOW)
    below = "the one before the window" if compared == 1 else f"any of the {compared} before the window"
    older = "; of older ones only those with the same checkpoint were compared" if near > COMMITS_BELOW else ""
    return f", nor {below}{older}"


_SOURCES = (f"files, bounds and summaries of the window's commits and of the {COMMITS_BELOW} below",)


def _headline(repeated: Sequence[RepeatedCommit]) -> str:
    rows = sum(each.rows_again for each in repeated)
    ways = {"same-files": "the files", "same-checkpoint": "a checkpoint", "same-source-range": "a source range"}
    if len(repeated) == 1:
        one = repeated[0]
        own = f" of its {one.rows:,}" if rows < one.rows else ""
        most = "up to " if one.is_at_most else ""
        return (
            f"Commit {short(one.again)} repeats {ways[one.how]} of {short(one.first)}, "
            f"{most}{counted(rows, 'row')}{own}."
        )
    counts = {how: sum(each.how == how for each in repeated) for how in STRENGTH}
    told = ", ".join(f"{number} with the same {how[5:].replace('-', ' ')}" for how, number in counts.items() if number)
    again = ids([each.again for each in repeated])
    most = "up to " if any(each.is_at_most for each in repeated) else ""
    return f"{len(repeated)} commits repeat rows of earlier commits ({told}), {most}{rows:,} rows in total: {again}."


def _row(each: RepeatedCommit) -> tuple[str, ...]:
    return (
        short(each.first),
        short(each.again),
        each.how,
        short_job(each.job_id) if each.job_id else "none",
        cell(each.checkpoint_id),
        f"{each.rows:,}",
        f"{'up to ' if each.is_at_most else ''}{each.rows_again:,}",
        "yes" if each.is_cherry_pick else "no",
    )
