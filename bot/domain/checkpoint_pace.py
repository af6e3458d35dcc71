"""How long a living run may be without a completed checkpoint, by what Flink says of its settings and of what it took
so far."""

from datetime import timedelta

from bot.domain.flink import JobRun

SILENT_AFTER = 3
"""So many intervals without a completed checkpoint are a silence."""
FLINKS_TIMEOUT = timedelta(minutes=10)
"""Flink's own limit of one checkpoint, where none is told."""
ON_ITS_WAY = timedelta(seconds=10)
"""A checkpoint this young, or younger than two intervals, may be about to be committed."""


def interval_of(run: JobRun) -> timedelta | None:
    """From one checkpoint to the next; None where Flink tells of none."""
    if run.checkpoint_interval_ms is None:
        return None
    pause = (run.settings.min_pause_ms if run.settings is not None else None) or 0
    return timedelta(milliseconds=max(run.checkpoint_interval_ms, pause))


def usual_pause(interval: timedelta, run: JobRun) -> timedelta:
    """The longest time between two completed checkpoints of a run that is well: `SILENT_AFTER` intervals, and what the
    longest of those that Flink lists took."""
    took = max((c.took_ms or 0 for c in run.checkpoints if c.status == "COMPLETED"), default=0)
    return SILENT_AFTER * interval + timedelta(milliseconds=took)


def limit_of_one(run: JobRun) -> timedelta:
    """How long one checkpoint may take before Flink gives it up."""
    told = run.settings.timeout_ms if run.settings is not None else None
    return timedelta(milliseconds=told) if told else FLINKS_TIMEOUT


def time_to_commit(run: JobRun | None) -> timedelta:
    """How long what a checkpoint has written may wait for its commit; None: a run that nobody lists."""
    interval = timedelta(milliseconds=run.checkpoint_interval_ms or 0) if run is not None else timedelta(0)
    return max(2 * interval, ON_ITS_WAY)
