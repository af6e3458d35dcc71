"""Slack over HTTP: signed requests at `/slack/events`.

Bolt verifies the signature and that it is at most five minutes old; what it would stumble over is turned away before
it, and a request that is sent again within that time is the same delivery in the inbox.
"""

import structlog
from prometheus_client import Histogram
from slack_bolt import App
from slack_bolt.adapter.starlette import SlackRequestHandler
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import Message

log = structlog.get_logger(__name__)

_LARGEST = 1024 * 1024
"""Bytes of one request. A form with every field full is a few tens of thousands."""
_UNSIGNED = "This address accepts only requests signed by Slack.\n"


def http_app(app: App, took: Histogram) -> Starlette:
    """An ASGI app for commands, interactivity and events, all at one address. `took` times each delivery."""
    handler = SlackRequestHandler(app)

    async def events(request: Request) -> Response:
        stamp = request.headers.get("x-slack-request-timestamp", "")
        if not _is_number(stamp):
            return PlainTextResponse(_UNSIGNED, status_code=401)
        whole = await _read(request)
        if whole is None:
            return PlainTextResponse(f"A request may have {_LARGEST} bytes.\n", status_code=413)
        with took.time():
            answer = await handler.handle(whole)
        if answer.status_code == 401:
            log.warning("a request was refused: stale, or not signed with slack_signing_secret")
        return answer

    return Starlette(routes=[Route("/slack/events", events, methods=["POST"])])


def _is_number(stamp: str) -> bool:
    """slack_sdk (3.47) reads the stamp with `int`, whose ValueError would end in an answer 500."""
    return stamp.isascii() and stamp.isdigit() and len(stamp) <= 12


async def _read(request: Request) -> Request | None:
    """The request with its body in hand; None if it is too large, and then the rest is not read."""
    body = bytearray()
    async for chunk in request.stream():
        body += chunk
        if len(body) > _LARGEST:
            return None

    async def receive() -> Message:
        return {"type": "http.request", "body": bytes(body), "more_body": False}

    return Request(request.scope, receive)
