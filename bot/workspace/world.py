"""Everything that the workspace is made of, built once and handed to whoever serves a part of it."""

import secrets

from bot.workspace.clock import WorkspaceClock
from bot.workspace.conversations import Conversations
from bot.workspace.deliveries import Deliveries
from bot.workspace.directory import Directory
from bot.workspace.faults import Faults
from bot.workspace.files import Files
from bot.workspace.handles import Handles
from bot.workspace.live import Live
from bot.workspace.payload import Payload
from bot.workspace.people import Cast
from bot.workspace.rules import Rules
from bot.workspace.signed_http import SignedHttp
from bot.workspace.sockets import Sockets
from bot.workspace.views import Views
from bot.workspace.wire_log import WireLog


class World:
    """The parts of one workspace; all of them live on the server's event loop."""

    def __init__(self, cast: Cast, rules: Rules, scopes: frozenset[str] | None = None) -> None:
        self.cast = cast
        self.rules = rules
        self.scopes = scopes
        self.url = ""
        self.bot_token = f"xoxb-{secrets.token_hex(16)}"
        self.app_token = f"xapp-1-{cast.app.app_id}-{secrets.token_hex(16)}"
        self.signing_secret = secrets.token_hex(16)
        self.clock = WorkspaceClock()
        self.live = Live()
        self.wire = WireLog(self.clock)
        self.faults = Faults()
        self.directory = Directory(cast)
        self.conversations = Conversations(self.directory, self.clock, self.live)
        self.views = Views(self.clock, self.live, cast)
        self.files = Files(self.clock)
        self.handles = Handles(self.clock, cast.team_id)
        self.sockets = Sockets(cast, self.wire)
        self.signed_http = SignedHttp(self.clock, self.signing_secret)
        carrier = self.sockets if cast.app.transport == "socket" else self.signed_http
        self.deliveries = Deliveries(cast, self.clock, self.wire, self.faults, carrier)
        self.set_rules(rules)
        self.wire.watch(
            lambda entry: self.live.tell("wire", {"entry": entry.model_dump(mode="json", exclude={"sent", "answered"})})
        )

    def set_rules(self, rules: Rules) -> None:
        """Use other time limits from now on."""
        self.rules = rules
        self.deliveries.rules = rules

    def permalink(self, channel: str, ts: str) -> str:
        """The address of one message on the page."""
        return f"{self.url}/archives/{channel}/p{ts.replace('.', '')}"

    def team(self) -> Payload:
        """The team as interaction payloads name it."""
        return {"id": self.cast.team_id, "domain": self.cast.team_domain}

    def user(self, person: str) -> Payload:
        """A person as interaction payloads name them."""
        record = self.directory.people[person]
        return {"id": record.id, "username": record.name, "name": record.name, "team_id": self.cast.team_id}
