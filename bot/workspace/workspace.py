"""A local Slack workspace: the front of this package for the demo and for tests."""

from collections.abc import Iterator
from contextlib import contextmanager

from bot.workspace.actor import Actor
from bot.workspace.clock import Rules
from bot.workspace.deliveries import Kind, WireEntry
from bot.workspace.fault_control import FaultControl
from bot.workspace.people import BotApp, Cast, default_cast
from bot.workspace.server import WorkspaceServer
from bot.workspace.world import World


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
    def serve(self, port: int = 0) -> Iterator["Workspace"]:
        """Serve on loopback until the `with` ends; a port of 0 takes a free one."""
        with WorkspaceServer(self.world).running(port):
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
    def faults(self) -> FaultControl:
        return FaultControl(self.world)

    def deliver_to(self, request_url: str) -> None:
        """Deliver by signed HTTP to this request URL instead of Socket Mode."""
        self.world.signed_http.request_url = request_url
        self.world.deliveries.carrier = self.world.signed_http

    def person(self, name: str) -> Actor:
        return Actor(self.url, self.world.directory.person(name))

    def wire(self, kind: Kind | None = None, name: str | None = None) -> tuple[WireEntry, ...]:
        """Everything that passed the wire, oldest first."""
        return self.world.wire.entries(kind, name)
