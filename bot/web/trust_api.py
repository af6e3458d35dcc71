"""The API for programs: four reads, and the OpenAPI document, made from the models that are answered."""

import json
from collections.abc import Collection
from typing import Literal

from pydantic import BaseModel, Field
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.history.prediction import RestoreCheck
from bot.incident.incident import Incident
from bot.incident.trust import Trust, TrustState
from bot.observation.errors import UnknownTable
from bot.observation.ids import ExactId, IncidentId, Severity, TableName, short_job
from bot.observation.record import Record, Utc
from bot.service.restoring import RestoreService
from bot.service.trust import TrustService
from bot.web.alerts import alert_models, alert_paths, alert_schemes
from bot.web.responses import Problem, answered, problem


class Cause(Record):
    """One failure mode that matches."""

    code: str = Field(description="Its code in the catalogue, such as F2.")
    title: str = Field(description="Its name.")
    headline: str = Field(description="What was found, a sentence.")


class Decision(Record):
    """The newest proposal and how far it has come."""

    title: str = Field(description="What is proposed.")
    state: str = Field(description="proposed, approved, executing, applied, refused, unknown, rejected, …")
    expires_at: Utc = Field(description="From then on it can no longer be approved.")


class IncidentView(Record):
    """One incident, without the people in it."""

    id: IncidentId = Field(description="Short and sayable.")
    table: TableName = Field(description="namespace.table.")
    job: str | None = Field(description="The Flink job that writes the table; null where none is configured.")
    severity: Severity = Field(description="As the responders set it.")
    state: Literal["open", "closed"] = Field(description="Whether it is still worked on.")
    opened_at: Utc = Field(description="When it was opened.")
    closed_at: Utc | None = Field(description="When it was closed; null while it is open.")
    causes: tuple[Cause, ...] = Field(description="Failure modes that match; empty: none does, or none is known yet.")
    wrong_runs: tuple[str, ...] = Field(description="Flink runs whose commits are wrong, by their first six digits.")
    trusted: ExactId | None = Field(
        description="The snapshot that consumers can rely on as far as this incident knows: now while it is open, at "
        "its end once it is closed; null: none. What holds now is in `table_now` and the table's trust."
    )
    is_proven: bool = Field(
        description="Whether the table was verified after this incident's fault. It says nothing of what came later."
    )
    table_now: TrustState | None = Field(
        description="Whether consumers may rely on the table as it is now, as the table's trust says; null where it is "
        "watched no more."
    )
    superseded_by: IncidentId | None = Field(
        description="The newest later incident that put the table in question; null where there is none, or it is "
        "private."
    )
    window_since: ExactId | None = Field(description="Commits under review begin after this one; null: with the first.")
    window_until: ExactId | None = Field(
        description="The newest commit under review, inclusive; null: nothing was committed yet."
    )
    proposal: Decision | None = Field(description="The newest proposal; null: nothing was proposed.")
    entries: int = Field(ge=1, description="Entries in its record.")
    head_hash: str = Field(description="Hash of its newest entry: the end of the chain.")


def incident_view(trusts: TrustService, incident_id: IncidentId) -> IncidentView:
    """The view of one incident, beside what holds now. Raises UnknownIncident, CouldNotLook. Cost: that of the
    table's trust."""
    incident = trusts.incident(incident_id)
    later = trusts.later_doubt(incident)
    superseded_by = later.id if later is not None and not later.is_private else None
    return _view(incident, _table_now(trusts, incident.opened.table), superseded_by)


def _table_now(trusts: TrustService, table: TableName) -> TrustState | None:
    try:
        return trusts.trust(table).state
    except UnknownTable:
        return None


def _view(incident: Incident, table_now: TrustState | None, superseded_by: IncidentId | None) -> IncidentView:
    matches = incident.diagnosis.matches if incident.diagnosis is not None else ()
    proposed = incident.current_proposal
    return IncidentView(
        id=incident.id,
        table=incident.opened.table,
        job=incident.opened.job,
        severity=incident.severity,
        state="open" if incident.is_open else "closed",
        opened_at=incident.opened_at,
        closed_at=incident.closed_at,
        causes=tuple(Cause(code=mode.code, title=mode.title, headline=match.headline) for mode, match in matches),
        wrong_runs=tuple(dict.fromkeys(short_job(match.wrong_run) for _, match in matches if match.wrong_run)),
        trusted=incident.trusted,
        is_proven=incident.waterline is not None and incident.waterline.status == "trusted",
        table_now=table_now,
        superseded_by=superseded_by,
        window_since=incident.window.since,
        window_until=incident.window.until,
        proposal=None
        if proposed is None
        else Decision(
            title=proposed.proposal.title, state=proposed.state.value, expires_at=proposed.proposal.expires_at
        ),
        entries=len(incident.entries),
        head_hash=incident.entries[-1].hash,
    )


_WHEN = {"checked_at"}


class Tables(Record):
    """Every watched table."""

    tables: tuple[Trust, ...] = Field(description="In the order of the configuration.")


class Api:
    """Handlers; each runs in a thread of the server's pool, because catalog and record block. What they raise is
    answered by `web_app`."""

    def __init__(self, trusts: TrustService, restores: RestoreService) -> None:
        self._trusts = trusts
        self._restores = restores

    @property
    def routes(self) -> list[Route]:
        """All reads but the description of them."""
        return [
            Route("/v1/tables", self._tables),
            Route("/v1/tables/{table}/trust", self._trust),
            Route("/v1/tables/{table}/restore-check", self._restore_check),
            Route("/v1/incidents/{incident}", self._incident),
        ]

    def _tables(self, request: Request) -> Response:
        return answered(request, Tables(tables=self._trusts.all()), apart_from={"tables": {"__all__": _WHEN}})

    def _trust(self, request: Request) -> Response:
        trust = self._trusts.trust(TableName(request.path_params["table"]))
        return answered(request, trust, apart_from=_WHEN)

    def _restore_check(self, request: Request) -> Response:
        path = request.query_params.get("from", "").strip()
        if not path:
            return problem(
                400,
                "No restore point is named.",
                "Expected `from` in the query: the folder of a checkpoint or savepoint.",
                "Add ?from=s3://…/savepoint-…",
            )
        found = self._restores.check(TableName(request.path_params["table"]), path)
        return answered(request, found, apart_from=_WHEN)

    def _incident(self, request: Request) -> Response:
        return answered(request, incident_view(self._trusts, IncidentId(request.path_params["incident"])))


_ABOUT = (
    "Which state of a table can its consumers trust, and how do we know? Four reads, which change nothing. Where they "
    "are configured, other systems send alerts to the addresses for alerts. `unknown` is never `trusted`: the state is "
    "`unknown` where the catalog or the record cannot be read, or where they disagree. Every read has an ETag."
)
_REF = "#/components/schemas/{model}"


def openapi_json(alerts: Collection[str] = ()) -> str:
    """OpenAPI 3.1 as JSON text. `alerts`: the kinds of alerts that are taken."""
    answers: tuple[type[BaseModel], ...] = (Tables, Trust, RestoreCheck, IncidentView, Problem)
    models: list[tuple[type[BaseModel], Literal["validation", "serialization"]]] = [*alert_models(alerts)]
    models += [(model, "serialization") for model in answers]
    _, schemas = models_json_schema(models, ref_template=_REF)
    document = {
        "openapi": "3.1.0",
        "info": {"title": "Waterline", "version": "1", "description": _ABOUT},
        "paths": {
            "/v1/tables": {"get": _read("tables", "All watched tables and their trust.", "Tables")},
            "/v1/tables/{table}/trust": {
                "get": _read("trust", "One table's trust.", "Trust", ("table", "namespace.table, as configured."))
            },
            "/v1/tables/{table}/restore-check": {
                "get": _read(
                    "restore_check",
                    "Would a start of the table's job from this restore point be right for what is on main now?",
                    "RestoreCheck",
                    ("table", "namespace.table, as configured."),
                    asks=("from", "Folder of a checkpoint or savepoint on the job's storage, or its _metadata."),
                )
            },
            "/v1/incidents/{incident}": {
                "get": _read(
                    "incident",
                    "One incident; a private one is not found.",
                    "IncidentView",
                    ("incident", "Its id, for example wl-1."),
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
    asks: tuple[str, str] | None = None,
    may_fail: bool = False,
) -> dict[str, object]:
    tag = {"ETag": {"description": "Changes when the answer does.", "schema": {"type": "string"}}}
    answers: dict[str, object] = {
        "200": {"description": "The answer.", "headers": tag, "content": {"application/json": {"schema": _of(model)}}},
        "304": {"description": "You have the newest answer.", "headers": tag},
        "401": _problem("The token is missing or wrong."),
    }
    if named is not None:
        answers["404"] = _problem(f"There is no such {named[0]}.")
    if asks is not None:
        answers["400"] = _problem(f"`{asks[0]}` is missing.")
    if may_fail:
        answers["503"] = _problem("The record cannot be read.")
    etag = {"name": "If-None-Match", "in": "header", "required": False, "schema": {"type": "string"}}
    path: list[dict[str, object]] = (
        []
        if named is None
        else [{"name": named[0], "in": "path", "required": True, "description": named[1], "schema": {"type": "string"}}]
    )
    if asks is not None:
        said = {"type": "string", "minLength": 1, "pattern": "[!-~]"}
        told = {"name": asks[0], "in": "query", "required": True, "description": asks[1], "schema": said}
        path.append(told)
    return {
        "operationId": operation,
        "summary": summary,
        "parameters": [*path, etag],
        "responses": answers,
        "security": [{"token": []}, {"password": []}],
    }


def _of(model: str) -> dict[str, str]:
    return {"$ref": _REF.format(model=model)}


def _problem(description: str) -> dict[str, object]:
    return {"description": description, "content": {"application/problem+json": {"schema": _of("Problem")}}}
