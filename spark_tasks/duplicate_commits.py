"""Does any commit of the window bring what another had brought before?"""

from collections.abc import Mapping, Sequence
from itertools import islice

from pyspark.sql import SparkSession

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import DuplicateCommitsFinding, RepeatedCommit
from bot.domain.ids import SnapshotId, short, short_job
from bot.domain.listed_views import at_checkpoints
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.table import Snapshot
from spark_tasks._brought import brought_by
from spark_tasks._covered import Overlap
from spark_tasks._not_compared import Doubts, doubts_of, runs_apart
from spark_tasks._repeated_parts import counted_in_parts, parts_in_words, spans_of
from spark_tasks._repeating import STRENGTH, repeating
from spark_tasks._window import Reach, line_of, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, cell, could_not, ids

COMMITS_BELOW = 20
_NAMED = 3
TASK = Task(
    name="duplicate_commits",
    title="Duplicate commits",
    question="Does any commit of the window repeat an earlier one?",
    confirmed_means="some checkpoint or source range was committed twice",
    ruled_out_means="no commit of the window repeats an earlier one",
    needs=("table",),
    cost=f"manifests of the window and of the {COMMITS_BELOW} commits below it. Where these leave out bounds of "
    "positions, or a file holds several source partitions, it also reads up to 64 MB of position columns. Where "
    "positions have holes, it reads these columns of overlapping commits too",
    reads="metadata",
    version=6,
)


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """For each repeating commit of main its strongest proof, and the commit of which it repeats most.

    Files and checkpoint ids prove by themselves. A source range does by the bounds of the position column where each
    file holds one source partition, of one run only where its source began anew where it had begun before; or, against
    another run, by those of the event time, which late or backfilled events imitate. A cherry-pick is of the run whose
    commit it copied. A checkpoint id that comes again with other files and another range is no repetition (a V1 job
    that was started anew under its old id counts from 1), nor are the batches of one Flink CDC checkpoint.
    Raises EvidenceFailed where the window has too many ranges to compare.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its commits cannot be compared.", reach)
    if not reach.main:
        return _none(0, "No commit in the window, so none repeats another.")
    commits = _compared(ask, reach)
    covered, shared = brought_by(spark, ask.observation.table, ask.contract, commits)
    repeated, proven = repeating(ask.observation.table, commits, reach, covered, shared)
    repeated = _in_parts(spark, ask, repeated, proven)
    doubts = doubts_of(ask, reach, commits, covered)
    if repeated:
        return _some(reach, repeated, len(commits), doubts)
    apart = runs_apart(ask, reach, commits, covered)
    if doubts.unseen or apart is not None:
        return _open_still(reach, doubts, apart, len(commits))
    headline = f"None of {counted(len(reach.main), 'commit')} repeats another one{_or_below(ask, reach)}."
    return _none(len(reach.main), headline, len(commits))


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


def _in_parts(
    spark: SparkSession, ask: Ask, repeated: Sequence[RepeatedCommit], proven: Mapping[SnapshotId, Sequence[Overlap]]
) -> tuple[RepeatedCommit, ...]:
    """With the part of each that came again, where not all of it surely did: what else it brought is there once."""
    table, contract = ask.observation.table, ask.contract
    own = {each.again: proven.get(each.again, ()) for each in repeated if not each.too_many}
    return tuple(
        each.model_copy(update={"parts": parts_in_words(spans_of(own.get(each.again, ())), table, contract)})
        for each in counted_in_parts(spark, table, contract, repeated, own)
    )


def _some(reach: Reach, repeated: tuple[RepeatedCommit, ...], compared: int, doubts: Doubts) -> Answer:
    finding = DuplicateCommitsFinding(commits_checked=len(reach.main), repeated=repeated)
    rows = sum(each.rows_again for each in repeated)
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=" ".join((_headline(repeated, rows), *(each.reason for each in doubts.unseen))),
        measures=(
            Measure(name="repeating commits", value=len(repeated), unit="commits"),
            Measure(name="rows brought again", value=rows, unit="rows"),
            Measure(name="commits of the window", value=len(reach.main), unit="commits"),
            Measure(name="commits compared", value=compared, unit="commits"),
        ),
        columns=("first", "again", "proof", "run", "checkpoint", "rows", "brought again", "positions", "cherry-picked"),
        rows=tuple(_row(each) for each in repeated[:MAX_ROWS]),
        finding=finding,
        sources=_SOURCES,
        could_not_look=doubts.unseen,
    )


_SOURCES = (f"files, bounds and summaries of the window's commits and of the {COMMITS_BELOW} below",)


def _headline(repeated: Sequence[RepeatedCommit], rows: int) -> str:
    ways = {
        "same-files": "the very files",
        "same-checkpoint": "a checkpoint",
        "same-source-range": "a part of the source",
    }
    if len(repeated) == 1:
        one = repeated[0]
        own = f" of its {one.rows:,}" if rows < one.rows else ""
        most = "up to " if one.is_at_most else ""
        where = f": position{'' if _is_one_place(one) else 's'} {_places(one)}" if one.parts else ""
        return (
            f"Commit {short(one.again)} brings {ways[one.how]} of {short(one.first)} again, "
            f"{most}{counted(rows, 'row')}{own}{where}."
        )
    counts = {how: sum(each.how == how for each in repeated) for how in STRENGTH}
    told = ", ".join(f"{number} {ways[how]}" for how, number in counts.items() if number)
    again = ids([each.again for each in repeated])
    most = "up to " if any(each.is_at_most for each in repeated) else ""
    return f"{len(repeated)} commits bring again what others had brought ({told}), {most}{rows:,} rows in all: {again}."


def _is_one_place(each: RepeatedCommit) -> bool:
    return len(each.parts) == 1 and each.parts[0].first == each.parts[0].last


def _places(each: RepeatedCommit) -> str:
    """`10 to 19 of partition 0, 15 to 20 of partition 1 and 3 more`; empty where no part is told."""
    told = ", ".join(
        (f"{part.first} to {part.last}" if part.first < part.last else f"{part.first}")
        + (f" of partition {part.partition}" if part.partition is not None else "")
        for part in each.parts[:_NAMED]
    )
    return f"{told} and {len(each.parts) - _NAMED} more" if len(each.parts) > _NAMED else told


def _row(each: RepeatedCommit) -> tuple[str, ...]:
    return (
        short(each.first),
        short(each.again),
        each.how,
        short_job(each.job_id) if each.job_id else "none",
        cell(each.checkpoint_id),
        f"{each.rows:,}",
        f"{'up to ' if each.is_at_most else ''}{each.rows_again:,}",
        _places(each) or cell(None),
        "yes" if each.is_cherry_pick else "no",
    )


def _open_still(reach: Reach, doubts: Doubts, apart: NotSeen | None, compared: int) -> Answer:
    """The finding goes with it where every commit was compared as a whole, so that who asks for files and checkpoints
    has an answer."""
    unseen = (*doubts.unseen, *((apart,) if apart is not None else ()))
    reason = unseen[0].reason
    said = f"No file and no checkpoint was committed twice, but not all else is known: {reason[0].lower()}{reason[1:]}"
    if apart is not None or not doubts.are_of_rows:
        return could_not(said, *unseen)
    return _none(len(reach.main), said, compared).model_copy(
        update={"verdict": Verdict.INCONCLUSIVE, "could_not_look": unseen}
    )


def _none(commits: int, headline: str, compared: int = 0) -> Answer:
    return Answer(
        verdict=Verdict.RULED_OUT,
        headline=headline,
        measures=(
            Measure(name="commits of the window", value=commits, unit="commits"),
            Measure(name="commits compared", value=compared, unit="commits"),
        ),
        finding=DuplicateCommitsFinding(commits_checked=commits, repeated=()),
        sources=_SOURCES if commits else (),
    )
