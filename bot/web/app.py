"""The ASGI application: pages, API and MCP server behind one rule of who may read."""

import secrets
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import structlog
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from bot.domain.errors import WaterlineError
from bot.service.record import Records
from bot.service.trust import TrustDesk
from bot.web.access import ALERTS, Access, Doorkeeper
from bot.web.agents import agents_app, agents_server
from bot.web.alerts import AlertRoutes
from bot.web.answers import json_text, problem_of, wants_page
from bot.web.api import Api
from bot.web.exports import Exports
from bot.web.openapi import openapi_json
from bot.web.pages import Names, Pages

log = structlog.get_logger(__name__)
_LOOPBACK = ["localhost", "127.0.0.1", "[::1]", "::1"]


class _NotThere(WaterlineError):
    """Raised as an answer: the address or the method does not exist here."""


def web_app(
    desk: TrustDesk,
    records: Records,
    content: Path,
    access: Access,
    names: Names,
    alerts: AlertRoutes | None = None,
) -> Starlette:
    """Everything that can be read, and where alerts are told. `content`: folder of the record's templates."""
    pages = Pages(desk, records, content, names)
    described = openapi_json(alerts.kinds if alerts is not None else ())
    agents = agents_app(agents_server(desk)).router

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
            f"It is in the log under the reference {reference}; whether the table can be relied on is not known.",
            "Try again; if it stays so, tell the people who run this Waterline.",
        )
        return _answer(pages, request, 500, words)

    @asynccontextmanager
    async def lifespan(_app: Starlette) -> AsyncIterator[None]:
        async with agents.lifespan_context(agents):
            yield

    return Starlette(
        routes=[
            *pages.routes,
            *Exports(desk, records, pages.refusal).routes,
            *Api(desk).routes,
            Route("/v1/openapi.json", describe),
            *(alerts.routes if alerts is not None else ()),
            Route("/mcp", agents),
        ],
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_hosts(access)), Middleware(Doorkeeper, access)],
        exception_handlers={HTTPException: refused, Exception: crashed},
        lifespan=lifespan,
    )


def _answer(pages: Pages, request: Request, status: int, error: WaterlineError) -> Response:
    return pages.refusal(status, error) if wants_page(request.url.path) else problem_of(error, status)


def _in_words(request: Request, status: int) -> WaterlineError:
    if status == 405 and request.url.path.startswith(ALERTS):
        return _NotThere(f"{request.method} is not done here.", "Alerts are told at this address.", "Use POST.")
    if status == 405:
        return _NotThere(
            f"{request.method} is not done here.", "Everything at this address can only be read.", "Use GET."
        )
    return _NotThere(
        "There is nothing at this address.", "Expected a table's or an incident's.", "Begin at the overview, /."
    )


def _hosts(access: Access) -> list[str]:
    """Where nothing is asked of whoever comes, a page elsewhere must not reach it under a name of its own."""
    is_guarded = access.token is not None or access.web.identity_header is not None
    return ["*"] if is_guarded else [*_LOOPBACK, access.web.host]
