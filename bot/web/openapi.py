"""The OpenAPI document of the API, made from the very models that are answered."""

import json
from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel
from pydantic.json_schema import models_json_schema

from bot.domain.trust import Trust
from bot.web.alert_openapi import alert_models, alert_paths, alert_schemes
from bot.web.answers import Problem
from bot.web.api import Health, Tables
from bot.web.incident_view import IncidentView

_ABOUT = (
    "Which state of a table can its consumers trust, and how do we know? Four reads, which change nothing, and where "
    "they are configured the addresses at which other systems tell of alerts. "
    "`unknown` is never `trusted`: where the catalog or the record cannot be read, or where the two disagree, it is "
    "said so. Every answer to a read carries an ETag."
)
_REF = "#/components/schemas/{model}"


def openapi_json(alerts: Collection[str] = ()) -> str:
    """OpenAPI 3.1 as JSON text. `alerts`: the kinds of alerts that are taken."""
    answers: tuple[type[BaseModel], ...] = (Health, Tables, Trust, IncidentView, Problem)
    models: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [*alert_models(alerts)]
    models += [(model, "serialization") for model in answers]
    _, schemas = models_json_schema(models, ref_template=_REF)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Waterline", "version": "1", "description": _ABOUT},
        "paths": {
            "/v1/health": {"get": _read("health", "Can it answer at all?", "Health", may_fail=True, open_to_all=True)},
            "/v1/tables": {"get": _read("tables", "All watched tables and their trust.", "Tables")},
            "/v1/tables/{table}/trust": {
                "get": _read("trust", "One table's trust.", "Trust", ("table", "namespace.table, as configured."))
            },
            "/v1/incidents/{incident}": {
                "get": _read(
                    "incident",
                    "One incident; a private one is not found.",
                    "IncidentView",
                    ("incident", "Its id, such as wl-1."),
                    may_fail=True,
                )
            },
            **alert_paths(alerts),
        },
        "components": {
            "schemas": schemas["$defs"],
            "securitySchemes": {
                "token": {"type": "http", "scheme": "bearer"},
                "password": {"type": "http", "scheme": "basic", "description": "The token as password, any name."},
                **alert_schemes(alerts),
            },
        },
    }
    return json.dumps(document, indent=1)


def _read(
    operation: str,
    summary: str,
    model: str,
    named: tuple[str, str] | None = None,
    *,
    may_fail: bool = False,
    open_to_all: bool = False,
) -> dict[str, object]:
    tag = {"ETag": {"description": "Changes when the answer does.", "schema": {"type": "string"}}}
    answers: dict[str, object] = {
        "200": {"description": "The answer.", "headers": tag, "content": {"application/json": {"schema": _of(model)}}},
        "304": {"description": "It is what you have.", "headers": tag},
    }
    if not open_to_all:
        answers["401"] = _problem("No token, or not the right one.")
    if named is not None:
        answers["404"] = _problem(f"There is no such {named[0]}.")
    if may_fail:
        answers["503"] = _problem("The record cannot be read.")
    etag = {"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}}
    path = (
        []
        if named is None
        else [{"name": named[0], "in": "path", "required": True, "description": named[1], "schema": {"type": "string"}}]
    )
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": [*path, etag],
        "responses": answers,
        "security": [{}] if open_to_all else [{"token": []}, {"password": []}],
    }


def _of(model: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=model)}


def _problem(description: str) -> dict[str, object]:
    return {"description": description, "content": {"application/problem+json": {"schema": _of("Problem")}}}
