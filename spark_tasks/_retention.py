"""How long the table keeps the snapshots that a restore must find."""

from collections.abc import Iterable
from datetime import timedelta

from bot.domain.evidence import Ask, Observation
from bot.domain.findings import LastCommit
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, OperatorId
from bot.domain.table import Snapshot, TableState

_MAX_AGE, _MIN_KEPT = "history.expire.max-snapshot-age-ms", "history.expire.min-snapshots-to-keep"
_DEFAULT_AGE = timedelta(days=5)
"""Iceberg's defaults: five days, one snapshot."""
_RunAndOperator = tuple[JobId, OperatorId | None]


def kept_for(table: TableState) -> timedelta:
    """The age from which the table lets a snapshot be expired; a procedure may be called with another."""
    told = table.properties.get(_MAX_AGE, "")
    return timedelta(milliseconds=int(told)) if told.isdigit() else _DEFAULT_AGE


def least_kept(table: TableState) -> int:
    """Snapshots of main that are kept whatever their age."""
    told = table.properties.get(_MIN_KEPT, "")
    return int(told) if told.isdigit() else 1


def last_commits(ask: Ask, window: Iterable[Snapshot]) -> tuple[LastCommit, ...]:
    """The newest commit on main of each run that is alive or wrote in the window, newest first; after them the runs
    that must have committed and of which nothing is listed any more."""
    world = ask.observation
    alive = {run.job_id for run in world.jobs.values if not run.is_terminal}
    wanted = alive | {commit.job_id for commit in window if commit.job_id is not None}
    found: dict[_RunAndOperator, tuple[int, Snapshot]] = {}
    for place, commit in enumerate(world.table.chain):
        if commit.job_id in wanted and commit.job_id is not None:
            found.setdefault((commit.job_id, commit.operator_id), (place, commit))
    listed = tuple(_last(world.table, place, commit) for place, commit in found.values())
    known = {commit.job_id for commit in world.table.snapshots}
    gone = tuple(_gone(run) for run in world.jobs.values if run.job_id not in known and _has_lost(world, run))
    return (*listed, *gone)


def _last(table: TableState, place: int, commit: Snapshot) -> LastCommit:
    is_protected = any(ref.snapshot_id == commit.snapshot_id for ref in table.refs) or place == 0
    return LastCommit(
        job_id=commit.job_id or JobId(""),
        operator_id=commit.operator_id,
        snapshot_id=commit.snapshot_id,
        checkpoint_id=commit.checkpoint_id,
        is_protected=is_protected,
        expires_within_s=None if is_protected else _left(table, place, commit).total_seconds(),
    )


def _left(table: TableState, place: int, commit: Snapshot) -> timedelta:
    """Until its age is reached, and until enough newer snapshots stand above it at the present pace."""
    by_age = commit.committed_at + kept_for(table) - table.read_at
    missing = least_kept(table) - place
    newer = table.chain[:place]
    pace = (table.read_at - newer[-1].committed_at) / place
    return max(by_age, missing * pace, timedelta(0))


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
