"""Is the table kept so that the job can be restored: does it keep the snapshots that a restore must find?"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta

from pyspark.sql import SparkSession

from bot.incident.contract_terms import kept_for, least_kept, ref_ends_in, stays_for
from bot.observation.evidence import Answer, Ask, Measure, Observation, Task, Verdict
from bot.observation.findings import LastCommit, TableHealthFinding
from bot.observation.flink import JobRun, StoredCheckpoint
from bot.observation.ids import JobId, short, short_job
from bot.observation.listed import first_by, jobs_of
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Ref, Snapshot, TableState
from spark_tasks._support.window import reach_of
from spark_tasks._support.words import MAX_ROWS, answers, cell, lasting

SOON = timedelta(days=1)


def problems_of(ask: Ask, last: Sequence[LastCommit]) -> tuple[str, ...]:
    """Most pressing first: what makes a restore fail, and what breaks a promise."""
    table = ask.observation.table
    return (
        *_expiring(_needed(ask.observation, last)),
        *_restore_points(table, ask.observation.checkpoints.values),
        *_promises(ask),
    )


def _needed(world: Observation, last: Sequence[LastCommit]) -> list[LastCommit]:
    """Those that a restore of today looks for: of runs that are alive, and of the run that wrote last."""
    alive = {run.job_id for run in world.jobs.values if not run.is_terminal}
    newest = next((commit.job_id for commit in world.table.chain if commit.job_id is not None), None)
    return [each for each in last if each.job_id in alive or each.job_id == newest]


def _expiring(last: Sequence[LastCommit]) -> Iterator[str]:
    for each in last:
        run = short_job(each.job_id)
        if each.snapshot_id is None:
            yield (
                f"No listed snapshot is by run {run}, which is alive and began before the oldest one listed: its "
                "commits have expired, and a failover will not find its last one."
            )
        elif each.expires_within_s is not None and each.expires_within_s <= SOON.total_seconds():
            when = f"in {lasting(each.expires_within_s)}" if each.expires_within_s else "now"
            yield (
                f"Snapshot {short(each.snapshot_id)} is the last commit of run {run} and may expire {when}: no branch "
                "or tag keeps it for longer, and without it a restore fails or commits again."
            )


def _restore_points(table: TableState, stored: Iterable[StoredCheckpoint]) -> Iterator[str]:
    """Restore points that outlive the snapshots that they belong to."""
    kept = kept_for(table)
    tagged = {ref.snapshot_id for ref in table.refs if _stays(table, ref)} & table.by_id.keys()
    safe = {(s.job_id, s.checkpoint_id) for s in map(table.by_id.__getitem__, tagged)}
    points = [s for s in stored if s.problem is None and (s.job_id, s.checkpoint_id) not in safe]
    old = [point for point in points if table.read_at - point.written_at > kept]
    if old:
        oldest = min(old, key=lambda point: point.written_at)
        name = oldest.path.rstrip("/").rsplit("/", 1)[-1]
        yield (
            f"{counted(len(old), 'restore point')} {'is' if len(old) == 1 else 'are'} older than the table keeps "
            f"snapshots ({lasting(kept.total_seconds())}), the oldest {name}: what they pair with may be gone."
        )


def _stays(table: TableState, ref: Ref) -> bool:
    ends = ref_ends_in(table, ref)
    return ends is None or ends > timedelta(0)


def _promises(ask: Ask) -> Iterator[str]:
    kept, promised = kept_for(ask.observation.table), ask.contract.keep_snapshots
    if promised is not None and kept < promised:
        yield (
            f"The table lets snapshots expire after {lasting(kept.total_seconds())}; the contract promises "
            f"{lasting(promised.total_seconds())}."
        )


def last_commits(ask: Ask, window: Iterable[Snapshot]) -> tuple[LastCommit, ...]:
    """The newest commit on main of each run that is alive or wrote in the window, newest first; after them the runs
    that must have committed and of which nothing is listed any more."""
    world = ask.observation
    alive = {run.job_id for run in world.jobs.values if not run.is_terminal}
    wanted = alive | {commit.job_id for commit in window if commit.job_id is not None}
    chain = world.table.chain
    listed = tuple(_last(world.table, place, chain[place]) for place in first_by(chain, wanted))
    known = jobs_of(world.table.snapshots)
    gone = tuple(
        LastCommit(job_id=run.job_id) for run in world.jobs.values if run.job_id not in known and _has_lost(world, run)
    )
    return (*listed, *gone)


def _last(table: TableState, place: int, commit: Snapshot) -> LastCommit:
    left = stays_for(table, place, commit)
    return LastCommit(
        job_id=commit.job_id or JobId(""),
        operator_id=commit.operator_id,
        snapshot_id=commit.snapshot_id,
        checkpoint_id=commit.checkpoint_id,
        is_protected=left is None,
        expires_within_s=None if left is None else left.total_seconds(),
    )


def _has_lost(world: Observation, run: JobRun) -> bool:
    """Whether the run is alive, completed checkpoints, and began before the oldest snapshot that is still listed,
    below which others have expired: its commits were among them. A run that came later has simply not committed."""
    oldest = min(world.table.snapshots, key=lambda commit: commit.committed_at, default=None)
    if run.is_terminal or not run.completed_count or oldest is None:
        return False
    return oldest.parent_id is not None and run.started_at < oldest.committed_at


TASK = Task(
    name="table_health",
    title="Table health",
    question="Is the table kept so that the job can be restored?",
    confirmed_means="retention may remove what a restore needs, or is shorter than the contract promises",
    ruled_out_means="retention keeps what a restore needs, for as long as promised",
    needs=("table", "jobs", "checkpoints"),
    cost="nothing but the metadata that is in hand",
    reads="nothing",
    version=2,
)


@answers(TASK)
def answer(_spark: SparkSession, ask: Ask) -> Answer:
    """Whether the newest snapshot of each run stays, because a restore looks for it.

    The retention is main's own, else the table's (`history.expire.*`), and that of branches and tags; who expires by
    hand may ask for less.
    """
    reach = reach_of(ask)
    world, table = ask.observation, ask.observation.table
    last = last_commits(ask, reach.main)
    finding = TableHealthFinding(snapshots=len(table.snapshots), last_commits=last, problems=problems_of(ask, last))
    unseen = tuple(source for source in (world.jobs, world.checkpoints) if isinstance(source, NotSeen))
    if finding.problems:
        verdict, headline = Verdict.CONFIRMED, " ".join(finding.problems)
    elif unseen:
        verdict = Verdict.INCONCLUSIVE
        headline = f"Nothing is wrong as far as metadata tells, but {unseen[0].source} was not seen."
    else:
        verdict, headline = Verdict.RULED_OUT, _calm(table, finding)
    return Answer(
        verdict=verdict,
        headline=headline,
        measures=(
            Measure(name="snapshots", value=finding.snapshots, unit="snapshots"),
            Measure(name="problems", value=len(finding.problems), unit="problems"),
        ),
        columns=("run", "last commit", "checkpoint", "kept by a branch or tag", "may expire in"),
        rows=tuple(_row(last) for last in finding.last_commits[:MAX_ROWS]),
        finding=finding,
        sources=("summaries, refs and properties of the table",),
        could_not_look=unseen,
    )


def _calm(table: TableState, finding: TableHealthFinding) -> str:
    kept = lasting(kept_for(table).total_seconds())
    protected = all(last.is_protected for last in finding.last_commits)
    ends = (
        "the last commit of each run is kept by a branch or tag" if protected else "no run's last commit expires soon"
    )
    return f"{counted(finding.snapshots, 'snapshot')} kept for {kept} (at least {least_kept(table)}); {ends}."


def _row(last: LastCommit) -> tuple[str, ...]:
    return (
        short_job(last.job_id),
        "expired" if last.snapshot_id is None else short(last.snapshot_id),
        cell(last.checkpoint_id),
        "yes" if last.is_protected else "no",
        "" if last.expires_within_s is None else lasting(last.expires_within_s),
    )
