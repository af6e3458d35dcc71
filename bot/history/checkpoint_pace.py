"""How long a living run may be without a completed checkpoint, by what Flink says of its settings and of what it took
so far.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from statistics import fmean

from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.observation.ledger import Sink

SILENT_AFTER = 3
"""So many intervals without a completed checkpoint are a silence."""
FLINKS_TIMEOUT = timedelta(minutes=10)
"""Flink's own limit of one checkpoint, where none is told."""
ON_ITS_WAY = timedelta(seconds=10)
"""A checkpoint that completed so short a time ago may be about to be committed, whatever the interval."""


def interval_of(run: JobRun) -> timedelta | None:
    """From one checkpoint to the next; None where Flink tells of none."""
    if run.checkpoint_interval_ms is None:
        return None
    pause = (run.settings.min_pause_ms if run.settings is not None else None) or 0
    return timedelta(milliseconds=max(run.checkpoint_interval_ms, pause))


def completed_at(checkpoint: CompletedCheckpoint) -> datetime:
    """The last acknowledgement; the trigger where Flink does not tell how long it took."""
    return checkpoint.triggered_at + timedelta(milliseconds=checkpoint.took_ms or 0)


def usual_pause(interval: timedelta, run: JobRun) -> timedelta:
    """The longest time between two completed checkpoints of a run that is well: `SILENT_AFTER` intervals, and what the
    longest of those that Flink lists took."""
    return SILENT_AFTER * interval + longest_of(run)


def limit_of_one(run: JobRun) -> timedelta:
    """How long one checkpoint may take before Flink gives it up."""
    told = run.settings.timeout_ms if run.settings is not None else None
    return timedelta(milliseconds=told) if told else FLINKS_TIMEOUT


def time_to_commit(run: JobRun | None) -> timedelta:
    """How long what a checkpoint has written may wait for its commit: two intervals, and while the run goes on what the
    longest checkpoint took, for the next one may take as long. None: a run that nobody lists."""
    interval = (interval_of(run) if run is not None else None) or timedelta(0)
    took = longest_of(run) if run is not None and not run.is_terminal else timedelta(0)
    return max(2 * interval + took, ON_ITS_WAY)


def longest_of(run: JobRun) -> timedelta:
    """What the longest of the completed checkpoints that Flink lists took, end to end."""
    took = max((c.took_ms or 0 for c in run.checkpoints if c.status == "COMPLETED"), default=0)
    return timedelta(milliseconds=took)


def usual_spacing(interval: timedelta, run: JobRun) -> timedelta:
    """From one to the next in the mean, but for the longest of those that Flink lists: one after a restart may take
    many times as long. Flink's least pause begins when one has completed."""
    took = sorted(c.took_ms or 0 for c in run.checkpoints if c.status == "COMPLETED")
    took = took[:-1] if len(took) > 2 else took
    pause = (run.settings.min_pause_ms if run.settings is not None else None) or 0
    return max(interval, timedelta(milliseconds=pause + (fmean(took) if took else 0)))


PROPERTY = "flink.max-continuous-empty-commits"
_BY_DEFAULT = 10


def empty_commits_allowed(properties: Mapping[str, str]) -> int:
    """Checkpoints without files in a row that rightly have no commit, as a table's properties say."""
    told = properties.get(PROPERTY, "")
    return int(told) if told.isdigit() else _BY_DEFAULT


def uncounted(runs: Iterable[JobRun], sink: Sink | None) -> set[int]:
    """Checkpoints that are none to the sink, as far as Flink still lists them: those that failed, and to V1 also
    intermediate savepoints, of which it is not notified (facts 0.5)."""
    told = [each for run in runs for each in run.checkpoints]
    passed_by = {c.checkpoint_id for c in told if sink is Sink.FLINK_V1 and c.kind is CheckpointKind.SAVEPOINT}
    return passed_by | {c.checkpoint_id for c in told if c.status == "FAILED"}
