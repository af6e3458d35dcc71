"""A local Slack workspace: the front of this package for the demo and for tests.

Faults as Python methods: `ws.faults.ratelimits("chat.postMessage", times=2)`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import timedelta

from bot.workspace.actor import Actor, Loopback
from bot.workspace.clock import Rules
from bot.workspace.deliveries import Kind, WireEntry
from bot.workspace.people import BotApp, Cast, Payload, default_cast
from bot.workspace.server import WorkspaceServer
from bot.workspace.world import World


class FaultRemote:
    def __init__(self, url: str) -> None:
        self._loopback = Loopback(url)

    def ratelimits(self, method: str | None = None, *, times: int = 1, retry_after_s: int = 1) -> None:
        """Answer the next calls (of one method, or any) with 429 and Retry-After."""
        self._do("ratelimited", method=method, times=times, seconds=retry_after_s)

    def fails(self, method: str | None, error: str, *, times: int = 1) -> None:
        """Refuse the next calls with a Slack error; nothing happens."""
        self._do("error", method=method, error=error, times=times)

    def fails_after_effect(self, method: str | None, error: str = "internal_error", *, times: int = 1) -> None:
        self._do("error-after-effect", method=method, error=error, times=times)

    def holds(self, method: str | None, seconds: float, *, times: int = 1) -> None:
        """Do what is asked at once and answer only after some seconds, or when it `disarms`."""
        self._do("hold", method=method, seconds=seconds, times=times)

    def doubles_clicks(self, times: int = 1) -> None:
        self._do("double-click", times=times)

    def doubles_deliveries(self, times: int = 1) -> None:
        """Deliver the next delivery twice, the same payload in two envelopes."""
        self._do("double-delivery", times=times)

    def holds_deliveries(self, times: int = 1) -> None:
        """Keep the next deliveries back, so that later ones overtake them, until they are let through.

        Who caused them goes on at once, as if they were acknowledged.
        """
        self._do("hold-delivery", times=times)

    def lets_through(self) -> int:
        """Deliver what was held, in its order; answers how many."""
        return int(self._do("let-through")["delivered"])

    def redelivers(self) -> str:
        """Deliver the newest delivery again; answers how the app acknowledged it."""
        return str(self._do("redeliver")["outcome"])

    def drops_sockets(self) -> int:
        """Reset all Socket Mode connections, no close frame; answers how many.

        slack_sdk's built-in client notices after five failed pings: five times its `ping_interval`.
        """
        return int(self._do("drop-sockets")["cut"])

    def disconnects(self, reason: str = "refresh_requested") -> int:
        """Tell all connections that they end (`warning`, `refresh_requested`); answers how many were told."""
        return int(self._do("disconnect", reason=reason)["told"])

    def refuses_connections(self) -> None:
        """Refuse apps.connections.open until `disarms`."""
        self._do("refuse-connections")

    def archives(self, channel: str) -> None:
        self._do("archive", channel=channel)

    def limits(self, channel: str, limit: str) -> None:
        """Let the app post no more (`read_only`), only replies (`thread_only`), no replies (`non_threadable`), or
        all again (empty)."""
        self._do("limit", channel=channel, limit=limit)

    def shares(self, channel: str, member: str) -> None:
        """Share the channel with another organisation, of which this member is from now on."""
        self._do("share", channel=channel, member=member)

    def deactivates(self, member: str) -> None:
        """As when somebody leaves: they are in no user group any more, and can do nothing."""
        self._do("deactivate", member=member)

    def removes(self, channel: str, member: str = "bot") -> None:
        self._do("remove-member", channel=channel, member=member)

    def adds(self, channel: str, member: str = "bot") -> None:
        self._do("add-member", channel=channel, member=member)

    def revokes_token(self) -> None:
        """Answer `token_revoked` to the bot token until `disarms`."""
        self._do("revoke-token")

    def deletes(self, channel: str, ts: str) -> None:
        self._do("delete-message", channel=channel, ts=ts)

    def edits(self, channel: str, ts: str, text: str) -> None:
        """Edit a message behind the bot's back; its blocks are gone."""
        self._do("edit-message", channel=channel, ts=ts, text=text)

    def time_passes(self, by: timedelta) -> None:
        """Move the workspace's clock: retries become due, response URLs and triggers get old."""
        self._do("time-passes", seconds=by.total_seconds())

    def disarms(self) -> None:
        self._do("disarm")

    def sets_rules(self, **rules: float | int | None) -> None:
        """Change time limits and quotas; see `Rules` for the names."""
        self._loopback.post("/_control/rules", dict(rules))

    def _do(self, name: str, **arguments: object) -> Payload:
        return self._loopback.post(f"/_control/faults/{name}", arguments)


class Workspace:
    """People, channels and one installed app; `serve` puts them on loopback.

    `scopes` limits the bot token to what a manifest asks for; none grants everything the workspace knows.
    """

    def __init__(
        self,
        cast: Cast | None = None,
        *,
        app: BotApp | None = None,
        rules: Rules | None = None,
        scopes: frozenset[str] | None = None,
    ) -> None:
        self.world = World(cast or default_cast(app), rules or Rules(), scopes)

    @contextmanager
    def serve(self, port: int = 0, host: str = "127.0.0.1") -> Iterator["Workspace"]:
        """Serve until the `with` ends; a port of 0 takes a free one."""
        with WorkspaceServer(self.world).running(host, port):
            yield self

    @property
    def cast(self) -> Cast:
        return self.world.cast

    @property
    def url(self) -> str:
        return self.world.url

    @property
    def api_url(self) -> str:
        """The base URL for slack_sdk's WebClient; ends with `/api/`."""
        return f"{self.world.url}/api/"

    @property
    def bot_token(self) -> str:
        return self.world.bot_token

    @property
    def app_token(self) -> str:
        return self.world.app_token

    @property
    def signing_secret(self) -> str:
        """What signed HTTP deliveries are signed with."""
        return self.world.signing_secret

    @property
    def connected(self) -> int:
        """How many Socket Mode connections are open."""
        return self.world.sockets.count

    @property
    def faults(self) -> FaultRemote:
        return FaultRemote(self.url)

    def deliver_to(self, request_url: str) -> None:
        """Deliver by signed HTTP to this request URL instead of Socket Mode."""
        self.world.signed_http.request_url = request_url
        self.world.deliveries.carrier = self.world.signed_http

    def person(self, name: str) -> Actor:
        return Actor(self.url, self.world.directory.person(name))

    def wire(self, kind: Kind | None = None, name: str | None = None) -> tuple[WireEntry, ...]:
        """Everything that passed the wire, oldest first."""
        return self.world.wire.entries(kind, name)

    def wire_jsonl(self) -> str:
        return self.world.wire.jsonl()
