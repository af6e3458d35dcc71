"""Ends Socket Mode clients without waiting for them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

import pytest
from slack_bolt.adapter.socket_mode import SocketModeHandler

from bot.workspace import Workspace

HangUp = Callable[[Workspace, SocketModeHandler], None]
_PATIENCE_S = 10.0


@pytest.fixture(scope="session")
def hang_up() -> Iterator[HangUp]:
    """`hang_up(slack, socket)`: a client's own `close` sits out a read of up to three seconds and a queue's second.

    A close that hangs (it waits for each of the client's threads without a limit) holds up no test run,
    and many hold it up no longer than one."""
    closing: list[threading.Thread] = []

    def end(slack: Workspace, socket: SocketModeHandler) -> None:
        assert socket.client is not None
        socket.client.auto_reconnect_enabled = False
        slack.faults.drops_sockets()
        closing.append(threading.Thread(target=_close, args=(socket,), daemon=True))
        closing[-1].start()

    yield end

    given_up = time.monotonic() + _PATIENCE_S
    for thread in closing:
        thread.join(max(0.0, given_up - time.monotonic()))


def _close(socket: SocketModeHandler) -> None:
    """Its own reader can end the connection between the question whether there is one and its close of it."""
    with suppress(OSError, AttributeError):
        socket.close()  # type: ignore[no-untyped-call]  # slack_bolt leaves it without types
