"""Which commits of the window bring old event times in bulk?"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import BackfillFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot
from spark_tasks._support.copies import in_range_of, with_key_in
from spark_tasks._support.data_files import DataFile, rows_in
from spark_tasks._support.event_time import (
    BELOW,
    MICROS,
    brings_new_rows,
    by_commit,
    event_column,
    highest,
    mixes,
    newest_with_rows,
    of_the_future,
    timed_files,
)
from spark_tasks._support.reading import column, renamed, rows_at
from spark_tasks._support.window import begin_expired, is_cut, no_commits, reach_of
from spark_tasks._support.words import MAX_ROWS, at, cell, could_not, lasting, moment, without_key

TASK = Task(
    name="backfill_boundary",
    title="Backfill boundary",
    question="Which commits of the window bring old event times in bulk, and where does that begin and end?",
    confirmed_means="some commits bring old event times in bulk",
    ruled_out_means="no commit of the window brings old event times in bulk",
    needs=("table", "contract.event_time"),
    cost=f"manifests of the window and of {BELOW} commits below it; keys of the backfill and of rows within its bounds",
    version=3,
)
_FAR = 3600 * MICROS
_TIMES_LATE = 10


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """A commit is of a backfill when at least half of its rows stand in files whose newest event lies far below the
    newest one that was there before: ten times what the contract calls late, or an hour where it says nothing.

    Other commits alone raise the mark. Bounds of files tell; rows are read only for keys that lived before.
    """
    event = event_column(ask, "A backfill")
    if isinstance(event, Answer):
        return event
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so its commits cannot be read.", reach)
    table = ask.observation.table
    if unreadable := renamed(table, [event.name]):
        return could_not(f"A backfill cannot be told: {unreadable[0].reason}", *unreadable)
    commits = [commit for commit in reach.main if brings_new_rows(commit)]
    below = newest_with_rows(table, reach.since, BELOW)
    inside = {commit.snapshot_id for commit in commits}
    files = timed_files(spark, ask, [*below, *commits], event)
    start = highest(file for file in files if file.snapshot_id not in inside)
    grouped = by_commit(file for file in files if file.snapshot_id in inside)
    old = old_commits(commits, grouped, start, _far(ask))
    cut = (begin_expired(ask, reach),) if is_cut(ask, reach) else ()
    unseen = (*mixes(reach.main), *cut, *of_the_future(ask, files))
    if not old:
        return _none(ask, len(commits), unseen)
    brought = [file for commit in old for file in grouped[commit.snapshot_id]]
    return _some(ask, old, brought, _overlapping(spark, ask, old[0], brought), unseen)


def old_commits(
    commits: Sequence[Snapshot], files: Mapping[SnapshotId, Sequence[DataFile]], start: int | None, far: int
) -> list[Snapshot]:
    """The commits of a backfill, oldest first. `start`: the highest event time below the window."""
    mark, old = start, []
    for commit in commits:
        own = files.get(commit.snapshot_id, ())
        rows = sum(file.rows for file in own)
        low = sum(f.rows for f in own if mark is not None and f.high is not None and f.high < mark - far)
        if rows and 2 * low >= rows:
            old.append(commit)
            continue
        top = highest(own)
        mark = top if mark is None else max(mark, mark if top is None else top)
    return old


def _overlapping(spark: SparkSession, ask: Ask, first: Snapshot, files: Sequence[DataFile]) -> int | None:
    """Keys of the backfill that lived in the table before its first commit; None when the contract names no key.

    Cost: key columns of its files, and of older rows within the range of its keys.
    """
    table, key = ask.observation.table, list(ask.contract.key)
    if first.parent_id is None or first.parent_id not in table.by_id:
        return None if first.has_commit_below else 0
    if without_key(ask, "Overlap") is not None or renamed(table, key):
        return None
    keys = [f"key_{place}" for place in range(len(key))]
    names = [column(name).alias(alias) for name, alias in zip(key, keys, strict=True)]
    brought = rows_in(spark, table, files, key).select(*names).distinct()
    live = rows_at(spark, table, first.parent_id).select(*names)
    older, _, _ = in_range_of(ask, brought, live, dict(zip(keys, key, strict=True)))
    return with_key_in(brought, older.distinct(), keys).count()


def _some(
    ask: Ask, old: Sequence[Snapshot], files: Sequence[DataFile], overlapping: int | None, unseen: tuple[NotSeen, ...]
) -> Answer:
    low = min((file.low for file in files if file.low is not None), default=None)
    high = highest(files)
    rows = sum(file.rows for file in files)
    finding = BackfillFinding(
        commits=tuple(commit.snapshot_id for commit in old),
        rows=rows,
        event_from=None if low is None else at(low),
        event_until=None if high is None else at(high),
        overlapping=overlapping or 0,
    )
    of_commit = by_commit(files)
    return Answer(
        verdict=Verdict.CONFIRMED,
        headline=_headline(old, rows, low, high, overlapping),
        measures=(
            Measure(name="commits of the backfill", value=len(old), unit="commits"),
            Measure(name="rows of the backfill", value=rows, unit="rows"),
            Measure(name="keys that lived before", value=finding.overlapping, unit="keys"),
        ),
        columns=("snapshot", "committed", "engine", "rows", "events from", "events until"),
        rows=tuple(_row(commit, of_commit[commit.snapshot_id]) for commit in old[:MAX_ROWS]),
        finding=finding,
        sources=_sources(ask),
        could_not_look=unseen,
    )


def _headline(old: Sequence[Snapshot], rows: int, low: int | None, high: int | None, overlapping: int | None) -> str:
    span = f", with events from {moment(low)} until {moment(high)}" if low is not None and high is not None else ""
    known = "" if overlapping is None else f"; {overlapping:,} of its keys lived in the table before"
    which = f"Commit {short(old[0].snapshot_id)} looks" if len(old) == 1 else (
        f"{counted(len(old), 'commit')} from {short(old[0].snapshot_id)} to {short(old[-1].snapshot_id)} look"
    )  # fmt: skip
    return f"{which} like a backfill: {counted(rows, 'row')}{span}{known}."


def _none(ask: Ask, commits: int, unseen: tuple[NotSeen, ...]) -> Answer:
    far = lasting(_far(ask) / MICROS)
    headline = f"None of {counted(commits, 'commit')} with rows brings mostly events that lie {far} below the newest."
    if unseen:
        headline = f"No backfill as far as can be seen; {unseen[0].reason}"
    return Answer(
        verdict=Verdict.INCONCLUSIVE if unseen else Verdict.RULED_OUT,
        headline=headline,
        measures=(Measure(name="commits with rows", value=commits, unit="commits"),),
        finding=BackfillFinding(commits=(), rows=0, event_from=None, event_until=None, overlapping=0),
        sources=_sources(ask),
        could_not_look=unseen,
    )


def _far(ask: Ask) -> int:
    """Microseconds below the newest event from which on a commit's rows are of another time."""
    late = ask.contract.late_after
    return round(_TIMES_LATE * late.total_seconds() * MICROS) if late else _FAR


def _row(commit: Snapshot, files: Sequence[DataFile]) -> tuple[str, ...]:
    low = min((file.low for file in files if file.low is not None), default=None)
    high = highest(files)
    return (
        short(commit.snapshot_id),
        f"{commit.committed_at:%Y-%m-%d %H:%M:%S}",
        commit.engine,
        str(sum(file.rows for file in files)),
        cell(None if low is None else moment(low)),
        cell(None if high is None else moment(high)),
    )


def _sources(ask: Ask) -> tuple[str, ...]:
    return (f"bounds of {ask.contract.event_time} in the window and in the newest {BELOW} commits below it",)
