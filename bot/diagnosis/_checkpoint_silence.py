"""Whether a run that goes on still completes checkpoints: until one completes, nothing reaches the table.

The rule of `checkpoint_health`, with more patience: a verdict rests on it. Between `usual_pause` and the limit at which
Flink gives a checkpoint up nobody can tell a slow one from one that never comes.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

from bot.domain.checkpoint_pace import FLINKS_TIMEOUT, completed_at, interval_of, limit_of_one, usual_pause
from bot.domain.diagnosis import Case
from bot.domain.flink import CheckpointKind, JobRun
from bot.domain.ids import DRAINED, CheckpointId, short_job
from bot.domain.sentences import span

_AT_LEAST = timedelta(minutes=2)
"""So long is waited for a checkpoint however short the interval: a restore or a full disk takes its time."""


class Silence(NamedTuple):
    """A run that is well by its state, and has completed no checkpoint for longer than it should take."""

    run: JobRun
    lasted: timedelta
    after: CheckpointId | None
    """The newest that completed; None: none since the run began, or was restored."""
    interval: timedelta | None
    """None: nobody knows how often it takes one."""

    @property
    def is_certain(self) -> bool:
        """Whether even a checkpoint that hangs would have failed by now, and the next one be due."""
        if self.interval is None:
            return False
        return self.lasted > max(limit_of_one(self.run) + self.interval, usual_pause(self.interval, self.run))

    @property
    def in_words(self) -> str:
        """Where it is certain, a sentence; else what is missing to know it."""
        run, lasted = short_job(self.run.job_id), f"for {span(self.lasted)}, since {self._since}"
        if self.interval is None:
            return f"how often run {run} takes a checkpoint: Flink tells of no interval, and none completed {lasted}"
        every = f"it is set to take one every {span(self.interval)}"
        if self.is_certain:
            return (
                f"No checkpoint of run {run} completed {lasted}, though {every}: nothing reaches the table meanwhile."
            )
        limit = span(limit_of_one(self.run))
        return (
            f"whether run {run} still completes checkpoints: none did {lasted}, though {every}; one that hangs fails "
            f"after {limit}"
        )

    @property
    def _since(self) -> str:
        if self.after is not None:
            return f"checkpoint {self.after}"
        return "its restore" if self.run.restored is not None else "its start"


def checkpoint_silence(case: Case, run: JobRun) -> Silence | None:
    """The silence of a settled run; None while the next checkpoint may be on its way, and of any other run."""
    if not run.is_settled:
        return None
    interval = interval_of(run)
    if interval is None and run.settings is None:
        interval = case.contract.checkpoint_every
    patience = FLINKS_TIMEOUT if interval is None else max(usual_pause(interval, run), _AT_LEAST)
    began = max([run.started_at, *([run.restored.at] if run.restored is not None else [])])
    completed = [
        _Done(completed_at(c), c.checkpoint_id)
        for c in run.checkpoints
        if c.status == "COMPLETED" and c.kind is not CheckpointKind.SAVEPOINT
    ]
    for done in (completed, [*completed, *_committed(case, run, completed)]):
        newest = max((each for each in done if each.at >= began), default=_Done(began, None))
        lasted = case.observation.table.read_at - newest.at
        if lasted <= patience:
            return None
    return Silence(run, lasted, newest.checkpoint, interval)


class _Done(NamedTuple):
    at: datetime
    checkpoint: CheckpointId | None


def _committed(case: Case, run: JobRun, listed: list[_Done]) -> list[_Done]:
    """What Flink no longer lists shows by its commit, wherever it hangs. Reads every snapshot."""
    highest = max((each.checkpoint or 0 for each in listed), default=0)
    mine = (s for s in case.observation.table.snapshots if s.job_id == run.job_id)
    return [_Done(s.committed_at, s.checkpoint_id) for s in mine if highest < (s.checkpoint_id or 0) < DRAINED]
