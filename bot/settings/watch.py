"""How tables are followed without an incident, and who is told."""

from datetime import timedelta

from pydantic import Field

from bot.domain.approval import People
from bot.domain.record import Record


class WatchSettings(Record):
    """The watch."""

    channel: str | None = Field(
        default=None,
        description="Slack channel id for findings on tables without a `channel`. Without it, such tables are "
        "not watched.",
        examples=["C0INCIDENT"],
    )
    mention: People = Field(default=People(), description="Whom urgent findings mention, and so notify.")
    every: timedelta = Field(
        default=timedelta(seconds=30),
        ge=timedelta(seconds=1),
        description="Time between two looks at a table. A look reads the catalog's pointer and Flink's job, and "
        "more only on suspicion.",
        examples=["PT30S"],
    )
    evidence_every: timedelta = Field(
        default=timedelta(minutes=10),
        ge=timedelta(seconds=10),
        description="How often to collect evidence without rows, even if nothing looks suspicious.",
        examples=["PT10M"],
    )
    patience: timedelta = Field(
        default=timedelta(minutes=2),
        ge=timedelta(0),
        description="How long a job may be stopped, or a source unreachable, before it becomes a finding. A "
        "finding is over once its cause is gone for this long.",
        examples=["PT2M"],
    )
