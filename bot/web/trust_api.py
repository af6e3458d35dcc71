"""The API for programs: four reads."""

from typing import Literal

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.incident.incident import Incident
from bot.incident.trust import Trust, TrustState
from bot.observation.errors import CouldNotLook, UnknownIncident, UnknownTable
from bot.observation.ids import ExactId, IncidentId, Severity, TableName, short_job
from bot.observation.record import Record, Utc
from bot.service.restoring import RestoreService
from bot.service.trust import TrustService
from bot.web.responses import answered, problem, problem_of


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


def incident_view(desk: TrustService, incident_id: IncidentId) -> IncidentView:
    """The view of one incident, beside what holds now. Raises UnknownIncident, CouldNotLook. Cost: that of the
    table's trust."""
    incident = desk.incident(incident_id)
    later = desk.later_doubt(incident)
    superseded_by = later.id if later is not None and not later.is_private else None
    return _view(incident, _table_now(desk, incident.opened.table), superseded_by)


def _table_now(desk: TrustService, table: TableName) -> TrustState | None:
    try:
        return desk.trust(table).state
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
    """Handlers; each runs in a thread of the server's pool, because catalog and record block."""

    def __init__(self, desk: TrustService, restores: RestoreService) -> None:
        self._desk = desk
        self._restores = restores

    @property
    def routes(self) -> list[Route]:
        return [
            Route("/v1/tables", self._tables),
            Route("/v1/tables/{table}/trust", self._trust),
            Route("/v1/tables/{table}/restore-check", self._restore_check),
            Route("/v1/incidents/{incident}", self._incident),
        ]

    def _tables(self, request: Request) -> Response:
        return answered(request, Tables(tables=self._desk.all()), apart_from={"tables": {"__all__": _WHEN}})

    def _trust(self, request: Request) -> Response:
        try:
            trust = self._desk.trust(TableName(request.path_params["table"]))
        except UnknownTable as error:
            return problem_of(error, 404)
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
        try:
            found = self._restores.check(TableName(request.path_params["table"]), path)
        except UnknownTable as error:
            return problem_of(error, 404)
        return answered(request, found, apart_from=_WHEN)

    def _incident(self, request: Request) -> Response:
        try:
            view = incident_view(self._desk, IncidentId(request.path_params["incident"]))
        except UnknownIncident as error:
            return problem_of(error, 404)
        except CouldNotLook as error:
            return problem_of(error, 503)
        return answered(request, view)
