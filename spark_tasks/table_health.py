"""Is the table kept so that the job can be restored? What slows reads is a remark."""

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Answer, Ask, Measure, Task, Verdict
from bot.domain.findings import LastCommit, TableHealthFinding
from bot.domain.ids import short, short_job
from bot.domain.looked import NotSeen
from bot.domain.sentences import counted
from bot.domain.snapshots_kept import kept_for, least_kept
from bot.domain.table import TableState
from spark_tasks._reading import entries
from spark_tasks._retention import last_commits
from spark_tasks._upkeep import problems_of, remarks_of
from spark_tasks._window import Reach, no_commits, reach_of
from spark_tasks._words import MAX_ROWS, cell, could_not, lasting

TASK = Task(
    name="table_health",
    title="Table health",
    question="Is the table kept so that the job can be restored?",
    confirmed_means="retention may remove what a restore needs, or is shorter than the contract promises",
    ruled_out_means="retention keeps what a restore needs, for as long as promised",
    needs=("table", "jobs", "checkpoints"),
    cost="manifests of the window for the sizes of its files; all else is in hand",
    reads="metadata",
)
_TARGET, _USUAL_TARGET = "write.target-file-size-bytes", 512 * 2**20


def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Retention first: whether the newest snapshot of each run stays, because a restore looks for it.

    The retention is main's own, else the table's (`history.expire.*`), and that of branches and tags; who expires by
    hand may ask for less. Sizes are of the window's files; counts of files and deletes are the head's summary.
    """
    reach = reach_of(ask)
    if isinstance(reach, NotSeen):
        return could_not(f"{no_commits(ask)}, so the table's upkeep cannot be judged.", reach)
    world, table = ask.observation, ask.observation.table
    target = _target(table)
    added, small = _sizes(spark, reach, target)
    last = last_commits(ask, reach.main)
    head = table.by_id[reach.until]
    finding = TableHealthFinding(
        data_files=head.counted("total-data-files"),
        small_files=small,
        position_deletes=head.counted("total-position-deletes"),
        equality_deletes=head.counted("total-equality-deletes"),
        snapshots=len(table.snapshots),
        last_commits=last,
        problems=problems_of(ask, last),
    )
    unseen = tuple(source for source in (world.jobs, world.checkpoints) if isinstance(source, NotSeen))
    return _told(table, finding, unseen, remarks_of(ask, added, small, target))


def _told(
    table: TableState, finding: TableHealthFinding, unseen: tuple[NotSeen, ...], remarks: tuple[str, ...]
) -> Answer:
    if finding.problems:
        verdict, headline = Verdict.CONFIRMED, _trouble(finding)
    elif unseen:
        verdict = Verdict.INCONCLUSIVE
        headline = f"Nothing is wrong as far as metadata tells, but {unseen[0].source} was not seen."
    else:
        verdict, headline = Verdict.RULED_OUT, _calm(table, finding)
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="data files", value=finding.data_files, unit="files"),
            Measure(name="small files of the window", value=finding.small_files, unit="files"),
            Measure(name="position deletes", value=finding.position_deletes, unit="rows"),
            Measure(name="equality deletes", value=finding.equality_deletes, unit="rows"),
            Measure(name="snapshots", value=finding.snapshots, unit="snapshots"),
        ),
        columns=("run", "last commit", "checkpoint", "kept by a branch or tag", "may expire in"),
        rows=tuple(_row(last) for last in finding.last_commits[:MAX_ROWS]),
        finding=finding,
        sources=("summaries, refs and properties of the table", "sizes of the window's files"),
        could_not_look=unseen,
        remarks=remarks,
    )


def _trouble(finding: TableHealthFinding) -> str:
    """Every problem: a measure or a row tells no more of the second than of the first."""
    return " ".join(finding.problems)


def _calm(table: TableState, finding: TableHealthFinding) -> str:
    kept = lasting(kept_for(table).total_seconds())
    protected = all(last.is_protected for last in finding.last_commits)
    ends = (
        "the last commit of each run is kept by a branch or tag" if protected else "no run's last commit expires soon"
    )
    return (
        f"{counted(finding.data_files, 'data file')}, {counted(finding.snapshots, 'snapshot')} kept for {kept} "
        f"(at least {least_kept(table)}); {ends}."
    )


def _sizes(spark: SparkSession, reach: Reach, target: int) -> tuple[int, int]:
    """Data files that the window's commits added to main, and how many of them are small; reads."""
    if not reach.main:
        return 0, 0
    files = entries(spark, reach.main).where("status = 1 AND content = 0")
    total = files.agg(
        F.count("*").alias("files"), F.count_if(4 * F.col("file_size_in_bytes") < F.lit(target)).alias("small")
    ).first()
    return (int(total["files"]), int(total["small"])) if total is not None else (0, 0)


def _target(table: TableState) -> int:
    told = table.properties.get(_TARGET, "")
    return int(told) if told.isdigit() else _USUAL_TARGET


def _row(last: LastCommit) -> tuple[str, ...]:
    return (
        short_job(last.job_id),
        "expired" if last.snapshot_id is None else short(last.snapshot_id),
        cell(last.checkpoint_id),
        "yes" if last.is_protected else "no",
        "" if last.expires_within_s is None else lasting(last.expires_within_s),
    )
