"""What cannot be undercut: a Bolt app whose listener only acknowledges.

As a program (`python -m tests.bench.floor API_URL`) it is that app; tokens come from the environment.
"""

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

from bot.workspace import Workspace
from tests.bench.scene import eventually

_RECEIVE_BYTES = 64 * 1024
"""As Waterline's own: with slack_sdk's 1024 bytes a read (3.47), a burst can end in a RecursionError, and no click is
acknowledged any more."""


@contextmanager
def floor_app(workspace: Workspace) -> Iterator[None]:
    """The app as a process of its own, connected."""
    environment = {**os.environ, "SLACK_BOT_TOKEN": workspace.bot_token, "SLACK_APP_TOKEN": workspace.app_token}
    process = subprocess.Popen([sys.executable, "-m", "tests.bench.floor", workspace.api_url], env=environment)
    try:
        eventually(lambda: workspace.connected > 0, 20)
        yield
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def main(api_url: str) -> None:
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


if __name__ == "__main__":
    main(sys.argv[1])
