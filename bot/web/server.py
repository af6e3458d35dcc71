"""Serves an application on one address, in a thread of its own, for the length of a `with`."""

import asyncio
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.applications import Starlette

from bot.domain.errors import BadConfiguration

_START_S = 10.0


@contextmanager
def serving(app: Starlette, host: str, port: int) -> Iterator[str]:
    """The address while the server is up; port 0 takes a free one. Raises BadConfiguration if it cannot listen."""
    with _listening(host, port) as bound:
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
        thread = threading.Thread(target=_run, args=(server, bound), name="web", daemon=True)
        thread.start()
        deadline = time.monotonic() + _START_S
        while not server.started and thread.is_alive() and time.monotonic() < deadline:
            time.sleep(0.01)
        if not server.started:
            raise BadConfiguration(
                "The pages could not be served.", "Expected the server to start; it ended.", "See the log above."
            )
        shown = f"[{host}]" if ":" in host else host
        try:
            yield f"http://{shown}:{bound.getsockname()[1]}"
        finally:
            server.should_exit = True
            thread.join(timeout=_START_S)


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
            f"The pages cannot be served on {host}:{port}.",
            f"Expected a free port of this machine; found: {error}.",
            "End what uses it, or set another `web.host` or `web.port`.",
        ) from error
    return bound
