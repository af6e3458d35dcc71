"""Takes what Slack delivers from the first second on, while the rest of the bot is still being imported and built.

A start takes seconds (catalogs and Spark's client are large), and a click that meets no connection is lost: Slack
shows a warning to who clicked and brings only events again.

Acknowledgements come first: what can wait does, while Slack's deliveries arrive in a burst.
"""

import threading
import time
from collections import deque
from collections.abc import Callable

import uvicorn
from prometheus_client import Histogram
from slack_bolt import App
from slack_sdk import WebClient

from bot.ports import Clock, Inbox, Outbox
from bot.slack.app import build_app
from bot.slack.form_opener import FormOpener
from bot.slack.http import http_app
from bot.slack.socket_mode import AcknowledgingSocket

_RECEIVE_BYTES = 64 * 1024
"""slack_sdk's client (3.47) hands envelopes on only when a read ends where a frame ends, and recurses until then:
with its 1024 bytes a read, a burst of clicks waits for its last one and can end in a RecursionError."""

_PONG_WITHIN_S = 10.0
"""With a ping every second. slack_sdk connects anew after five; this holds even where the thread that does so hangs."""

_AT_ONCE = 64
"""Deliveries that are being stored at the same time; those that arrive together share one commit."""


def acknowledgement_times() -> Histogram:
    """From a delivery's arrival to the end of its acknowledgement; its last bounds are what Slack waits for."""
    bounds = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2, 3)
    meaning = "Time until a delivery of Slack was stored and acknowledged."
    return Histogram("waterline_acknowledgement_seconds", meaning, buckets=bounds, registry=None)


class SlackGateway:
    """The Bolt app with its Socket Mode connection or HTTP server. What comes before `leads_to` waits in the inbox."""

    def __init__(
        self, client: WebClient, inbox: Inbox, outbox: Outbox, clock: Clock, *, signing_secret: str | None
    ) -> None:
        self._on_stored: Callable[[], None] | None = None
        self._socket: AcknowledgingSocket | None = None
        self._server: uvicorn.Server | None = None
        self._serving: threading.Thread | None = None
        self.took = acknowledgement_times()
        self.forms = FormOpener(client, outbox, clock)
        self.app: App = build_app(
            client, inbox=inbox, forms=self.forms, clock=clock, on_stored=self._stored, signing_secret=signing_secret
        )

    def leads_to(self, on_stored: Callable[[], None]) -> None:
        """From now on `on_stored` is called for each delivery that was stored."""
        self._on_stored = on_stored
        self.forms.learns_own_team()

    def connect(self, app_token: str, base_url: str) -> None:
        """Open Socket Mode; Slack's events come from now on.

        slack_sdk notices a reset connection after five pings without an answer (measured on 3.47), so it pings
        every second: at most five seconds are lost, and Slack delivers again what was not acknowledged.
        """
        self._socket = AcknowledgingSocket(
            self.app,
            app_token,
            web_client=WebClient(token=app_token, base_url=base_url),
            ping_interval=1,
            receive_buffer_size=_RECEIVE_BYTES,
            concurrency=_AT_ONCE,
            took=self.took,
        )
        self._socket.connect()  # type: ignore[no-untyped-call]

    def listen(self, host: str, port: int) -> None:
        """Take signed requests at this address, in a thread of its own. Safe to repeat."""
        if self._server is not None:
            return
        config = uvicorn.Config(http_app(self.app, self.took), host, port, log_level="warning")
        self._server = uvicorn.Server(config)
        self._serving = threading.Thread(target=self._server.run, daemon=True)
        self._serving.start()

    def trouble(self) -> str | None:
        """Why nothing comes from Slack now, a sentence; None: nothing hinders it. A quiet socket is a good one: that it
        is broken shows by pings without an answer, after which slack_sdk connects anew."""
        if self._server is not None:
            return None if self._server.started else "Slack's address does not listen."
        age_s = self.pong_age_s()
        if age_s is None:
            return "The socket to Slack is not connected."
        return None if age_s < _PONG_WITHIN_S else "The socket to Slack answers no ping."

    def pong_age_s(self) -> float | None:
        """Seconds since Slack last answered a ping on the socket; None: it is not connected, or no ping was answered
        yet. The SDK writes down the time that was in the ping."""
        session = self._socket.client.current_session if self._socket is not None else None
        if session is None or not session.is_active() or session.last_ping_pong_time is None:
            return None
        return max(0.0, time.time() - session.last_ping_pong_time)

    def close(self) -> None:
        """Take nothing more. Safe to repeat."""
        socket, self._socket = self._socket, None
        if socket is not None:
            socket.close()
        if self._server is not None and self._serving is not None:
            self._server.should_exit = True
            self._serving.join(timeout=5)

    def _stored(self) -> None:
        if self._on_stored is not None:
            self._on_stored()


_BURST = 4
_WITHIN_S = 0.25
_QUIET_S = 0.01
_QUIET_IN_A_BURST_S = 0.05
_LONGEST_S = 0.5


class Arrivals:
    """When the last deliveries were stored. Shared by everything that works while nobody's acknowledgement waits.

    Work that began between the deliveries of a burst would hold Python's one running thread, and Slack would wait.
    """

    def __init__(self, now: Callable[[], float] = time.monotonic, sleep: Callable[[float], None] = time.sleep) -> None:
        self._now = now
        self._sleep = sleep
        self._last = deque([-_WITHIN_S] * _BURST, maxlen=_BURST)

    def arrived(self) -> None:
        self._last.append(self._now())

    def give_way(self) -> None:
        """Return when none has arrived for a moment, or after half a second all the same.

        The moment is a hundredth of a second, which nobody notices; five of them after four deliveries at once.
        """
        until = self._now() + _LONGEST_S
        while (rest := min(self._quiet_from(), until) - self._now()) > 0:
            self._sleep(rest)

    def _quiet_from(self) -> float:
        first, last = self._last[0], self._last[-1]
        return last + (_QUIET_IN_A_BURST_S if last - first < _WITHIN_S else _QUIET_S)
