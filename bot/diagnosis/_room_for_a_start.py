"""Whether there was time for a start without state that nothing lists, between two commits of one run, or since."""

from datetime import datetime, timedelta
from itertools import pairwise

from bot.domain.checkpoint_pace import interval_of
from bot.domain.diagnosis import Case
from bot.domain.flink import CLOCKS_DIFFER, JobRun, Restored
from bot.domain.ids import DRAINED, CheckpointId, SnapshotId
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot


def leaves_room(case: Case, run: JobRun, commit: Snapshot) -> bool:
    """Whether the commit came later after the one before it than so many checkpoints take: a restart lies between, or a
    pause. `run` is one that took over; it is taken to have the interval of that one."""
    mine = [s for s in flink_commits(case.observation.table) if s.job_id == commit.job_id]
    place = next(place for place, each in enumerate(mine) if each.snapshot_id == commit.snapshot_id)
    interval = interval_of(run)
    return not place or interval is None or _is_late(mine[place - 1], commit, interval)


def has_room_up_to(run: JobRun, number: CheckpointId, commit: Snapshot, until: datetime) -> bool:
    """Whether from the commit to that moment a start could count from 1 up to this id, and going on from the commit
    should have counted further than that; False where Flink does not tell the interval of `run`, which went on from it.
    """
    interval, reached = interval_of(run), commit.checkpoint_id or 0
    if interval is None or reached >= number:
        return False
    took = until - commit.committed_at
    return took > (number - reached + 1) * interval + CLOCKS_DIFFER and took >= number * interval


def may_have_counted_anew(case: Case, run: JobRun, point: Restored, commit: Snapshot) -> SnapshotId | None:
    """The commit after which the run that made `commit`, which Flink does not list, may have been started without state
    under its job id, counted up to the restored id once more, and committed nothing of it: ids at or below the highest
    committed one its sink passes over. None: there was no time for it before its next commit or the restore, or Flink
    does not tell how often `run`, which went on from it, takes checkpoints."""
    interval, table = interval_of(run), case.observation.table
    if interval is None:
        return None
    mine = [s for s in table.snapshots if s.job_id == commit.job_id and s.operator_id == commit.operator_id]
    mine = sorted((s for s in mine if s.checkpoint_id != DRAINED), key=lambda s: table.place_of(s.snapshot_id))
    since = [s for s in mine[mine.index(commit) :] if s.committed_at <= point.at + CLOCKS_DIFFER]
    counted = (
        one
        for one, after in pairwise(since)
        if _is_late(one, after, interval)
        and after.committed_at - one.committed_at >= interval * (after.checkpoint_id or 0)
    )
    others = (s for s in flink_commits(table) if s.job_id != commit.job_id)
    ends = min((s.committed_at for s in others if s.committed_at > since[-1].committed_at), default=point.at)
    is_long = min(ends, point.at) - since[-1].committed_at > interval * point.checkpoint_id + CLOCKS_DIFFER
    return next((each.snapshot_id for each in counted), since[-1].snapshot_id if is_long else None)


def _is_late(one: Snapshot, after: Snapshot, interval: timedelta) -> bool:
    number = (after.checkpoint_id or 0) - (one.checkpoint_id or 0)
    return after.committed_at - one.committed_at > (number + 1) * interval + CLOCKS_DIFFER
