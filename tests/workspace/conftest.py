"""A workspace that is served on loopback, and real Bolt apps that connect to it."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from bot.workspace import Actor, Workspace

Connect = Callable[..., SocketModeHandler]


@pytest.fixture
def ws() -> Iterator[Workspace]:
    """A fresh workspace."""
    with Workspace().serve() as served:
        yield served


@pytest.fixture
def client(ws: Workspace) -> WebClient:
    """The bot's Web API client."""
    return WebClient(ws.bot_token, base_url=ws.api_url)


@pytest.fixture
def app(client: WebClient) -> App:
    """A Bolt app without listeners."""
    return App(client=client)


@pytest.fixture
def connect(ws: Workspace, app: App, hang_up: Callable[[Workspace, SocketModeHandler], None]) -> Iterator[Connect]:
    """Connects the app by Socket Mode; may be called more than once for more connections."""
    with ExitStack() as closing:

        def connected(ping_interval: float = 0.1) -> SocketModeHandler:
            before = ws.connected
            app_client = WebClient(ws.app_token, base_url=ws.api_url)
            handler = SocketModeHandler(app, ws.app_token, web_client=app_client, ping_interval=ping_interval)
            closing.callback(hang_up, ws, handler)
            handler.connect()  # type: ignore[no-untyped-call]  # slack_bolt leaves it without types
            eventually(lambda: ws.connected > before)
            return handler

        yield connected


@pytest.fixture(scope="session")
def hang_up() -> Iterator[Callable[[Workspace, SocketModeHandler], None]]:
    """Ends a client without waiting: its `close` sits out a read of up to three seconds and a queue's second."""
    closing: list[threading.Thread] = []

    def end(ws: Workspace, handler: SocketModeHandler) -> None:
        assert handler.client is not None
        handler.client.auto_reconnect_enabled = False
        ws.faults.drops_sockets()
        closing.append(threading.Thread(target=_close, args=(handler,)))
        closing[-1].start()

    yield end

    for thread in closing:
        thread.join()


def _close(handler: SocketModeHandler) -> None:
    """Its own reader can end the connection between the question whether there is one and its close of it."""
    with suppress(OSError, AttributeError):
        handler.close()  # type: ignore[no-untyped-call]  # slack_bolt leaves it without types


@pytest.fixture
def ana(ws: Workspace) -> Actor:
    """The responder."""
    return ws.person("ana")


@pytest.fixture
def ben(ws: Workspace) -> Actor:
    """An approver."""
    return ws.person("ben")


def eventually(holds: Callable[[], bool], timeout_s: float = 10.0) -> None:
    """Waits until something holds; fails at the deadline."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "what was awaited did not come"
        time.sleep(0.01)
