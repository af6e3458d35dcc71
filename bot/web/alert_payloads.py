"""What Alertmanager and PagerDuty send, as alerts. Fields that nobody needs here are not looked at."""

import re
from collections.abc import Iterator
from typing import Annotated, Literal

from pydantic import AfterValidator, AwareDatetime, BaseModel, BeforeValidator, ConfigDict, Field, JsonValue

from bot.domain.ids import Severity
from bot.service.alerts import Alert

_GRAVE = {"critical", "emergency", "fatal", "page", "error", "high", "p0", "p1", "sev0", "sev1"}
_SLIGHT = {"info", "none", "low", "p4", "p5", "sev3"}
_RUNBOOK = "waterline_runbook"
"""Label or annotation that names the symptom to open an incident with."""
_TOLD: list[JsonValue] = ["incident.triggered", "incident.reopened", "incident.resolved"]
_MOMENT = r"^(19|2\d)\d{2}-\d{2}-\d{2}T\d{2}:\d{2}:[0-5]\d(\.\d{1,9})?(Z|[+-]\d{2}:\d{2})$"


class _Theirs(BaseModel):
    """A record of somebody else's: unknown fields may come at any time."""

    model_config = ConfigDict(frozen=True, extra="ignore", strict=True)


def _spelled_out(moment: JsonValue) -> JsonValue:
    """Bare seconds since 1970, which are read as a moment too, are no date that anybody sends."""
    if not isinstance(moment, str) or re.fullmatch(_MOMENT, moment) is None:
        raise ValueError("expected a date and time with its zone, as 2026-11-04T03:00:00Z")
    return moment


Moment = Annotated[
    AwareDatetime,
    BeforeValidator(_spelled_out),
    Field(strict=False, json_schema_extra={"type": "string", "format": "date-time", "pattern": _MOMENT}),
]


class AlertmanagerAlert(_Theirs):
    """One alert of a group."""

    status: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    starts_at: Moment = Field(alias="startsAt")
    generator_url: str = Field(default="", alias="generatorURL")
    fingerprint: str = Field(min_length=1, max_length=200)


class Alertmanager(_Theirs):
    """Alertmanager's webhook, version 4; Grafana's alerting sends the same."""

    version: str = "4"
    alerts: tuple[AlertmanagerAlert, ...] = Field(max_length=1000)

    def told(self) -> tuple[Alert, ...]:
        """Each by its own status: a group fires while one of its alerts does."""
        return tuple(_of_alertmanager(each) for each in self.alerts)


class PagerDutyName(_Theirs):
    """A service or a priority, by its name."""

    summary: str | None = None


class PagerDutyIncident(_Theirs):
    """An incident at PagerDuty."""

    id: str = Field(min_length=1, max_length=200)
    type: str
    html_url: str | None = None
    created_at: Moment | None = None
    title: str = ""
    service: PagerDutyName | None = None
    priority: PagerDutyName | None = None
    urgency: str | None = None
    body: dict[str, JsonValue] | None = None


class PagerDutyIncidentEvent(_Theirs):
    """It begins, comes back, or is resolved."""

    event_type: Literal["incident.triggered", "incident.reopened", "incident.resolved"]
    occurred_at: Moment
    data: PagerDutyIncident


def _not_of_those(kind: str) -> str:
    if kind in _TOLD:
        raise ValueError(f"{kind} says what happened to an incident, which is to be in `data`")
    return kind


class PagerDutyOtherEvent(_Theirs):
    """Anything else, of which nothing is told."""

    event_type: Annotated[str, AfterValidator(_not_of_those)] = Field(json_schema_extra={"not": {"enum": _TOLD}})
    occurred_at: Moment


class PagerDuty(_Theirs):
    """PagerDuty's webhook, version 3: one event."""

    event: PagerDutyIncidentEvent | PagerDutyOtherEvent = Field(union_mode="left_to_right")

    def told(self) -> tuple[Alert, ...]:
        """Of an incident that begins, comes back or is resolved; nothing of what happens to it in between."""
        event = self.event
        if isinstance(event, PagerDutyOtherEvent):
            return ()
        incident = event.data
        begins = incident.created_at if event.event_type == "incident.triggered" else None
        service = incident.service.summary if incident.service is not None else None
        priority = incident.priority.summary if incident.priority is not None else None
        return (
            Alert(
                source="PagerDuty",
                fingerprint=incident.id,
                started_at=begins or event.occurred_at,
                is_resolved=event.event_type == "incident.resolved",
                title=incident.title or f"PagerDuty incident {incident.id}",
                details=(f"Service {service}.",) if service else (),
                names=(incident.title, service or "", *_texts_in(incident.body)),
                severity=_severity(priority, incident.urgency),
                runbook=None,
                link=incident.html_url,
            ),
        )


SHAPES: dict[str, type[Alertmanager | PagerDuty]] = {"alertmanager": Alertmanager, "pagerduty": PagerDuty}
"""Kind, the last part of its address -> what is sent there."""


def _of_alertmanager(each: AlertmanagerAlert) -> Alert:
    name = each.labels.get("alertname", "an alert without a name")
    summary = each.annotations.get("summary") or each.annotations.get("description")
    more = each.annotations.get("description") if each.annotations.get("summary") else None
    shown = ", ".join(f"{key}={value}" for key, value in sorted(each.labels.items()) if key != "alertname")
    return Alert(
        source="Alertmanager",
        fingerprint=each.fingerprint,
        started_at=each.starts_at,
        is_resolved=each.status == "resolved",
        title=f"{name}: {summary}" if summary else name,
        details=tuple(text for text in (more, f"Labels: {shown}" if shown else None) if text),
        names=tuple(each.labels.values()) + tuple(each.annotations.values()),
        severity=_severity(each.labels.get("severity")),
        runbook=each.labels.get(_RUNBOOK) or each.annotations.get(_RUNBOOK),
        link=each.annotations.get("runbook_url") or each.generator_url or None,
    )


def _texts_in(body: JsonValue) -> Iterator[str]:
    """Every text in it, and the name of every part."""
    left = [body]
    while left:
        match left.pop():
            case str() as text:
                yield text
            case dict() as parts:
                left += [*parts, *parts.values()]
            case list() as parts:
                left += parts


def _severity(*told: str | None) -> Severity:
    """The gravest of these words, however they are written: `SEV-1` is sev1. What says nothing known is sev2."""
    words = {re.sub("[-_ ]", "", word.lower()) for word in told if word}
    if words & _GRAVE:
        return "sev1"
    return "sev3" if words and words <= _SLIGHT else "sev2"
