"""Who committed what in the window?"""

from collections.abc import Iterable, Sequence
from itertools import pairwise

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Observation, Task, Verdict
from bot.domain.findings import LedgerFinding
from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, JobId, SnapshotId, short, short_job
from bot.domain.ledger import Ledger, LedgerRow
from bot.domain.looked import NotSeen
from bot.domain.table import Snapshot, TableState
from spark_tasks._code_version import code_version_of
from spark_tasks._file_names import ATTEMPT_IN_FILE_NAME
from spark_tasks._reading import entries
from spark_tasks._window import Reach, reach_of
from spark_tasks._words import cell, could_not, counted, ids

TASK = Task(
    name="ledger",
    title="Ledger",
    question="Who committed what in the window, and is it one unbroken chain of one job run?",
    confirmed_means="the chain is broken: another run, another writer, a rollback, or checkpoint ids that fall",
    needs=("table", "jobs"),
    cost="manifest lists and manifests of the window's commits",
    reads="metadata",
)
_SAMPLE = 10
_COLUMNS = ("snapshot", "committed", "on main", "engine", "run", "checkpoint", "files", "rows", "attempts", "code")


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """One row per commit of the window, rolled-back ones too.

    The verdict `confirmed` needs nothing but metadata. `ruled-out` also needs Flink to have been asked (a
    job id that was used twice looks like one run) and the window's beginning to be listed still.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not("The window's end is no longer listed, so there is nothing to tell of it.", reach)
    world = ask.observation
    commits = ask.window.of(world.table)
    rows = _rows(spark, world, commits)
    faults = _faults(rows, _before(world.table, reach))
    unseen = tuple(s for s in (world.jobs, world.checkpoints, world.reads) if isinstance(s, NotSeen))
    is_cut = ask.window.since is not None and reach.since is None
    if faults:
        verdict, headline = Verdict.CONFIRMED, f"{_opening(rows)}: {', '.join(faults)}."
    elif isinstance(world.jobs, NotSeen) or is_cut:
        verdict = Verdict.INCONCLUSIVE
        missing = "the snapshot where it begins has expired" if is_cut else "Flink could not be asked about its runs"
        headline = f"{_opening(rows)}: an unbroken chain as far as metadata tells, but {missing}."
    else:
        verdict, headline = Verdict.RULED_OUT, f"{_opening(rows)}: one unbroken chain of {_runs_in_words(rows)}."
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=_measures(rows),
        columns=_COLUMNS,
        rows=tuple(_shown(row) for row in telling(rows)),
        finding=LedgerFinding(ledger=Ledger(rows=rows, readers_known=not isinstance(world.reads, NotSeen))),
        sources=_sources(world, commits),
        could_not_look=unseen,
    )


def files_of_commits(read: DataFrame) -> DataFrame:
    """Shape: snapshot_id, added_files, added_rows, removed_files, removed_rows (data files), names, named,
    attempts (array of int); one row per commit. `named` < `names`: some added file has another engine's name.
    """
    is_added, is_data = F.col("status") == 1, F.col("content") == 0
    attempt = F.regexp_extract(F.regexp_extract("file_path", r"[^/]+$", 0), ATTEMPT_IN_FILE_NAME, 1)
    return (
        read.withColumn("attempt", F.when(is_added & (attempt != ""), attempt.cast("int")))
        .groupBy("snapshot_id")
        .agg(
            F.count_if(is_added & is_data).alias("added_files"),
            F.sum(F.when(is_added & is_data, F.col("record_count")).otherwise(0)).alias("added_rows"),
            F.count_if(~is_added & is_data).alias("removed_files"),
            F.sum(F.when(~is_added & is_data, F.col("record_count")).otherwise(0)).alias("removed_rows"),
            F.count_if(is_added).alias("names"),
            F.count("attempt").alias("named"),
            F.array_sort(F.collect_set("attempt")).alias("attempts"),
        )
    )


def _rows(spark: SparkSession, world: Observation, commits: Sequence[Snapshot]) -> tuple[LedgerRow, ...]:
    if not commits:
        return ()
    told = files_of_commits(entries(spark, commits)).limit(len(commits)).collect()
    by_id = {SnapshotId(row["snapshot_id"]): row for row in told}
    return tuple(_row(world, commit, by_id.get(commit.snapshot_id)) for commit in commits)


def _row(world: Observation, commit: Snapshot, files: Row | None) -> LedgerRow:
    counts = {name: int(files[name]) if files else 0 for name in ("added_files", "added_rows")}
    counts |= {name: int(files[name]) if files else 0 for name in ("removed_files", "removed_rows")}
    is_flinks = files is not None and files["names"] > 0 and files["names"] == files["named"]
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
        attempts=tuple(files["attempts"]) if is_flinks and files is not None else None,
        added_files=_counter(commit, "added-data-files", counts["added_files"]),
        added_rows=_counter(commit, "added-records", counts["added_rows"]),
        removed_files=_counter(commit, "deleted-data-files", counts["removed_files"]),
        removed_rows=_counter(commit, "deleted-records", counts["removed_rows"]),
        code_version=code_version_of(commit, world.jobs)[0],
        readers=tuple(run for run in world.reads.values if run.snapshot_id == commit.snapshot_id),
    )


def _counter(commit: Snapshot, key: str, from_manifests: int) -> int:
    """The summary's counter; what the manifests say where the writer left it out."""
    return commit.counted(key) if key in commit.summary else from_manifests


def _kind(world: Observation, commit: Snapshot) -> CheckpointKind:
    """From Flink's history, else from storage; unknown when neither remembers."""
    if commit.job_id is None or commit.checkpoint_id is None:
        return CheckpointKind.UNKNOWN
    remembered = [
        c.kind
        for run in world.jobs.values
        if run.job_id == commit.job_id
        for c in run.checkpoints
        if c.checkpoint_id == commit.checkpoint_id
    ]
    stored = [
        s.kind
        for s in world.checkpoints.values
        if s.job_id == commit.job_id and s.checkpoint_id == commit.checkpoint_id
    ]
    known = (kind for kind in [*remembered, *stored] if kind is not CheckpointKind.UNKNOWN)
    return next(known, CheckpointKind.UNKNOWN)


def _faults(rows: Sequence[LedgerRow], before: CheckpointId | None) -> list[str]:
    """What breaks the chain, each a few words with its count."""
    runs = _runs(rows)
    lost = [row.snapshot_id for row in rows if not row.on_main]
    foreign = [row.snapshot_id for row in rows if row.job_id is None and row.operation != "replace"]
    falls = _falls(rows, before)
    faults = []
    if len(runs) > 1:
        faults.append(f"{len(runs)} job runs ({', '.join(short_job(run) for run in runs[:4])})")
    if lost:
        faults.append(f"{counted(len(lost), 'commit')} rolled back ({ids(lost)})")
    if falls:
        times = "once" if len(falls) == 1 else f"{len(falls)} times"
        faults.append(f"checkpoint ids repeat or fall {times} (first at {falls[0]})")
    if foreign:
        faults.append(f"{counted(len(foreign), 'commit')} by another writer ({ids(foreign)})")
    return faults


def _before(table: TableState, reach: Reach) -> CheckpointId | None:
    """The newest checkpoint that main carried where the window begins: a replay falls below it at once."""
    return next((s.checkpoint_id for s in table.ancestors(reach.since) if s.checkpoint_id is not None), None)


def _falls(rows: Iterable[LedgerRow], before: CheckpointId | None) -> list[str]:
    """Places on main where the next checkpoint id is not higher than the one before it."""
    found = []
    for row in rows:
        if not row.on_main or row.checkpoint_id is None:
            continue
        if before is not None and row.checkpoint_id <= before:
            found.append(f"{before} → {row.checkpoint_id}, {short(row.snapshot_id)}")
        before = row.checkpoint_id
    return found


def _runs(rows: Iterable[LedgerRow]) -> list[JobId]:
    return list(dict.fromkeys(row.job_id for row in rows if row.job_id is not None))


def _runs_in_words(rows: Sequence[LedgerRow]) -> str:
    runs = _runs(rows)
    return f"run {short_job(runs[0])}" if runs else "no Flink run at all"


def telling(rows: Sequence[LedgerRow]) -> list[LedgerRow]:
    """Ten rows in their order: those around each break of the chain first, then the newest. The finding has all."""
    breaks = [n for n, (before, after) in enumerate(pairwise(rows), start=1) if _is_break(before, after)]
    around = [n + step for n in breaks for step in (-1, 0, -2, 1) if 0 <= n + step < len(rows)]
    wanted = list(dict.fromkeys([*around, *range(len(rows) - 1, -1, -1)]))[:_SAMPLE]
    return [rows[n] for n in sorted(wanted)]


def _is_break(before: LedgerRow, after: LedgerRow) -> bool:
    """Whether another run or engine goes on here, or one side of it is no longer on main."""
    return (before.engine, before.job_id, before.on_main) != (after.engine, after.job_id, after.on_main)


def _opening(rows: Sequence[LedgerRow]) -> str:
    return f"{counted(len(rows), 'commit')} in the window" if rows else "No commit in the window"


def _measures(rows: Sequence[LedgerRow]) -> tuple[Measure, ...]:
    return (
        Measure(name="commits", value=len(rows), unit="commits"),
        Measure(name="rolled back", value=sum(not row.on_main for row in rows), unit="commits"),
        Measure(name="job runs", value=len(_runs(rows)), unit="runs"),
        Measure(name="rows added on main", value=sum(row.added_rows for row in rows if row.on_main), unit="rows"),
    )


def _sources(world: Observation, commits: Sequence[Snapshot]) -> tuple[str, ...]:
    seen = [s.source for s in (world.jobs, world.checkpoints, world.reads) if not isinstance(s, NotSeen)]
    keys = sorted({source for c in commits if (source := code_version_of(c, world.jobs)[1]) is not None})
    manifests = f"manifests of {counted(len(commits), 'commit')}"
    return (manifests, *seen, *(f"code version from {key}" for key in keys))


def _shown(row: LedgerRow) -> tuple[str, ...]:
    return (
        short(row.snapshot_id),
        f"{row.committed_at:%Y-%m-%d %H:%M:%S}",
        "yes" if row.on_main else "rolled back",
        row.engine,
        short_job(row.job_id),
        cell(row.checkpoint_id),
        f"+{row.added_files} -{row.removed_files}",
        f"+{row.added_rows} -{row.removed_rows}",
        cell(None if row.attempts is None else ", ".join(str(a) for a in row.attempts)),
        cell(row.code_version),
    )
