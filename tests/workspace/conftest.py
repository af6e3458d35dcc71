"""A workspace that is served on loopback, and real Bolt apps that connect to it."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest
from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

from bot.workspace import Actor, Workspace
from tests.ended_aside import ended_aside
from tests.hanging_up import HangUp, hang_up
from tests.patient_slack import PATIENT

__all__ = ["hang_up"]
Connect = Callable[..., SocketModeHandler]


@pytest.fixture
def ws() -> Iterator[Workspace]:
    """A fresh workspace."""
    with ended_aside(Workspace(rules=PATIENT).serve()) as served:
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
def connect(ws: Workspace, app: App, hang_up: HangUp) -> Iterator[Connect]:
    """Connects the app by Socket Mode; may be called more than once for more connections."""
    with ExitStack() as closing:

        def connected(ping_interval: float = 5.0) -> SocketModeHandler:
            before = ws.connected
            app_client = WebClient(ws.app_token, base_url=ws.api_url)
            handler = SocketModeHandler(app, ws.app_token, web_client=app_client, ping_interval=ping_interval)
            closing.callback(hang_up, ws, handler)
            handler.connect()  # type: ignore[no-untyped-call]  # slack_bolt leaves it without types
            eventually(lambda: ws.connected > before)
            return handler

        yield connected


@pytest.fixture
def ana(ws: Workspace) -> Actor:
    """The responder."""
    return ws.person("ana")


@pytest.fixture
def ben(ws: Workspace) -> Actor:
    """An approver."""
    return ws.person("ben")


def eventually(holds: Callable[[], bool], timeout_s: float = 60.0) -> None:
    """Waits until something holds; fails at the deadline."""
    deadline = time.monotonic() + timeout_s
    while not holds():
        assert time.monotonic() < deadline, "what was awaited did not come"
        time.sleep(0.01)
