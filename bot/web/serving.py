"""One address, from the first second to the last, and one application after another behind it."""

import asyncio
import socket
import threading
import time

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp

from bot.observation.errors import BadConfiguration
from bot.settings import WebSecrets, WebSettings, refuse_open_house

_START_S = 10.0


def lives(_request: Request) -> Response:
    """A process that answers lives."""
    return PlainTextResponse("ok\n")


def not_ready(because: str) -> Starlette:
    """What is answered before there is more, and at the end: it lives, and is not ready."""

    def ready(_request: Request) -> Response:
        return JSONResponse({"process": because}, 503)

    return Starlette(routes=[Route("/livez", lives), Route("/readyz", ready)])


class Address:
    """Raises BadConfiguration if it cannot listen. `close` may be called twice."""

    def __init__(self, host: str, port: int) -> None:
        """Port 0 takes a free one."""
        self._bound = _listening(host, port)
        shown = f"[{host}]" if ":" in host else host
        self.url = f"http://{shown}:{self._bound.getsockname()[1]}"
        self._server: uvicorn.Server | None = None
        self._thread: threading.Thread | None = None

    def shows(self, app: ASGIApp) -> None:
        """From now on this one answers. Who connects while one follows another waits for a moment."""
        self._end()
        server = uvicorn.Server(
            uvicorn.Config(
                app,
                log_level="warning",
                access_log=False,
                server_header=False,
                proxy_headers=False,
                timeout_graceful_shutdown=2,
            )
        )
        thread = threading.Thread(target=_run, args=(server, self._bound.dup()), name="web", daemon=True)
        thread.start()
        deadline = time.monotonic() + _START_S
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not server.started:
            raise BadConfiguration(
                "The pages cannot be served.", "Expected the server to start; it stopped.", "Read the log above."
            )
        self._server, self._thread = server, thread

    def close(self) -> None:
        self._end()
        self._bound.close()

    def _end(self) -> None:
        if self._server is not None and self._thread is not None:
            self._server.should_exit = True
            self._thread.join(timeout=_START_S)
        self._server = None


def address_of(settings: WebSettings) -> Address:
    """Where the pages are served. Raises BadConfiguration if anybody could read them."""
    refuse_open_house(settings, WebSecrets().waterline_web_token)
    return Address(settings.host, settings.port)


def _run(server: uvicorn.Server, bound: socket.socket) -> None:
    asyncio.run(server.serve(sockets=[bound]))


def _listening(host: str, port: int) -> socket.socket:
    """A bound socket. Named as TCP: only then does asyncio turn off Nagle's delay."""
    try:
        family, *_, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        bound = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
        bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        bound.bind(address)
    except OSError as error:
        raise BadConfiguration(
            f"Pages and probes cannot be served on {host}:{port}.",
            f"Expected a free port of this machine; found: {error}.",
            "Stop what uses this port, or set another `web.host` or `web.port`.",
        ) from error
    return bound
