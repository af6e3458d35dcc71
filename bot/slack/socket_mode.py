"""A Socket Mode connection that acknowledges what it has received before it ends.

slack_sdk's client (3.47) closes its socket first: what was being stored then is stored and cannot be acknowledged any
more, and what it had read but not yet handed on is dropped. Slack shows a warning to who clicked, for a click that is
done at the next start, or never.
"""

import threading
from contextlib import suppress
from typing import Any

from prometheus_client import Histogram
from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk.socket_mode.builtin import SocketModeClient
from slack_sdk.socket_mode.request import SocketModeRequest

_LAST_ACKS_S = 2.0
"""An acknowledgement that takes longer is of no use: Slack waits three seconds."""


class AcknowledgingSocket(SocketModeHandler):
    """Bolt's own handler; `close` is to be called once."""

    def __init__(self, *given: Any, took: Histogram, **named: Any) -> None:
        """`took`: how long each one took."""
        super().__init__(*given, **named)
        self._took = took
        self._handled = threading.Condition()
        self._under_way = 0
        """Envelopes that were read and are not yet handled. For a moment one too few, where one is handled at once."""
        self.client.on_message_listeners.append(self._received)

    def handle(self, client: SocketModeClient, req: SocketModeRequest) -> None:  # type: ignore[override]
        """See Bolt; acknowledges at its end."""
        try:
            with self._took.time():
                super().handle(client, req)
        finally:
            with self._handled:
                self._under_way -= 1
                self._handled.notify_all()

    def close(self) -> None:
        """Acknowledge what was received, for two seconds at most, and end.

        slack_sdk's own reader can end the connection between its question whether there is one and its close of it:
        an AttributeError (seen on 3.47, under load).
        """
        with self._handled:
            self._handled.wait_for(lambda: self._under_way <= 0, timeout=_LAST_ACKS_S)
        with suppress(OSError, AttributeError):
            super().close()  # type: ignore[no-untyped-call]

    def _received(self, message: str) -> None:
        if '"envelope_id"' in message:
            with self._handled:
                self._under_way += 1
