"""Real HTTP servers on loopback for the length of a `with`."""

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import uvicorn
from moto.server import ThreadedMotoServer
from starlette.applications import Starlette


@contextmanager
def served(app: Starlette, **tls: str | Path | int) -> Iterator[str]:
    """The server's address; `tls`: certificate and key, as uvicorn takes them."""
    # named as TCP: asyncio turns Nagle's delay off (40 ms an answer) only where the protocol is stated
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.bind(("127.0.0.1", 0))
    config = uvicorn.Config(app, log_level="critical", ws="none", lifespan="off", timeout_graceful_shutdown=1, **tls)  # type: ignore[arg-type]
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    deadline = time.monotonic() + 60
    while not server.started and time.monotonic() < deadline:
        time.sleep(0.005)
    assert server.started
    try:
        yield f"http{'s' * bool(tls)}://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        thread.join(5)
        listening.close()


@contextmanager
def handled(handler: type[BaseHTTPRequestHandler]) -> Iterator[str]:
    """The address of a server whose requests this class answers, each in a thread of its own."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join(5)


@contextmanager
def aws_of_moto() -> Iterator[str]:
    """The address of moto's server: S3, Glue, and what else it knows."""
    server = ThreadedMotoServer("127.0.0.1", 0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    try:
        yield f"http://{host}:{port}"
    finally:
        server.stop()


def unused_address() -> str:
    """An address on loopback where nobody listens."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{free.getsockname()[1]}"
