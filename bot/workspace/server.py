"""Runs a workspace: an HTTP and WebSocket server on loopback, in a thread of its own."""

import asyncio
import socket as sockets
import threading
import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.websockets import WebSocket

from bot.workspace.api.routes import web_api_routes
from bot.workspace.control_routes import control_routes
from bot.workspace.incoming_routes import incoming_routes
from bot.workspace.page_routes import page_routes
from bot.workspace.response_routes import response_routes
from bot.workspace.static_routes import static_routes
from bot.workspace.world import World

START_S = 10.0
LOOPBACK = "127.0.0.1"
EVERYWHERE = "0.0.0.0"  # noqa: S104 - only compared with; whoever serves on it has asked for it


class WorkspaceServer:
    """One server of one world; `running` keeps it up for the length of a `with`."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._server: uvicorn.Server | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    @contextmanager
    def running(self, host: str, port: int) -> Iterator[str]:
        """The address while the server is up; a port of 0 takes a free one."""
        # named as TCP: asyncio turns Nagle's delay off (40 ms an answer) only where the protocol is stated
        with sockets.socket(sockets.AF_INET, sockets.SOCK_STREAM, sockets.IPPROTO_TCP) as listening:
            listening.setsockopt(sockets.SOL_SOCKET, sockets.SO_REUSEADDR, 1)
            _bind(listening, host, port)
            shown = LOOPBACK if host == EVERYWHERE else host
            url = f"http://{shown}:{listening.getsockname()[1]}"
            self._world.url = url
            thread = threading.Thread(
                target=self._run, args=(listening, _hosts(host)), name="slack-workspace", daemon=True
            )
            thread.start()
            self._wait_until_started(thread)
            try:
                yield url
            finally:
                self._stop()
                thread.join(timeout=START_S)

    def _run(self, listening: sockets.socket, hosts: list[str]) -> None:
        asyncio.run(self._serve(listening, hosts))

    async def _serve(self, listening: sockets.socket, hosts: list[str]) -> None:
        self.loop = asyncio.get_running_loop()
        config = uvicorn.Config(
            _application(self._world, hosts),
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


def _bind(listening: sockets.socket, host: str, port: int) -> None:
    try:
        listening.bind((host, port))
    except OSError as error:
        raise OSError(
            error.errno,
            f"The workspace cannot listen on {host}:{port}: expected a free port, found {error.strerror!r}. "
            "End what uses it, or choose another port.",
        ) from error


def _hosts(host: str) -> list[str]:
    """The names by which a browser may ask; without this a page elsewhere could reach it under a name of its own."""
    return ["*"] if host == EVERYWHERE else [host, LOOPBACK, "localhost"]


def _application(world: World, hosts: list[str]) -> Starlette:
    return Starlette(
        middleware=[Middleware(TrustedHostMiddleware, allowed_hosts=hosts, www_redirect=False)],
        routes=[
            *web_api_routes(world),
            *response_routes(world),
            *control_routes(world),
            *incoming_routes(world),
            *page_routes(world),
            *static_routes(world),
        ],
    )
