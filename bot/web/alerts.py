"""Alerts from Alertmanager and PagerDuty: what they send, where it is taken, and how OpenAPI describes it."""

import hashlib
import hmac
import re
from collections.abc import Collection, Iterator
from typing import Annotated, Literal

from pydantic import (
    AfterValidator,
    AwareDatetime,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    ValidationError,
)
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.observation.ids import Severity
from bot.service.alerts import Alert, AlertService, Taken
from bot.web.access import ALERTS
from bot.web.responses import body_of, problem

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
    """Any other event: it is taken and ignored."""

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


_MOST_BYTES = 1 << 20
_HEADERS = {"Cache-Control": "no-store", "X-Content-Type-Options": "nosniff"}


class AlertRoutes:
    """Handlers. An address whose key is not set takes nothing, and is not there."""

    def __init__(self, service: AlertService, *, token: str | None, pagerduty_secret: str | None) -> None:
        self._service = service
        self._token = token
        self._secret = pagerduty_secret

    @property
    def kinds(self) -> tuple[str, ...]:
        keys = {"alertmanager": self._token, "pagerduty": self._secret}
        return tuple(kind for kind, key in keys.items() if key is not None)

    @property
    def routes(self) -> list[Route]:
        answer = {"alertmanager": self._alertmanager, "pagerduty": self._pagerduty}
        return [Route(f"{ALERTS}{kind}", answer[kind], methods=["POST"]) for kind in self.kinds]

    async def _alertmanager(self, request: Request) -> Response:
        scheme, _, given = request.headers.get("authorization", "").strip().partition(" ")
        assert self._token is not None
        if scheme.lower() != "bearer" or not hmac.compare_digest(given.strip().encode(), self._token.encode()):
            return _turned_away("the alert token of this Waterline as `Authorization: Bearer …`")
        body = await body_of(request, _MOST_BYTES)
        return await self._taken(Alertmanager, body)

    async def _pagerduty(self, request: Request) -> Response:
        body = await body_of(request, _MOST_BYTES)
        assert self._secret is not None
        if body is not None and not _is_signed(body, request.headers.get("x-pagerduty-signature", ""), self._secret):
            return _turned_away("a signature in `X-PagerDuty-Signature` that fits the body")
        return await self._taken(PagerDuty, body)

    async def _taken(self, shape: type[Alertmanager | PagerDuty], body: bytes | None) -> Response:
        if body is None:
            return problem(
                413,
                "The request is too large.",
                f"Expected at most {_MOST_BYTES:,} bytes.",
                "Send fewer alerts in one request.",
            )
        try:
            alerts = shape.model_validate_json(body).told()
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            where = ".".join(str(part) for part in first["loc"]) or "the body"
            return problem(
                400,
                "The body is not a webhook of this kind.",
                f"Expected the payload of {shape.__name__}; found at {where}: {first['msg']}.",
                "Check the address in the sender's configuration.",
            )
        taken = await run_in_threadpool(self._service.take, alerts)  # after a 503 it is sent again: nothing is lost
        return Response(taken.model_dump_json(), 200, _HEADERS, media_type="application/json")


def _is_signed(body: bytes, header: str, secret: str) -> bool:
    """Whether one of the signatures fits: there are several while a secret is being changed."""
    expected = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = [each.strip().removeprefix("v1=") for each in header.split(",") if each.strip().startswith("v1=")]
    return any(hmac.compare_digest(each.encode(), expected.encode()) for each in given)


def _turned_away(expected: str) -> Response:
    return problem(
        401,
        "Waterline did not take this alert.",
        f"Expected {expected}; it is missing or wrong.",
        "Give the sender the key that is set where Waterline was started.",
    )


_SCHEMES = {
    "alertmanager": {"type": "http", "scheme": "bearer", "description": "The alert token. It opens no other address."},
    "pagerduty": {
        "type": "apiKey",
        "in": "header",
        "name": "X-PagerDuty-Signature",
        "description": "`v1=` and the hex HMAC-SHA256 of the body, made with the secret of the webhook subscription. "
        "Separate several by commas while you change the secret.",
    },
}
"""Kind -> how its sender shows who it is; each scheme is called after its kind."""
_SUMMARIES = {
    "alertmanager": "Send alerts as Alertmanager (webhook version 4) or Grafana sends them.",
    "pagerduty": "Send an incident as PagerDuty (webhook version 3) sends it.",
}
_ABOUT = (
    "Waterline posts each alert once, in the channel of the watched table that it names, or whose job it names. It "
    "also posts when the alert is resolved. The same alert sent again changes nothing. An alert approves nothing."
)
_REFUSALS = {
    "400": "The body is not of this kind. `detail` names the field.",
    "401": "The key is missing or wrong.",
    "413": "The body is longer than a megabyte.",
    "503": "The record cannot be written now. Send the request again.",
}


def alert_models(kinds: Collection[str]) -> list[tuple[type[BaseModel], Literal["validation", "serialization"]]]:
    found: list[tuple[type[BaseModel], Literal["validation", "serialization"]]]
    found = [(SHAPES[kind], "validation") for kind in kinds]
    return [*found, (Taken, "serialization")] if found else []


def alert_schemes(kinds: Collection[str]) -> dict[str, dict[str, str]]:
    return {kind: _SCHEMES[kind] for kind in kinds}


def alert_paths(kinds: Collection[str]) -> dict[str, object]:
    return {f"{ALERTS}{kind}": {"post": _operation(kind)} for kind in kinds}


def _operation(kind: str) -> dict[str, object]:
    refusals = {
        status: {"description": says, "content": {"application/problem+json": {"schema": _of("Problem")}}}
        for status, says in _REFUSALS.items()
    }
    return {
        "operationId": f"tell_{kind}",
        "summary": _SUMMARIES[kind],
        "description": _ABOUT,
        "requestBody": {"required": True, "content": {"application/json": {"schema": _of(SHAPES[kind].__name__)}}},
        "responses": {
            "200": {
                "description": "What became of each alert.",
                "content": {"application/json": {"schema": _of(Taken.__name__)}},
            },
            **refusals,
        },
        "security": [{kind: []}],
    }


def _of(model: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model}"}
