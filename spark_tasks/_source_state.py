"""Where the job's own state goes on in its source, as of the newest commit that evidence looks at; pure."""

from bot.domain.evidence import Ask
from bot.domain.flink import SourcePosition, StoredCheckpoint
from bot.domain.record import Record
from bot.domain.table import Snapshot


class SourceState(Record):
    """The restore point of the run that wrote the newest commit whose Kafka source tells where it goes on."""

    point: StoredCheckpoint
    commit: Snapshot

    @property
    def is_of_commit(self) -> bool:
        """Whether all that it has read is committed; else what it read after the commit may still come."""
        return self.point.checkpoint_id == self.commit.checkpoint_id

    def following(self, partition: str | None) -> int | None:
        """The next offset of a source partition; None also where several topics have a partition of this number, or
        nothing was read of it."""
        told: list[SourcePosition] = [each for each in self.point.source_positions if str(each.partition) == partition]
        return told[0].following if len(told) == 1 and told[0].following >= 0 else None


def source_state(ask: Ask) -> SourceState | None:
    """The oldest point that is not older than the newest commit: an older one says nothing of what came since, and a
    newer one has read more that is not committed."""
    world = ask.observation
    newest = next((s for s in world.table.ancestors(ask.window.until) if s.job_id is not None), None)
    if newest is None or newest.checkpoint_id is None:
        return None
    fit = [
        point
        for point in world.checkpoints.values
        if point.job_id == newest.job_id
        and point.checkpoint_id is not None
        and point.checkpoint_id >= newest.checkpoint_id
        and point.source_positions
    ]
    oldest = min(fit, key=lambda point: point.checkpoint_id or 0, default=None)
    return SourceState(point=oldest, commit=newest) if oldest is not None else None
