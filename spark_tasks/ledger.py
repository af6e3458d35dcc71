"""Who committed what in the window?"""

from collections.abc import Sequence

from pyspark.sql import SparkSession

from bot.domain.evidence import Answer, Ask, Measure, Observation, Task, Verdict
from bot.domain.findings import LedgerFinding
from bot.domain.flink import CheckpointKind
from bot.domain.ids import short_job
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.sinks import Sinks
from bot.domain.table import Snapshot, TableState
from spark_tasks._bounds import range_columns
from spark_tasks._chain import carried_before, faults, missing, runs_of, telling, unexplained
from spark_tasks._code_version import code_version_of
from spark_tasks._commit_files import CommitFiles, files_by_commit, moment_of
from spark_tasks._ledger_cells import COLUMNS, lines_of
from spark_tasks._missing_between import missing_before
from spark_tasks._missing_commits import missing_after
from spark_tasks._other_branches import commits_beside_main, in_words, told_of
from spark_tasks._window import no_commits, reach_of
from spark_tasks._words import MAX_ROWS, could_not

TASK = Task(
    name="ledger",
    title="Commit history",
    question="Who committed what in the window, and is it one unbroken chain of one job run?",
    confirmed_means="the chain is broken: another run or writer, a rollback, checkpoint ids that fall, or "
    "checkpoints without a commit",
    ruled_out_means="one run wrote an unbroken chain of commits with rising checkpoint ids",
    needs=("table", "jobs"),
    cost="manifest lists and manifests of the window's commits",
    reads="metadata",
    version=4,
)


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """One row per commit of the window, rolled-back ones too, and every checkpoint id that has no commit.

    The verdict `confirmed` needs nothing but metadata. `ruled-out` also needs Flink to have been asked (a
    job id that was used twice looks like one run), the window's beginning to be listed still, and a reason for
    each id without a commit. Reads the manifests that the window's commits wrote, bounds included; no rows.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so there is nothing to tell of it.", reach)
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
        rows=rows,
        readers_known=not isinstance(world.reads, NotSeen),
        trailing=missing_after(world, sinks, ask.window),
    )


def _row(ask: Ask, commit: Snapshot, files: CommitFiles) -> LedgerRow:
    world = ask.observation
    event_column, _ = range_columns(world.table, ask.contract)

    def counter(key: str, in_manifests: int) -> int:
        """The summary's; what the manifests say where the writer left it out."""
        return commit.counted(key) if key in commit.summary else in_manifests

    return LedgerRow(
        snapshot_id=commit.snapshot_id,
        parent_id=commit.parent_id,
        sequence_number=commit.sequence_number,
        committed_at=commit.committed_at,
        on_main=commit.snapshot_id in world.table.chain_ids,
        operation=commit.operation,
        engine=commit.engine,
        job_id=commit.job_id,
        operator_id=commit.operator_id,
        checkpoint_id=commit.checkpoint_id,
        checkpoint_kind=_kind(world, commit),
        attempts=files.attempts,
        subtasks=files.subtasks,
        added_files=counter("added-data-files", files.added_files),
        added_rows=counter("added-records", files.added_rows),
        removed_files=counter("deleted-data-files", files.removed_files),
        removed_rows=counter("deleted-records", files.removed_rows),
        added_delete_files=counter("added-delete-files", files.added_delete_files),
        removed_delete_files=counter("removed-delete-files", files.removed_delete_files),
        event_from=moment_of(files.event_from, event_column),
        event_until=moment_of(files.event_until, event_column),
        position_from=files.position_from,
        position_until=files.position_until,
        schema_id=commit.schema_id,
        spec_ids=files.spec_ids,
        partitions=files.partitions,
        refs=tuple(ref.name for ref in world.table.refs if ref.snapshot_id == commit.snapshot_id),
        code_version=code_version_of(commit, world.jobs)[0],
        readers=tuple(run for run in world.reads.values if run.snapshot_id == commit.snapshot_id),
    )


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
        *([Measure(name="checkpoint kind not told (?)", value=untold, unit="commits")] if untold else []),
        *([Measure(name="on other branches", value=beside, unit="commits")] if beside else []),
    )


def _sources(world: Observation, commits: Sequence[Snapshot]) -> tuple[str, ...]:
    asked = (world.jobs, world.checkpoints, world.reads, world.flink_manifests)
    seen = [source.source for source in asked if not isinstance(source, NotSeen)]
    keys = sorted({source for c in commits if (source := code_version_of(c, world.jobs)[1]) is not None})
    return (f"manifests of {counted(len(commits), 'commit')}", *seen, *(f"code version from {key}" for key in keys))
