"""Slack over HTTP: signed requests at `/slack/events`, and a health page."""

from slack_bolt import App
from slack_bolt.adapter.starlette import SlackRequestHandler
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.routing import Route


def http_app(app: App) -> Starlette:
    """An ASGI app for commands, interactivity and events, all at one address."""
    handler = SlackRequestHandler(app)

    async def events(request: Request) -> Response:
        return await handler.handle(request)

    async def health(_request: Request) -> Response:
        return PlainTextResponse("ok\n")

    return Starlette(routes=[Route("/slack/events", events, methods=["POST"]), Route("/health", health)])
