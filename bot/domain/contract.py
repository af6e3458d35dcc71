"""What the table promises: the columns that let loss, duplicates and lateness be told exactly."""

from datetime import timedelta

from pydantic import Field

from bot.domain.record import Record


class TableContract(Record):
    """Keys and meaning of the columns that evidence relies on. A missing one makes its tasks inconclusive."""

    key: tuple[str, ...] = Field(
        description="Columns that together name one business fact; two live rows with one key are duplicates.",
        examples=[["order_id"]],
        min_length=1,
    )
    position: str | None = Field(
        default=None,
        description="Column of the source position: an integer, one more for each record of a source partition.",
        examples=["source_position"],
    )
    position_partition: str | None = Field(
        default=None,
        description="Column that holds the source partition, where the source has several.",
        examples=["source_partition"],
    )
    event_time: str | None = Field(
        default=None,
        description="Column that holds the time of the event, for late rows and gaps.",
        examples=["event_time"],
    )
    redacted: tuple[str, ...] = Field(
        default=(), description="Columns whose values are never shown.", examples=[["customer"]]
    )
    commit_every: timedelta | None = Field(
        default=None,
        description="Expected time between commits, as an ISO 8601 duration or in seconds.",
        examples=["PT1M"],
        gt=timedelta(0),
    )
