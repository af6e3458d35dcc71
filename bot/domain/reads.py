"""Who read which snapshot: observed runs of consumers."""

from pydantic import Field

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

    name: str = Field(
        description="The consumer's name, equal to its job's name in lineage events.", examples=["revenue_daily"]
    )
    channel: str = Field(description="Slack channel id where it is told.", examples=["C0REVENUE1"])
    owner: str | None = Field(
        default=None, description="Who answers for it: a Slack user id, or a name.", examples=["U0DANA0001"]
    )
