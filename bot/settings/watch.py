"""How tables are followed without an incident, and who is told."""

from datetime import timedelta

from pydantic import Field

from bot.domain.approval import People
from bot.domain.ids import Severity, UserId
from bot.domain.quiet import QuietHours
from bot.domain.record import Record


class AlertsOpenSettings(Record):
    """Alerts that open an incident by themselves."""

    severities: tuple[Severity, ...] = Field(
        default=("sev1",),
        min_length=1,
        description="Of which alerts: `sev1` is `critical` (or P1, or high urgency), `sev3` slight, `sev2` any other.",
        examples=[["sev1", "sev2"]],
    )
    responder: UserId = Field(
        description="Slack user id of who responds until somebody else takes over.", examples=["U0ANA00001"]
    )


class WatchSettings(Record):
    """The watch."""

    channel: str | None = Field(
        default=None,
        description="Slack channel id for findings on tables without a `channel`. Without it, such tables are "
        "not watched.",
        examples=["C0INCIDENT"],
    )
    mention: People = Field(default=People(), description="Whom urgent findings mention, and so notify.")
    listen_in: tuple[str, ...] = Field(
        default=(),
        description="Slack channel ids in which what people and other bots write is read: a message that names a "
        "watched table, or its job, becomes a finding. Who mentions the bot is heard in every channel it is in.",
        examples=[["C0ALERTS01"]],
    )
    alerts_open: AlertsOpenSettings | None = Field(
        default=None,
        description="Which alerts of Alertmanager and PagerDuty open an incident by themselves, once each, while none "
        "is open on a followed table; none: each offers a button. Consumers are warned of it as of any other incident.",
    )
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
    quiet_hours: QuietHours | None = Field(default=None, description="When nobody is to be disturbed; none: never.")
