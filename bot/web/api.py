"""The API for programs: four reads. `/v1/openapi.json` describes it."""

from pydantic import Field
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import CouldNotLook, UnknownIncident, UnknownTable
from bot.domain.ids import IncidentId, TableName
from bot.domain.record import Record
from bot.domain.trust import Trust
from bot.service.trust import TrustDesk
from bot.web.answers import answered, problem_of
from bot.web.incident_view import incident_view

_WHEN = {"checked_at"}


class Tables(Record):
    """Every watched table."""

    tables: tuple[Trust, ...] = Field(description="In the order of the configuration.")


class Health(Record):
    """Whether this server can answer at all."""

    status: str = Field(description="`ok`, or what cannot be read.")
    tables: int = Field(ge=0, description="Tables that are watched.")


class Api:
    """Handlers; each runs in a thread of the server's pool, because catalog and record block."""

    def __init__(self, desk: TrustDesk) -> None:
        self._desk = desk

    @property
    def routes(self) -> list[Route]:
        """All reads but the description of them."""
        return [
            Route("/v1/health", self._health),
            Route("/v1/tables", self._tables),
            Route("/v1/tables/{table}/trust", self._trust),
            Route("/v1/incidents/{incident}", self._incident),
        ]

    def _health(self, request: Request) -> Response:
        try:
            self._desk.incidents()
        except CouldNotLook as error:
            return problem_of(error, 503)
        return answered(request, Health(status="ok", tables=len(self._desk.setups)))

    def _tables(self, request: Request) -> Response:
        return answered(request, Tables(tables=self._desk.all()), apart_from={"tables": {"__all__": _WHEN}})

    def _trust(self, request: Request) -> Response:
        try:
            trust = self._desk.trust(TableName(request.path_params["table"]))
        except UnknownTable as error:
            return problem_of(error, 404)
        return answered(request, trust, apart_from=_WHEN)

    def _incident(self, request: Request) -> Response:
        try:
            view = incident_view(self._desk, IncidentId(request.path_params["incident"]))
        except UnknownIncident as error:
            return problem_of(error, 404)
        except CouldNotLook as error:
            return problem_of(error, 503)
        return answered(request, view)
