"""A proposal's page: all that is approved, and below it the forms of who may decide. Only POST decides."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from markupsafe import Markup, escape
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import (
    CouldNotKeep,
    CouldNotLook,
    JournalMoved,
    Refused,
    Superseded,
    UnknownIncident,
    WaterlineError,
)
from bot.domain.execution import ProposalView
from bot.domain.ids import IncidentId, ProposalId
from bot.domain.incident import Incident
from bot.service.trust import TrustDesk
from bot.web.access import Access
from bot.web.answers import own_form_page, unkept
from bot.web.bodies import body_of
from bot.web.decider import Decider, Said
from bot.web.decision_form import (
    MOST_BYTES,
    MOST_CHARACTERS,
    DecisionForm,
    elsewhere,
    must_be_complete,
    not_known,
    old_form,
    read_form,
    too_much,
)
from bot.web.own_forms import OwnForms
from bot.web.pages import Names, people_in
from bot.web.proposal_view import Asker, ProposalText, Typed

Refusal = Callable[[int, WaterlineError], Response]


@dataclass(frozen=True)
class Decisions:
    """What deciding needs; a server without it only shows proposals."""

    decider: Decider
    forms: OwnForms


class ProposalPages:
    """Handlers. Looking changes nothing."""

    def __init__(
        self,
        desk: TrustDesk,
        content: Path,
        access: Access,
        names: Names,
        refusal: Refusal,
        decisions: Decisions | None = None,
    ) -> None:
        """`content`: the folder of the record's templates, whose style the page shares."""
        self._desk = desk
        self._access = access
        self._names = names
        self._refusal = refusal
        self._decisions = decisions
        self._text = ProposalText(content)

    @property
    def routes(self) -> list[Route]:
        """One address, for looking and, where somebody may, for deciding."""
        path = "/incidents/{incident}/proposals/{proposal}"
        deciding = [Route(path, self._decide, methods=["POST"])] if self._decisions is not None else []
        return [Route(path, self._look, methods=["GET"]), *deciding]

    def _look(self, request: Request) -> Response:
        return self._page(request)

    async def _decide(self, request: Request) -> Response:
        assert self._decisions is not None
        if not self._decisions.forms.sent(request.headers):
            return self._turned_away(403, elsewhere(request, self._access.web.public_url))
        body = await body_of(request, MOST_BYTES)
        if body is None:
            return self._turned_away(413, too_much())
        return await run_in_threadpool(self._decided, request, body)

    def _decided(self, request: Request, body: bytes) -> Response:
        """A browser is sent to look again, so that loading anew decides nothing a second time: by the last part of the
        path alone, as a proxy may hold the pages below a path that is not seen here."""
        assert self._decisions is not None
        asker, form = self._asker(request), None
        try:
            _incident, view = self._found(request)
            form = read_form(request, body)
            if asker.user is None or asker.identity is None:
                return self._page(request, 403, problem=not_known(), form=form)
            bound = self._bound_to(asker, view, form.digest)
            if not self._decisions.forms.made(form.token, *bound):
                return self._page(request, 403, problem=old_form(), form=form)
            must_be_complete(form)
            said = Said(act=form.act, digest=form.digest, reason=form.reason)
            self._decisions.decider.decide(self._incident_id(request), view, said, asker.user, asker.identity)
        except UnknownIncident as error:
            return self._turned_away(404, error)
        except (Refused, Superseded, CouldNotLook, CouldNotKeep, JournalMoved) as error:
            return self._page(request, _status(error), problem=error, form=form)
        return unkept(Response(status_code=303, headers={"Location": str(request.path_params["proposal"])}))

    def _page(
        self,
        request: Request,
        status: int = 200,
        *,
        problem: WaterlineError | None = None,
        form: DecisionForm | None = None,
    ) -> Response:
        """Where it cannot be read any more, the newest problem is the answer."""
        try:
            incident, view = self._found(request)
        except UnknownIncident as error:
            return self._turned_away(404, error)
        except (CouldNotLook, CouldNotKeep) as error:
            return self._turned_away(503, error)
        asker, decisions = self._asker(request), self._decisions
        offer = token = None
        if decisions is not None and asker.user is not None:
            offer = decisions.decider.offer(incident, view, asker.user)
            token = decisions.forms.token(*self._bound_to(asker, view, view.proposal.digest))
        asked = [*people_in(incident), *([asker.user] if asker.user is not None else [])]
        html = self._text.html(
            incident,
            view,
            names=self._names(dict.fromkeys(asked)),
            asker=asker,
            offer=offer,
            token=token,
            problem=problem,
            typed=Typed(form.act, _verbatim(form.reason)) if form is not None else None,
            most=MOST_CHARACTERS,
        )
        setup = self._desk.setups.get(incident.opened.table)
        return own_form_page(html if setup is None else setup.contract.veiled(html), status)

    def _found(self, request: Request) -> tuple[Incident, ProposalView]:
        """Raises UnknownIncident, also for a private incident and for a proposal that it does not have."""
        incident = self._desk.incident(self._incident_id(request))
        view = incident.proposals.get(ProposalId(request.path_params["proposal"]))
        if view is None:
            raise UnknownIncident(
                f"There is no such proposal in {incident.id}.", "", "The incident's page leads to what is proposed."
            )
        return incident, view

    def _asker(self, request: Request) -> Asker:
        client = request.client.host if request.client is not None else ""
        identity = self._access.identity(request.headers, client)
        user = self._decisions.decider.user(identity) if self._decisions is not None else None
        return Asker(identity=identity, user=user, decides_here=self._decisions is not None)

    def _bound_to(self, asker: Asker, view: ProposalView, digest: str) -> tuple[str, ...]:
        return (asker.identity or "", asker.user or "", view.proposal.id, digest)

    def _incident_id(self, request: Request) -> IncidentId:
        return IncidentId(request.path_params["incident"])

    def _turned_away(self, status: int, error: WaterlineError) -> Response:
        return unkept(self._refusal(status, error))


def _verbatim(text: str) -> Markup:
    """As it was typed, line for line."""
    return Markup(escape(text))  # noqa: S704 - escaped


def _status(error: WaterlineError) -> int:
    match error:
        case Refused():
            return 422
        case Superseded():
            return 409
        case _:
            return 503
