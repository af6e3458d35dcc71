"""Did rows come later than the contract allows?"""

from collections.abc import Mapping, Sequence

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.evidence import Answer, Ask, Measure, Task, Verdict
from bot.observation.findings import LateCommit, LateRowsFinding
from bot.observation.ids import SnapshotId, short
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Column as TableColumn
from bot.observation.table import Snapshot
from spark_tasks._support.data_files import COMMIT, rows_in
from spark_tasks._support.event_time import (
    BELOW,
    MICROS,
    Timed,
    brings_rows,
    event_column,
    highest,
    marks_before,
    micros,
    mixes,
    newest_with_rows,
    of_the_future,
    overwrites,
    timed_files,
)
from spark_tasks._support.reading import require_readable
from spark_tasks._support.window import cut_off, reach_of
from spark_tasks._support.words import MAX_ROWS, answers, ids, lasting

TASK = Task(
    name="late_rows",
    title="Late rows",
    question="Did rows arrive later than the contract allows?",
    confirmed_means="rows arrived later than the contract allows",
    ruled_out_means="no row arrived later than the contract allows",
    confirmed_is="neutral",
    needs=("table", "contract.event_time"),
    cost=f"manifests of the window and of {BELOW} commits below it. It also reads event times of files with late rows, "
    "and of files with events from the future of their commit",
    version=3,
)


@answers(TASK)
def answer(spark: SparkSession, ask: Ask) -> Answer:
    """Each commit on main is compared with the highest event time of all commits before it, in commit order.

    What lies below the window counts by its newest commits (`BELOW`). A commit's own rows do not make each other
    late, nor does an event that lies in the future of its commit, and rows that an update put in the place of others
    are not judged. Rows are read only from files whose bounds reach below the mark, or into the future.
    """
    event = event_column(ask)
    reach = reach_of(ask)
    require_readable(ask.observation.table, [event.name])
    commits = [commit for commit in reach.main if brings_rows(commit)]
    below = newest_with_rows(ask.observation.table, reach.since, BELOW)
    files = timed_files(spark, ask, [*below, *commits], event)
    inside = {commit.snapshot_id for commit in commits}
    start = highest(file for file in files if file.snapshot_id not in inside)
    new = [file for file in files if file.snapshot_id in inside]
    marks = marks_before(commits, new, start)
    copying = {commit.snapshot_id for commit in commits if overwrites(commit)}
    new = [file for file in new if file.snapshot_id not in copying]
    late = _late(spark, ask, event, new, marks)
    finding = LateRowsFinding(
        rows_checked=sum(file.rows for file in new),
        late=sum(each.late for each in late),
        worst_s=max((each.worst_s for each in late), default=None),
        allowed_s=_allowed(ask) / MICROS,
        commits=tuple(late[:MAX_ROWS]),
    )
    unseen = (*mixes(reach.main), *cut_off(ask, reach), *of_the_future(ask, files))
    return _told(ask, finding, len(late), unseen, commits)


def _late(
    spark: SparkSession, ask: Ask, event: TableColumn, files: Sequence[Timed], marks: Mapping[SnapshotId, int]
) -> list[LateCommit]:
    """Most late rows first. `marks`: what each commit found."""
    edges = {commit: mark - _allowed(ask) for commit, mark in marks.items()}
    reaching = [f.file for f in files if f.snapshot_id in edges and f.low is not None and f.low < edges[f.snapshot_id]]
    if not reaching:
        return []
    told = [(int(commit), marks[commit], edge) for commit, edge in edges.items()]
    before = spark.createDataFrame(told, "snapshot_id bigint, mark bigint, edge bigint")
    read = rows_in(spark, ask.observation.table, reaching, [event.name])
    rows = read.select(F.col(COMMIT).alias("snapshot_id"), micros(event).alias("at"))
    found = rows.join(F.broadcast(before), on="snapshot_id", how="inner").where("at < edge")
    by_commit = found.groupBy("snapshot_id").agg(F.count("*").alias("late"), F.max(F.expr("mark - at")).alias("worst"))
    ordered = by_commit.orderBy(F.desc("late"), "snapshot_id").limit(len(edges)).collect()
    return [
        LateCommit(snapshot_id=SnapshotId(r["snapshot_id"]), late=r["late"], worst_s=r["worst"] / MICROS)
        for r in ordered
    ]


def _allowed(ask: Ask) -> int:
    after = ask.contract.late_after
    return 0 if after is None else round(after.total_seconds() * MICROS)


def _told(
    ask: Ask, finding: LateRowsFinding, commits: int, unseen: tuple[NotSeen, ...], window: Sequence[Snapshot]
) -> Answer:
    allowed = f"the {lasting(finding.allowed_s)} that the contract allows" if finding.allowed_s else "the newest event"
    if finding.late:
        verdict, headline = Verdict.CONFIRMED, _headline(finding, commits)
    elif unseen:
        verdict, headline = Verdict.INCONCLUSIVE, f"No late row as far as can be seen; {unseen[0].reason}"
    elif not window:
        verdict, headline = Verdict.RULED_OUT, "No commit of the window brought rows, so none can be late."
    else:
        verdict = Verdict.RULED_OUT
        headline = f"None of {counted(finding.rows_checked, 'row')} lies further below what was there than {allowed}."
    placed = {commit.snapshot_id: commit for commit in window}
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="late rows", value=finding.late, unit="rows"),
            Measure(name="worst lateness", value=finding.worst_s or 0, unit="seconds"),
            Measure(name="allowed lateness", value=finding.allowed_s, unit="seconds"),
            Measure(name="rows of the window", value=finding.rows_checked, unit="rows"),
        ),
        columns=("snapshot", "committed", "late rows", "latest by"),
        rows=tuple(
            (
                short(each.snapshot_id),
                f"{placed[each.snapshot_id].committed_at:%Y-%m-%d %H:%M:%S}",
                str(each.late),
                lasting(each.worst_s),
            )
            for each in finding.commits
        ),
        finding=finding,
        sources=(
            f"bounds of {ask.contract.event_time} in the window and in the newest {BELOW} commits below it",
            *((f"{ask.contract.event_time} of the files that hold late rows",) if finding.late else ()),
        ),
        could_not_look=unseen,
    )


def _headline(finding: LateRowsFinding, commits: int) -> str:
    where = ids([each.snapshot_id for each in finding.commits])
    allowed = (
        f"the contract allows {lasting(finding.allowed_s)}" if finding.allowed_s else "the contract names no allowance"
    )
    return (
        f"{finding.late:,} of {counted(finding.rows_checked, 'row')} came late, in "
        f"{counted(commits, 'commit')} ({where}): up to {lasting(finding.worst_s or 0)} below the newest event "
        f"that was there; {allowed}."
    )
