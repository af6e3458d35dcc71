"""Who committed what in the window, and what breaks the chain of its commits?"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from itertools import islice, pairwise

from pyspark.sql import SparkSession

from bot.history.branches import commits_beside_main, in_words, told_of
from bot.history.rollbacks import Sinks
from bot.history.skipped_checkpoints import missing_after, missing_before
from bot.observation.evidence import Answer, Ask, Measure, Observation, Task, Verdict
from bot.observation.findings import LedgerFinding
from bot.observation.flink import CheckpointKind, JobRun
from bot.observation.ids import CheckpointId, JobId, short, short_job, short_operator
from bot.observation.ledger import Ledger, LedgerRow, Sink, SkippedCheckpoint, SkipReason, change, event_range, row_of
from bot.observation.listed import Mark, Writer, marks_of
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import column_times, counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.commit_files import CommitFiles, files_by_commit
from spark_tasks._support.window import Reach, line_of, reach_of
from spark_tasks._support.words import IDS_IN_A_SENTENCE, MAX_ROWS, answers, ids

COLUMNS = (
    "checkpoint", "run", "committed", "on main", "no commit before", "rows", "read by", "snapshot", "writer", "files",
    "deletes", "event time", "positions", "refs", "code", "attempts", "subtasks", "operator", "schema, spec", "parent",
)  # fmt: skip
"""Twenty: Slack's table takes no more. What a phone shows first comes first."""
_WRITERS = {Sink.FLINK_UNKNOWN: "Flink", Sink.COMPACTION: "compaction"}


def lines_of(rows: Sequence[LedgerRow], *, readers_known: bool, looked_at: datetime) -> tuple[tuple[str, ...], ...]:
    """One line a row; the day is told only where they are not all of the day of the look. `readers_known` as in
    `Ledger`."""
    said = column_times((looked_at, *(row.committed_at for row in rows)))
    return tuple(_cells(row, said(row.committed_at), readers_known=readers_known) for row in rows)


def _cells(row: LedgerRow, committed: str, *, readers_known: bool) -> tuple[str, ...]:
    """As many as `COLUMNS`; empty where there is nothing, `unknown` where no source tells, and of a checkpoint's kind a
    question mark."""
    return (
        _checkpoint(row),
        short_job(row.job_id) if row.job_id else "",
        committed,
        "yes" if row.on_main else "rolled back",
        ", ".join(each.words for each in row.skipped),
        change(row.added_rows, row.removed_rows),
        ", ".join(sorted({reader.consumer for reader in row.readers})) or ("" if readers_known else "unknown"),
        short(row.snapshot_id),
        _writer(row),
        change(row.added_files, row.removed_files),
        change(row.added_delete_files, row.removed_delete_files) if row.has_deletes else "",
        event_range(row.event_from, row.event_until),
        "" if row.position_from is None else f"{row.position_from}–{row.position_until}",
        ", ".join(name for name in row.refs if name != "main"),
        row.code_version or "unknown",
        _numbers(row, row.attempts),
        _numbers(row, row.subtasks),
        short_operator(row.operator_id) if row.job_id or row.operator_id else "",
        _schema_and_spec(row),
        "" if row.parent_id is None else short(row.parent_id),
    )


def _checkpoint(row: LedgerRow) -> str:
    """`5`, `5 savepoint`; `5?` where no source tells which of the two: a word in most lines would be no calm."""
    if row.checkpoint_id is None:
        return row.operation
    match row.checkpoint_kind:
        case CheckpointKind.CHECKPOINT:
            return str(row.checkpoint_id)
        case CheckpointKind.UNKNOWN:
            return f"{row.checkpoint_id}?"
        case _:
            return f"{row.checkpoint_id} {row.checkpoint_kind.value}"


def _writer(row: LedgerRow) -> str:
    """The kind of writer, and what it did where that is not an append."""
    name = _WRITERS.get(row.sink, row.engine if row.sink is Sink.OTHER else row.sink.value)
    is_said = row.operation == "append" or row.checkpoint_id is None
    return name if is_said else f"{name}, {row.operation}"


def _numbers(row: LedgerRow, told: tuple[int, ...] | None) -> str:
    if told is None:
        return "unknown" if row.added_files or row.added_delete_files else ""
    return ", ".join(map(str, told))


def _schema_and_spec(row: LedgerRow) -> str:
    """`0, 0`; several specs as `0, 0/1`."""
    schema = "unknown" if row.schema_id is None else str(row.schema_id)
    return f"{schema}, {'/'.join(map(str, row.spec_ids))}" if row.spec_ids else schema


PROPERTIES = ("app.git-sha", "git-sha", "git.sha", "git-commit", "git.commit.id", "code.version", "app.version")
"""Snapshot properties in which jobs say their code's version (`setSnapshotProperty`), because Iceberg does not record
it. The first one counts."""


def code_version_of(commit: Snapshot, jobs: Seen[JobRun] | NotSeen) -> tuple[str | None, str | None]:
    """The version, and where it was found: a snapshot property, else the job run's own word; else None twice."""
    for key in PROPERTIES:
        if value := commit.summary.get(key):
            return value, f"snapshot property {key}"
    run = next((run for run in jobs.values if commit.job_id is not None and run.job_id == commit.job_id), None)
    if run is not None and run.code_version is not None:
        return run.code_version, "the job's parameters"
    return None, None


SAMPLE = 10
_MOST = 3
_BELOW = 10
_SINKS_APART = 2
"""So many checkpoints may one sink of a run be behind another: its commit is tried again when it fails."""


def faults(ledger: Ledger, before: Sequence[Mark], *, manifests_seen: bool) -> list[str]:
    """What breaks the chain, each a few words with its count. `before`: what main carried below the window, the newest
    last.

    An id that no source explains is a fault only if every source was asked.
    """
    rows = ledger.rows
    runs = runs_of(rows)
    lost = [row.snapshot_id for row in rows if not row.on_main]
    foreign = [row.snapshot_id for row in rows if row.job_id is None and row.operation != "replace" and row.has_changes]
    falls = _falls(rows, before)
    found = []
    if len(runs) > 1:
        found.append(f"{len(runs)} job runs ({', '.join(short_job(run) for run in runs[:4])})")
    if lost:
        found.append(f"{counted(len(lost), 'commit')} rolled back ({ids(lost)})")
    if falls:
        times = "once" if len(falls) == 1 else f"{len(falls)} times"
        found.append(f"checkpoint ids repeat or fall {times} (first at {falls[0]})")
    if foreign:
        found.append(f"{counted(len(foreign), 'commit')} by another writer ({ids(foreign)})")
    found += _gone(ledger, SkipReason.SKIPPED, "that the sink refused as already committed")
    found += _gone(ledger, SkipReason.LEAKED, "whose Flink manifest was never committed")
    if manifests_seen:
        found += _gone(ledger, SkipReason.UNEXPLAINED, "without a commit that nothing explains")
    return found


def unexplained(ledger: Ledger) -> list[str]:
    """Ids that no source explains: what the answer cannot tell while a source is down."""
    return _gone(ledger, SkipReason.UNEXPLAINED, "without a commit")


def _gone(ledger: Ledger, reason: SkipReason, words: str) -> list[str]:
    """`3 checkpoints that … (run b92e04: 7–9)`; empty without any."""
    those = [each for each in missing(ledger) if each.reason is reason]
    if not those:
        return []
    number = sum(each.last - each.first + 1 for each in those)
    by_run: dict[JobId | None, list[str]] = {}
    for each in those:
        by_run.setdefault(each.job_id, []).append(each.ids)
    told = [
        f"run {short_job(run)}: {', '.join(ranges[:_MOST])}{' …' if len(ranges) > _MOST else ''}"
        for run, ranges in list(by_run.items())[:_MOST]
    ]
    return [f"{counted(number, 'checkpoint')} {words} ({'; '.join(told)})"]


def missing(ledger: Ledger) -> tuple[SkippedCheckpoint, ...]:
    """Every checkpoint id without a snapshot on main, those between commits first."""
    return (*(each for row in ledger.rows for each in row.skipped), *ledger.trailing)


def carried_before(table: TableState, reach: Reach) -> tuple[Mark, ...]:
    """The newest commits with a checkpoint that main had where the window begins, the newest last: a replay falls below
    that one at once. Several, because sinks of one run take turns."""
    marks = (mark for mark in marks_of(line_of(table, reach.since)) if mark[3] is not None)
    return tuple(islice(marks, _BELOW))[::-1]


def _falls(rows: Iterable[LedgerRow], before: Sequence[Mark]) -> list[str]:
    """Places on main where the next checkpoint id is not higher than the one before it."""
    found = []
    own: dict[Writer, CheckpointId] = {(job, of): told for _, job, of, told in before if job and told is not None}
    newest = before[-1] if before else None
    for row in rows:
        if not row.on_main or row.checkpoint_id is None:
            continue
        if newest is not None and (fallen := _fallen_from(newest, row, own)) is not None:
            found.append(f"{fallen} → {row.checkpoint_id}, {short(row.snapshot_id)}")
        newest = row.snapshot_id, row.job_id, row.operator_id, row.checkpoint_id
        if row.job_id is not None:
            own[row.job_id, row.operator_id] = row.checkpoint_id
    return found


def _fallen_from(newest: Mark, row: LedgerRow, own: Mapping[Writer, CheckpointId]) -> CheckpointId | None:
    """The id that the row's should be higher than, and is not. Two sinks of one run each commit a checkpoint, at nearly
    the same time: such a one only must not fall far below the other, nor to one that it has committed itself."""
    _, job, operator, before = newest
    if before is None or row.checkpoint_id is None:
        return None
    is_other_sink = job is not None and job == row.job_id and None not in (operator, row.operator_id)
    if not is_other_sink or operator == row.operator_id:
        return before if row.checkpoint_id <= before else None
    if row.checkpoint_id < before - _SINKS_APART:
        return before
    its = own.get((job, row.operator_id)) if job is not None else None
    return its if its is not None and row.checkpoint_id <= its else None


def runs_of(rows: Iterable[LedgerRow]) -> list[JobId]:
    """Flink runs in the order of their first commit."""
    return list(dict.fromkeys(row.job_id for row in rows if row.job_id is not None))


def telling(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Ten rows in their order: those around each break of the chain first, then the lost ones that the headline names,
    then the newest. The finding has all."""
    breaks = [n for n, (before, after) in enumerate(pairwise(rows), start=1) if _is_break(before, after)]
    around = [n + step for n in breaks for step in (-1, 0, -2, 1) if 0 <= n + step < len(rows)]
    lost = [n for n, row in enumerate(rows) if not row.on_main][:IDS_IN_A_SENTENCE]
    wanted = list(dict.fromkeys([*around, *lost, *range(len(rows) - 1, -1, -1)]))[:SAMPLE]
    return [rows[n] for n in sorted(wanted)]


def _is_break(before: LedgerRow, after: LedgerRow) -> bool:
    """Whether another run or engine goes on here, one side of it is no longer on main, or files may be missing."""
    if any(each.is_fault for each in after.skipped):
        return True
    return (before.engine, before.job_id, before.on_main) != (after.engine, after.job_id, after.on_main)


TASK = Task(
    name="ledger",
    title="Commit history",
    question="Who committed what in the window, and is it one unbroken chain of one job run?",
    confirmed_means="the chain is broken: another run or writer, a rollback, checkpoint ids that fall, or "
    "checkpoints without a commit",
    ruled_out_means="one run wrote an unbroken chain of commits with rising checkpoint ids",
    confirmed_is="neutral",
    needs=("table", "jobs"),
    cost="manifest lists and manifests of the window's commits",
    reads="metadata",
    version=5,
)


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """One row per commit of the window, rolled-back ones too, and every checkpoint id that has no commit.

    The verdict `confirmed` needs nothing but metadata. `ruled-out` also needs Flink to have been asked (a
    job id that was used twice looks like one run), the window's beginning to be listed still, and a reason for
    each id without a commit. Reads the manifests that the window's commits wrote, bounds included; no rows.
    """
    reach = reach_of(ask)
    world = ask.observation
    commits = ask.window.of(world.table)
    ledger = _ledger(spark, ask, commits)
    found = faults(
        ledger, carried_before(world.table, reach), manifests_seen=not isinstance(world.flink_manifests, NotSeen)
    )
    open_ends = _open_ends(ask, ledger, is_cut=ask.window.since is not None and reach.since is None)
    if found:
        verdict, headline = Verdict.CONFIRMED, f"{_opening(ledger.rows)}: {', '.join(found)}."
    elif open_ends:
        verdict = Verdict.INCONCLUSIVE
        headline = f"{_opening(ledger.rows)}: an unbroken chain as far as metadata tells, but {open_ends[0]}."
    else:
        verdict = Verdict.RULED_OUT
        headline = (
            f"{_opening(ledger.rows)}: one unbroken chain of {_runs_in_words(ledger.rows)}."
            if ledger.rows
            else f"No commit in the window, so none breaks the chain. {_newest(world.table)}"
        )
    asked = (world.jobs, world.checkpoints, world.reads, world.flink_manifests)
    beside = commits_beside_main(world.table)
    ledger = ledger.model_copy(update={"branches": tuple(told_of(*each) for each in beside.items())[:MAX_ROWS]})
    apart = {each.snapshot_id for commits in beside.values() for each in commits}
    return Answer(
        verdict=verdict,
        headline=f"{headline}{in_words(ledger.branches)}",
        measures=_measures(ledger, len(apart)),
        columns=COLUMNS,
        rows=lines_of(telling(ledger.rows), readers_known=ledger.readers_known, looked_at=world.table.read_at),
        finding=LedgerFinding(ledger=ledger),
        sources=_sources(world, commits),
        could_not_look=tuple(source for source in asked if isinstance(source, NotSeen)),
    )


def _ledger(spark: SparkSession, ask: Ask, commits: Sequence[Snapshot]) -> Ledger:
    world = ask.observation
    sinks = Sinks(world.jobs.values)
    files = files_by_commit(spark, world.table, ask.contract, commits)
    skipped = missing_before(world, sinks, commits)
    rows = tuple(
        _row(ask, commit, files.get(commit.snapshot_id, CommitFiles())).model_copy(
            update={"sink": sinks.of(commit), "skipped": skipped.get(commit.snapshot_id, ())}
        )
        for commit in commits
    )
    return Ledger(
        rows=rows, readers_known=not isinstance(world.reads, NotSeen), trailing=missing_after(world, sinks, ask.window)
    )


_COUNTERS = {
    "added_files": "added-data-files",
    "added_rows": "added-records",
    "removed_files": "deleted-data-files",
    "removed_rows": "deleted-records",
    "added_delete_files": "added-delete-files",
    "removed_delete_files": "removed-delete-files",
}
"""Field of a row -> key of the summary, which counts; what the manifests say where the writer left it out."""


def _row(ask: Ask, commit: Snapshot, files: CommitFiles) -> LedgerRow:
    world = ask.observation
    told = {name: value for name, value in files if _COUNTERS.get(name) not in commit.summary}
    told |= {
        "checkpoint_kind": _kind(world, commit),
        "code_version": code_version_of(commit, world.jobs)[0],
        "readers": tuple(run for run in world.reads.values if run.snapshot_id == commit.snapshot_id),
    }
    return row_of(world.table, commit).model_copy(update=told)


def _kind(world: Observation, commit: Snapshot) -> CheckpointKind:
    """From Flink's history, else from storage; unknown when neither remembers."""
    if commit.job_id is None or commit.checkpoint_id is None:
        return CheckpointKind.UNKNOWN
    runs = [run for run in world.jobs.values if run.job_id == commit.job_id]
    remembered = [c.kind for run in runs for c in run.checkpoints if c.checkpoint_id == commit.checkpoint_id]
    wanted = (commit.job_id, commit.checkpoint_id)
    stored = [s.kind for s in world.checkpoints.values if (s.job_id, s.checkpoint_id) == wanted]
    known = (kind for kind in [*remembered, *stored] if kind is not CheckpointKind.UNKNOWN)
    return next(known, CheckpointKind.UNKNOWN)


def _open_ends(ask: Ask, ledger: Ledger, *, is_cut: bool) -> list[str]:
    """What keeps an unbroken chain from being proven, the weightiest first."""
    ends = []
    if is_cut:
        ends.append("the snapshot where it begins has expired")
    if isinstance(ask.observation.jobs, NotSeen):
        ends.append("Flink could not be asked about its runs")
    return ends + [f"{gone}, and the Flink manifests could not be listed" for gone in unexplained(ledger)]


def _runs_in_words(rows: Sequence[LedgerRow]) -> str:
    runs = runs_of(rows)
    return f"run {short_job(runs[0])}" if runs else "no Flink run at all"


def _opening(rows: Sequence[LedgerRow]) -> str:
    return f"{counted(len(rows), 'commit')} in the window" if rows else "No commit in the window"


def _newest(table: TableState) -> str:
    """A sentence: a job that stands still is not healthy for want of commits."""
    head = next(table.ancestors(table.head), None)
    return (
        "Main has none at all." if head is None else f"Main's newest is of {head.committed_at:%Y-%m-%d %H:%M:%S} UTC."
    )


def _measures(ledger: Ledger, beside: int) -> tuple[Measure, ...]:
    rows, gone = ledger.rows, [each for each in missing(ledger) if each.is_fault]
    untold = sum(row.checkpoint_id is not None and row.checkpoint_kind is CheckpointKind.UNKNOWN for row in rows)
    return (
        Measure(name="commits", value=len(rows), unit="commits"),
        Measure(name="rolled back", value=sum(not row.on_main for row in rows), unit="commits"),
        Measure(name="job runs", value=len(runs_of(rows)), unit="runs"),
        Measure(name="not in the table", value=sum(s.last - s.first + 1 for s in gone), unit="checkpoints"),
        Measure(name="rows added on main", value=sum(row.added_rows for row in rows if row.on_main), unit="rows"),
        *([Measure(name="checkpoint kind unknown (?)", value=untold, unit="commits")] if untold else []),
        *([Measure(name="on other branches", value=beside, unit="commits")] if beside else []),
    )


def _sources(world: Observation, commits: Sequence[Snapshot]) -> tuple[str, ...]:
    asked = (world.jobs, world.checkpoints, world.reads, world.flink_manifests)
    seen = [source.source for source in asked if not isinstance(source, NotSeen)]
    keys = sorted({source for c in commits if (source := code_version_of(c, world.jobs)[1]) is not None})
    return (f"manifests of {counted(len(commits), 'commit')}", *seen, *(f"code version from {key}" for key in keys))
