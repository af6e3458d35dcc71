"""How long the table keeps the snapshots that a restore must find."""

from collections.abc import Iterable

from bot.domain.evidence import Ask, Observation
from bot.domain.findings import LastCommit
from bot.domain.flink import JobRun
from bot.domain.ids import JobId
from bot.domain.listed_views import first_by, jobs_of
from bot.domain.snapshots_kept import stays_for
from bot.domain.table import Snapshot, TableState


def last_commits(ask: Ask, window: Iterable[Snapshot]) -> tuple[LastCommit, ...]:
    """The newest commit on main of each run that is alive or wrote in the window, newest first; after them the runs
    that must have committed and of which nothing is listed any more."""
    world = ask.observation
    alive = {run.job_id for run in world.jobs.values if not run.is_terminal}
    wanted = alive | {commit.job_id for commit in window if commit.job_id is not None}
    chain = world.table.chain
    listed = tuple(_last(world.table, place, chain[place]) for place in first_by(chain, wanted))
    known = jobs_of(world.table.snapshots)
    gone = tuple(_gone(run) for run in world.jobs.values if run.job_id not in known and _has_lost(world, run))
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


def _gone(run: JobRun) -> LastCommit:
    return LastCommit(
        job_id=run.job_id,
        operator_id=None,
        snapshot_id=None,
        checkpoint_id=None,
        is_protected=False,
        expires_within_s=None,
    )


def _has_lost(world: Observation, run: JobRun) -> bool:
    """Whether the run is alive, completed checkpoints, and began before the oldest snapshot that is still listed,
    below which others have expired: its commits were among them. A run that came later has simply not committed."""
    oldest = min(world.table.snapshots, key=lambda commit: commit.committed_at, default=None)
    if run.is_terminal or not run.completed_count or oldest is None:
        return False
    return oldest.parent_id is not None and run.started_at < oldest.committed_at
