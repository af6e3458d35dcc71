"""What Alertmanager and PagerDuty send, as alerts. Fields that nobody needs here are not looked at."""

from typing import Any

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from bot.domain.ids import Severity
from bot.service.alerts import Alert

_GRAVE = {"critical", "page", "error", "high", "p1", "sev1"}
_SLIGHT = {"info", "none", "low", "p4", "p5", "sev3"}
_RUNBOOK = "waterline_runbook"
"""Label or annotation that names the symptom to open an incident with."""


class _Theirs(BaseModel):
    """A record of somebody else's: unknown fields may come at any time."""

    model_config = ConfigDict(frozen=True, extra="ignore")


class _OneAlert(_Theirs):
    status: str
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    starts_at: AwareDatetime = Field(alias="startsAt")
    generator_url: str = Field(default="", alias="generatorURL")
    fingerprint: str = Field(min_length=1, max_length=200)


class Alertmanager(_Theirs):
    """Alertmanager's webhook, version 4; Grafana's alerting sends the same."""

    version: str = "4"
    alerts: tuple[_OneAlert, ...] = Field(max_length=1000)

    def told(self) -> tuple[Alert, ...]:
        """Each by its own status: a group fires while one of its alerts does."""
        return tuple(_of_alertmanager(each) for each in self.alerts)


class _Named(_Theirs):
    summary: str | None = None


class _Incident(_Theirs):
    id: str = Field(min_length=1, max_length=200)
    type: str
    html_url: str | None = None
    created_at: AwareDatetime | None = None
    title: str = ""
    service: _Named | None = None
    priority: _Named | None = None
    urgency: str | None = None
    body: dict[str, Any] | None = None


class _Event(_Theirs):
    event_type: str
    occurred_at: AwareDatetime
    data: dict[str, Any]


class PagerDuty(_Theirs):
    """PagerDuty's webhook, version 3: one event."""

    event: _Event

    def told(self) -> tuple[Alert, ...]:
        """Of an incident that begins, comes back or is resolved; nothing of what happens to it in between."""
        kind = self.event.event_type
        if kind not in {"incident.triggered", "incident.reopened", "incident.resolved"}:
            return ()
        incident = _Incident.model_validate(self.event.data)
        begins = incident.created_at if kind == "incident.triggered" else None
        service = incident.service.summary if incident.service is not None else None
        grave = (incident.priority.summary if incident.priority is not None else None) or incident.urgency
        return (
            Alert(
                source="PagerDuty",
                fingerprint=incident.id,
                started_at=begins or self.event.occurred_at,
                is_resolved=kind == "incident.resolved",
                name=incident.title or incident.id,
                title=incident.title or f"PagerDuty incident {incident.id}",
                details=(f"Service {service}.",) if service else (),
                names=(incident.title, service or "", str(incident.body or "")),
                severity=_severity(grave),
                runbook=None,
                link=incident.html_url,
            ),
        )


def _of_alertmanager(each: _OneAlert) -> Alert:
    name = each.labels.get("alertname", "an alert without a name")
    summary = each.annotations.get("summary") or each.annotations.get("description")
    more = each.annotations.get("description") if each.annotations.get("summary") else None
    shown = ", ".join(f"{key}={value}" for key, value in sorted(each.labels.items()) if key != "alertname")
    return Alert(
        source="Alertmanager",
        fingerprint=each.fingerprint,
        started_at=each.starts_at,
        is_resolved=each.status == "resolved",
        name=each.labels.get("alertname") or each.fingerprint,
        title=f"{name}: {summary}" if summary else name,
        details=tuple(text for text in (more, f"Labels: {shown}" if shown else None) if text),
        names=tuple(each.labels.values()) + tuple(each.annotations.values()),
        severity=_severity(each.labels.get("severity")),
        runbook=each.labels.get(_RUNBOOK) or each.annotations.get(_RUNBOOK),
        link=each.annotations.get("runbook_url") or each.generator_url or None,
    )


def _severity(told: str | None) -> Severity:
    word = (told or "").lower()
    return "sev1" if word in _GRAVE else "sev3" if word in _SLIGHT else "sev2"
