"""Which checkpoint ids have no snapshot on main between the commits of a run."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from bot.domain.evidence import Observation
from bot.domain.gone_commits import Sinks
from bot.domain.ids import DRAINED, CheckpointId, SnapshotId
from bot.domain.ledger import Sink, SkippedCheckpoint
from bot.domain.listed import Writer, highest_of, marks_of
from bot.domain.table import Snapshot
from spark_tasks._why_missing import PER_CHECKPOINT, Stretch, explained, known_of

_NEAR = 100
"""Commits below the last one asked about, among which the one before it nearly always is."""


def missing_before(
    world: Observation, sinks: Sinks, commits: Sequence[Snapshot]
) -> dict[SnapshotId, tuple[SkippedCheckpoint, ...]]:
    """Commit on main -> the ids between its run's commit before (listed anywhere on main) and itself.

    Before a run's first commit the ids count from the point that it was restored from, if Flink tells. No ids are
    told where metadata no longer lists what came before, nor next to the id that `drain` leaves.
    """
    chain = world.table.chain
    ahead = {c.snapshot_id: c for c in commits if _writer_of(c) and c.snapshot_id in world.table.chain_ids}
    begins_listed = bool(chain) and chain[-1].parent_id is None
    restored = {run.job_id: run.restored.checkpoint_id for run in world.jobs.values if run.restored is not None}
    found: dict[SnapshotId, tuple[SkippedCheckpoint, ...]] = {}
    for each in _walked(chain, ahead):
        after = each.before
        if after is None and (begins_listed or each.has_other_runs):
            after = restored.get(each.writer[0])
        stretch = _stretch(each.commit, after, sinks.of(each.commit))
        if stretch is None:
            continue
        if each.before is None and each.carried is not None:
            stretch = _withholding(stretch, each.carried)
        found[each.commit.snapshot_id] = explained(stretch, known_of(world, *each.writer))
    return found


@dataclass
class _Below:
    """A commit, and what main has below it down to the one before it of the same run."""

    commit: Snapshot
    writer: Writer
    before: CheckpointId | None = None
    """The id of that one; None: there is none."""
    has_other_runs: bool = False
    carried: CheckpointId | None = None
    """The highest id of its operator, by whatever run."""

    def look_at(self, writer: Writer, checkpoint: CheckpointId) -> None:
        job, operator = writer
        if writer == self.writer:
            self.before = checkpoint
        self.has_other_runs |= job != self.writer[0]
        if operator == self.writer[1]:
            self.carried = checkpoint if self.carried is None else max(checkpoint, self.carried)

    def look_at_all(self, below: Mapping[Writer, CheckpointId]) -> None:
        """Everything further down, where this one's run has nothing."""
        for writer, highest in below.items():
            self.look_at(writer, highest)


def _walked(chain: Sequence[Snapshot], ahead: Mapping[SnapshotId, Snapshot]) -> list[_Below]:
    """Those commits of `chain` (newest first). It is walked until each has found the one before it: far only where
    that one lies far below. For a run that began among them there is none, and what lies below is told at once."""
    seen: list[_Below] = []
    waiting: dict[Writer, _Below] = {}
    near = _NEAR
    for place, (snapshot_id, job, operator, checkpoint) in enumerate(marks_of(chain)):
        if len(seen) == len(ahead):
            if near == 0:
                below = highest_of(chain[place:])
                for began in waiting.keys() - below.keys():
                    waiting.pop(began).look_at_all(below)
            if not waiting:
                break
            near -= 1
        if job is None or checkpoint is None or checkpoint == DRAINED:
            continue
        writer = job, operator
        for each in waiting.values():
            each.look_at(writer, checkpoint)
        waiting.pop(writer, None)
        if snapshot_id in ahead:
            waiting[writer] = _Below(ahead[snapshot_id], writer)
            seen.append(waiting[writer])
    return seen


def _writer_of(commit: Snapshot) -> Writer | None:
    """None where it carries no run, or no checkpoint id that counts."""
    job, checkpoint = commit.job_id, commit.checkpoint_id
    return None if job is None or checkpoint is None or checkpoint == DRAINED else (job, commit.operator_id)


def _stretch(commit: Snapshot, after: CheckpointId | None, sink: Sink) -> Stretch | None:
    """The ids between `after` and the commit, both exclusive; None without any."""
    assert commit.job_id is not None
    assert commit.checkpoint_id is not None
    if after is None or commit.checkpoint_id - after < 2:
        return None
    return Stretch(
        job_id=commit.job_id,
        first=CheckpointId(after + 1),
        last=CheckpointId(commit.checkpoint_id - 1),
        sink=sink,
        closed_by=commit.checkpoint_id,
        is_append=commit.operation == "append",
    )


def _withholding(stretch: Stretch, carried: CheckpointId) -> Stretch:
    """Told that the table carried `carried` when the run began; matters to a sink that keeps the restored job's id."""
    if stretch.sink in PER_CHECKPOINT or carried < stretch.first:
        return stretch
    return Stretch(**{**vars(stretch), "withheld_up_to": carried})
