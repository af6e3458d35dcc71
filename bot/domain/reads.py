"""Who read which snapshot: observed runs of consumers."""

from bot.domain.ids import SnapshotId
from bot.domain.record import Record, Utc


class ReadRun(Record):
    """One consumer run that read the table, from an OpenLineage event."""

    consumer: str
    """The job's name, as declared consumers are named: `revenue_daily`."""
    run_id: str
    at: Utc
    snapshot_id: SnapshotId | None
    """The snapshot it read; None when the event does not say."""


class Consumer(Record):
    """A declared consumer and where it is told."""

    name: str
    channel: str
    """Slack channel id."""
    owner: str | None = None
