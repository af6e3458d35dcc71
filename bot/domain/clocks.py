"""Which of a commit and a restore came first: a snapshot bears the clock of who committed it, a restore that of the
JobManager, and the two may differ by seconds.

Flink triggers checkpoints and restores by one clock, so the checkpoint that a commit carries orders it where Flink
still lists it. Where it does not, two times that lie closer than clocks may differ tell nothing.
"""

from datetime import timedelta

from bot.domain.flink import JobRun
from bot.domain.table import Snapshot

CLOCKS_DIFFER = timedelta(seconds=5)
"""So far the clocks of a JobManager and a committer are taken to differ, at most."""


def came_before(commit: Snapshot, run: JobRun) -> bool | None:
    """Whether a commit of this run came before Flink restored it last; None: nothing tells. Of a run that was never
    restored, False."""
    if run.restored is None:
        return False
    apart = run.restored.at - commit.committed_at
    if abs(apart) >= CLOCKS_DIFFER:
        return commit.committed_at <= run.restored.at
    triggered = [
        c.triggered_at for c in run.checkpoints if c.checkpoint_id == commit.checkpoint_id and c.status == "COMPLETED"
    ]
    if triggered:
        return min(triggered) < run.restored.at
    since = [c for c in run.checkpoints if c.status == "COMPLETED" and c.triggered_at >= run.restored.at]
    return False if apart < timedelta(0) and since else None
