"""Runs a workspace: an HTTP and WebSocket server on loopback, in a thread of its own."""

import asyncio
import socket as sockets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from importlib.resources import files
from xml.sax.saxutils import escape

import uvicorn
from pydantic import BaseModel, ConfigDict, ValidationError
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import BaseRoute, Route, WebSocketRoute
from starlette.websockets import WebSocket

from bot.workspace.api.routes import web_api_routes
from bot.workspace.page_routes import page_routes
from bot.workspace.people import CannotDo, Payload
from bot.workspace.world import StoredMessage, World

_TYPES = {"css": "text/css", "js": "text/javascript", "svg": "image/svg+xml"}
_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data: https:; "
    "connect-src 'self' ws:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)


def static_routes(world: World) -> list[BaseRoute]:
    """`/`, `/page/…`, `/avatar/…`, `/files/…` and the socket of Socket Mode."""

    async def page(_request: Request) -> Response:
        return HTMLResponse(_page_file("index.html"), headers={"Content-Security-Policy": _POLICY})

    async def asset(request: Request) -> Response:
        name = request.path_params["name"]
        kind = name.rpartition(".")[2]
        source = files("bot.workspace") / "page" / name
        if kind not in _TYPES or not source.is_file():
            return PlainTextResponse("not found", status_code=404)
        headers = {"Cache-Control": "no-cache", "X-Content-Type-Options": "nosniff"}
        return Response(source.read_text("utf-8"), media_type=_TYPES[kind], headers=headers)

    async def avatar(request: Request) -> Response:
        person = world.directory.people.get(request.path_params["user"])
        initials, color = (person.initials, person.color) if person else ("?", world.cast.app.color)
        svg = (
            '<svg xmlns="http://www.w3.org/2000/svg" width="192" height="192">'
            f'<rect width="192" height="192" rx="36" fill="{escape(color)}"/>'
            '<text x="96" y="120" font-family="sans-serif" font-size="76" fill="#fff" text-anchor="middle">'
            f"{escape(initials)}</text></svg>"
        )
        return Response(svg, media_type=_TYPES["svg"])

    async def uploaded(request: Request) -> Response:
        file = world.files.find(request.path_params["file_id"])
        if file is None or file.content is None:
            return PlainTextResponse("not found", status_code=404)
        headers = {"Content-Disposition": "attachment", "X-Content-Type-Options": "nosniff"}
        return Response(file.content, media_type=file.mimetype, headers=headers)

    async def socket_mode(socket: WebSocket) -> None:
        await world.sockets.serve(socket)

    return [
        Route("/", page),
        Route("/archives/{channel}/{ts}", page),
        Route("/page/{name}", asset),
        Route("/avatar/{user}.svg", avatar),
        Route("/files/{file_id}/{name}", uploaded),
        WebSocketRoute("/link/", socket_mode),
    ]


def _page_file(name: str) -> str:
    return (files("bot.workspace") / "page" / name).read_text("utf-8")


class Posted(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")

    text: str = ""
    username: str = "incoming-webhook"
    attachments: tuple[Payload, ...] = ()
    blocks: tuple[Payload, ...] = ()


def incoming_routes(world: World) -> list[Route]:
    """`/services/{channel}`; Slack's end with a secret, this one is on loopback."""

    async def post(request: Request) -> Response:
        try:
            posted = Posted.model_validate_json(await request.body())
            channel = world.directory.channel(request.path_params["channel"])
        except ValidationError:
            return PlainTextResponse("invalid_payload", 400)
        except CannotDo as refused:
            return PlainTextResponse(refused.code, 404)
        if not (posted.text or posted.attachments or posted.blocks):
            return PlainTextResponse("no_text", 400)
        world.conversations.add(
            StoredMessage(
                channel=channel.id,
                ts=world.conversations.next_ts(),
                user=posted.username,
                username=posted.username,
                bot_id="B0WEBH00K1",
                subtype="bot_message",
                text=posted.text,
                attachments=posted.attachments,
                blocks=posted.blocks,
            )
        )
        return PlainTextResponse("ok")

    return [Route("/services/{channel}", post, methods=["POST"])]


_NEWEST = 200


def wire_route(world: World) -> Route:
    """What passes between Slack and the app, for the page."""

    async def wire(_request: Request) -> Response:
        newest = world.wire.entries()[-_NEWEST:]
        return JSONResponse({"entries": [entry.model_dump(mode="json") for entry in newest]})

    return Route("/_page/wire", wire)


START_S = 10.0
LOOPBACK = "127.0.0.1"


class WorkspaceServer:
    """One server of one world; `running` keeps it up for the length of a `with`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._server: uvicorn.Server | None = None

    @contextmanager
    def running(self, port: int) -> Iterator[str]:
        """The address while the server is up; a port of 0 takes a free one."""
        # named as TCP: asyncio turns Nagle's delay off (40 ms an answer) only where the protocol is stated
        with sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM, sockets.IPPROTO_TCP) as listening:
            listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            _bind(listening, port)
            url = f"http://{LOOPBACK}:{listening.getsockname()[1]}"
            self._world.url = url
            thread = threading.Thread(target=self._run, args=(listening,), name="slack-workspace", daemon=True)
            thread.start()
            self._wait_until_started(thread)
            try:
                yield url
            finally:
                self._stop()
                thread.join(timeout=START_S)

    def _run(self, listening: sockets.socket) -> None:
        asyncio.run(self._serve(listening))

    async def _serve(self, listening: sockets.socket) -> None:
        self._world.loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            _application(self._world),
            log_level="error",
            access_log=False,
            lifespan="off",
            ws="websockets-sansio",
            timeout_graceful_shutdown=1,
        )
        self._server = uvicorn.Server(config)
        self._world.sockets.abort = self._abort
        await self._server.serve(sockets=[listening])
        self._world.deliveries.cancel_all()
        await self._world.signed_http.close()

    def _abort(self, socket: WebSocket) -> None:
        server = self._server
        connections: Iterable[object] = () if server is None else tuple(server.server_state.connections)
        for connection in connections:
            if socket.client is not None and getattr(connection, "client", None) == tuple(socket.client):
                transport = getattr(connection, "transport", None)
                if isinstance(transport, asyncio.Transport):
                    transport.abort()

    def _wait_until_started(self, thread: threading.Thread) -> None:
        deadline = time.monotonic() + START_S
        while not (self._server and self._server.started):
            if not thread.is_alive() or time.monotonic() > deadline:
                raise RuntimeError(
                    f"The workspace did not start: expected a server within {START_S:.0f} s, found none. "
                    "Look at the log above, and whether the port is free."
                )
            time.sleep(0.005)

    def _stop(self) -> None:
        if self._server is not None:
            self._server.should_exit = True


def _bind(listening: sockets.socket, port: int) -> None:
    try:
        listening.bind((LOOPBACK, port))
    except OSError as error:
        raise OSError(
            error.errno,
            f"The workspace cannot listen on {LOOPBACK}:{port}: expected a free port, found {error.strerror!r}. "
            "End what uses it, or choose another port.",
        ) from error


_HOSTS = (LOOPBACK, "localhost")
"""The names by which a browser may ask; without this a page elsewhere could reach it under a name of its own."""


def _application(world: World) -> Starlette:
    return Starlette(
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=_HOSTS, www_redirect=False)],
        routes=[
            *web_api_routes(world),
            wire_route(world),
            *incoming_routes(world),
            *page_routes(world),
            *static_routes(world),
        ],
    )
