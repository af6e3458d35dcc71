"""The addresses for alerts in the OpenAPI document: those that are served, with what each takes and answers."""

from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel

from bot.service.alerts import Taken
from bot.web.access import ALERTS
from bot.web.alert_payloads import SHAPES

_SCHEMES = {
    "alertmanager": {
        "type": "http",
        "scheme": "bearer",
        "description": "The alert token, which opens nothing else.",
    },
    "pagerduty": {
        "type": "apiKey",
        "in": "header",
        "name": "X-PagerDuty-Signature",
        "description": "`v1=` and the hex HMAC-SHA256 of the body, by the secret of the webhook subscription; several, "
        "parted by commas, while it is being changed.",
    },
}
"""Kind -> how its sender shows who it is; each scheme is called after its kind."""
_SUMMARIES = {
    "alertmanager": "Tell of alerts, as Alertmanager's webhook (version 4) or Grafana does.",
    "pagerduty": "Tell of an incident at PagerDuty, as its webhook (version 3) does.",
}
_ABOUT = (
    "Each alert that names one watched table, or its job, is told in that table's channel, once; one that is resolved "
    "is noted there. Sending the same again is sending it once. Nothing is opened, changed or approved by it."
)
_REFUSALS = {
    "400": "The body is none of that kind; what is wrong is said by name.",
    "401": "No key, or not the right one.",
    "413": "The body is longer than a megabyte.",
    "503": "The record cannot be written now: send it again.",
}


def alert_models(kinds: Collection[str]) -> list[tuple[type[BaseModel], Literal["validation", "serialization"]]]:
    """(model, `validation` or `serialization`) of what these addresses take and answer."""
    found: list[tuple[type[BaseModel], Literal["validation", "serialization"]]]
    found = [(SHAPES[kind], "validation") for kind in kinds]
    return [*found, (Taken, "serialization")] if found else []


def alert_schemes(kinds: Collection[str]) -> dict[str, dict[str, str]]:
    """Security schemes."""
    return {kind: _SCHEMES[kind] for kind in kinds}


def alert_paths(kinds: Collection[str]) -> dict[str, object]:
    """Path -> operation."""
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
        "requestBody": {
            "required": True,
            "content": {"application/json": {"schema": _of(SHAPES[kind].__name__)}},
        },
        "responses": {
            "200": {
                "description": "What came of each.",
                "content": {"application/json": {"schema": _of(Taken.__name__)}},
            },
            **refusals,
        },
        "security": [{kind: []}],
    }


def _of(model: str) -> dict[str, str]:
    return {"$ref": f"#/components/schemas/{model}"}
