"""What cannot be undercut: a Bolt app whose listener only acknowledges, and a bare socket that does not even parse.

As a program (`python -m tests.bench.floor KIND API_URL`) it is that app; tokens come from the environment.
"""

import json
import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from slack_bolt import App
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient
from websockets.sync.client import connect

from bot.workspace import Workspace
from tests.bench.scene import eventually

_RECEIVE_BYTES = 64 * 1024
"""As Waterline's own: with slack_sdk's 1024 bytes a read (3.47), a burst can end in a RecursionError, and no click is
acknowledged any more."""


@contextmanager
def floor_app(kind: str, workspace: Workspace) -> Iterator[None]:
    """The app as a process of its own, connected; `kind` is `bolt` or `socket`."""
    environment = {**os.environ, "SLACK_BOT_TOKEN": workspace.bot_token, "SLACK_APP_TOKEN": workspace.app_token}
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.floor", kind, workspace.api_url], env=environment)
    try:
        eventually(lambda: workspace.connected > 0, 20)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def _bolt(api_url: str) -> None:
    app = App(
        client=WebClient(token=os.environ.pop("SLACK_BOT_TOKEN"), base_url=api_url),
        token_verification_enabled=False,
        process_before_response=True,
    )
    app.action({"type": "block_actions", "action_id": re.compile(".*")})(lambda ack: ack())
    app_token = os.environ["SLACK_APP_TOKEN"]
    handler = SocketModeHandler(
        app, app_token, web_client=WebClient(token=app_token, base_url=api_url), receive_buffer_size=_RECEIVE_BYTES
    )
    handler.connect()  # type: ignore[no-untyped-call]
    threading.Event().wait()


def _socket(api_url: str) -> None:
    client = WebClient(token=os.environ["SLACK_APP_TOKEN"], base_url=api_url)
    with connect(client.apps_connections_open(app_token=os.environ["SLACK_APP_TOKEN"])["url"]) as socket:
        for message in socket:
            envelope = json.loads(message).get("envelope_id")
            if envelope:
                socket.send(json.dumps({"envelope_id": envelope}))


if __name__ == "__main__":
    {"bolt": _bolt, "socket": _socket}[sys.argv[1]](sys.argv[2])
