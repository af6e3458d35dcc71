"""The ASGI application (pages, API and MCP server behind one rule of who may read) and how it is served."""

import secrets
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, closing, contextmanager
from pathlib import Path

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.observation.errors import CouldNotKeep, CouldNotLook, UnknownIncident, UnknownTable, WaterlineError
from bot.service.record import Records
from bot.service.restoring import RestoreService
from bot.service.trust import TrustService
from bot.web.access import ALERTS, Access, Doorkeeper
from bot.web.alerts import AlertRoutes
from bot.web.pages import Names, Pages
from bot.web.probes import NOT_OF_BOT, Check, OfBot, Probes
from bot.web.responses import json_text, problem_of, wants_page
from bot.web.serving import Address
from bot.web.trust_api import Api, openapi_json

log = structlog.get_logger(__name__)
_STATUS = {UnknownTable: 404, UnknownIncident: 404, CouldNotLook: 503, CouldNotKeep: 503}
_LOOPBACK = ["localhost", "127.0.0.1", "[::1]", "::1"]


class _NotThere(WaterlineError):
    """Raised as an answer: the address or the method does not exist here."""


def web_app(
    trusts: TrustService,
    restores: RestoreService,
    records: Records,
    content: Path,
    access: Access,
    names: Names,
    alerts: AlertRoutes | None = None,
    checks: Mapping[str, Check] | None = None,
    bot: OfBot = NOT_OF_BOT,
) -> Starlette:
    """Everything that can be read, and where alerts are told. `content`: folder of the record's templates. `checks`:
    what has to work, beside catalog and record, for this process to be ready. `bot`: more numbers for Prometheus."""
    from bot.web.mcp_server import agents_app, agents_server  # 33 MB, only where pages are served

    pages = Pages(trusts, records, content, names)
    described = openapi_json(alerts.kinds if alerts is not None else ())
    agents = agents_app(agents_server(trusts)).router

    async def describe(request: Request) -> Response:
        return json_text(request, described)

    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        answer = _answer(pages, request, error.status_code, _in_words(request, error.status_code))
        answer.headers.update(error.headers or {})
        return answer

    async def crashed(request: Request, error: Exception) -> Response:
        reference = secrets.token_hex(4)
        log.error("page failed", reference=reference, path=request.url.path, problem=repr(error))
        words = _NotThere(
            "Something went wrong on our side.",
            f"The log has it under the reference {reference}. Whether the table is trusted is not known.",
            "Try again. If it fails again, give the reference to the people who run Waterline.",
        )
        return _answer(pages, request, 500, words)

    async def foreseen(request: Request, error: Exception) -> Response:
        assert isinstance(error, WaterlineError)
        status = next(status for kind, status in _STATUS.items() if isinstance(error, kind))
        return _answer(pages, request, status, error)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with agents.lifespan_context(agents):
            yield

    return Starlette(
        routes=[
            *pages.routes,
            *Api(trusts, restores).routes,
            *Probes(trusts, checks or {}, bot).routes,
            Route("/v1/openapi.json", describe),
            *(alerts.routes if alerts is not None else ()),
            Route("/mcp", agents),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_hosts(access)), Middleware(Doorkeeper, access)],
        exception_handlers={HTTPException: refused, Exception: crashed, **dict.fromkeys(_STATUS, foreseen)},
        lifespan=lifespan,
    )


def _answer(pages: Pages, request: Request, status: int, error: WaterlineError) -> Response:
    return pages.refusal(status, error) if wants_page(request.url.path) else problem_of(error, status)


def _in_words(request: Request, status: int) -> WaterlineError:
    if status == 405 and request.url.path.startswith(ALERTS):
        return _NotThere(f"{request.method} is not allowed here.", "This address takes alerts.", "Use POST.")
    if status == 405:
        return _NotThere(f"{request.method} is not allowed here.", "This address can only be read.", "Use GET.")
    return _NotThere(
        "There is no page at this address.", "Expected the address of a table or an incident.", "Open the overview: /."
    )


def _hosts(access: Access) -> list[str]:
    """Where nothing is asked of whoever comes, a page elsewhere must not reach it under a name of its own."""
    is_guarded = access.token is not None or access.web.identity_header is not None
    return ["*"] if is_guarded else [*_LOOPBACK, access.web.host]


@contextmanager
def serving(app: Starlette, host: str, port: int) -> Iterator[str]:
    """The address while the server is up; port 0 takes a free one. Raises BadConfiguration if it cannot listen."""
    with closing(Address(host, port)) as address:
        address.shows(app)
        yield address.url
