"""The record of an incident as a file: what its page shows, with every entry as it was stored and its proof."""

from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import CouldNotLook, UnknownIncident, WaterlineError
from bot.domain.ids import IncidentId
from bot.service.record import Records
from bot.service.trust import TrustDesk
from bot.web.answers import file

_FORMS = {"html": "text/html", "md": "text/markdown", "json": "application/json"}
Refusal = Callable[[int, WaterlineError], Response]


class Exports:
    """Handlers; each runs in a thread of the server's pool."""

    def __init__(self, desk: TrustDesk, records: Records, refusal: Refusal) -> None:
        """`refusal` makes the page that says why there is no file."""
        self._desk = desk
        self._refusal = refusal
        self._write = {"html": records.html, "md": records.markdown, "json": records.json}

    @property
    def routes(self) -> list[Route]:
        """One address a form."""
        return [Route(f"/incidents/{{incident}}/record.{form}", self._export, name=form) for form in _FORMS]

    def _export(self, request: Request) -> Response:
        form = request.url.path.rpartition(".")[2]
        try:
            incident = self._desk.incident(IncidentId(request.path_params["incident"]))
            lines = self._desk.lines(incident)
        except UnknownIncident as error:
            return self._refusal(404, error)
        except CouldNotLook as error:
            return self._refusal(503, error)
        return file(self._write[form](incident, lines=lines), f"{incident.id}.{form}", _FORMS[form])
