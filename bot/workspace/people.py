"""Who is in the local workspace: people, channels, user groups, the app and its slash commands.

The ids look like Slack's (`U0…`, `C0…`, `S0…`) so that nothing downstream can tell the difference.

The workspace is a wire, so it keeps what was sent as it was sent.
Whatever the workspace decides on (people, limits, deliveries, entries of the wire log) is a typed record.
"""

from collections.abc import Sequence
from typing import Any, Literal, TypeAlias

from pydantic import BaseModel, ConfigDict, Field

Payload: TypeAlias = dict[str, Any]


class SlackRefusal(Exception):
    """Raised by a Web API method when Slack would answer `ok: false`.

    `code` is Slack's error code, `messages` go to `response_metadata.messages`, `extra` into the answer itself.
    """

    def __init__(
        self,
        code: str,
        messages: Sequence[str] = (),
        *,
        status: int = 200,
        headers: dict[str, str] | None = None,
        **extra: object,
    ) -> None:
        super().__init__(code if not messages else f"{code}: {'; '.join(messages)}")
        self.code = code
        self.messages = tuple(messages)
        self.status = status
        self.headers = headers or {}
        self.extra = extra

    def body(self) -> Payload:
        answer: Payload = {"ok": False, "error": self.code, **self.extra}
        if self.messages:
            answer["errors"] = list(self.messages)
            answer["response_metadata"] = {"messages": [f"[ERROR] {message}" for message in self.messages]}
        return answer


class CannotDo(Exception):
    """Raised when a person asks the page for something that Slack's own client would not let them do.

    The message has what happened, what was expected and found, and what to do next.
    """

    def __init__(self, code: str, message: str) -> None:
        super().__init__(message)
        self.code = code


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Act(_Record):
    """What somebody does on the page, as the page says it."""

    model_config = ConfigDict(extra="forbid")

    person: str = Field(description="whoever does it, by id, handle or display name")


class Person(_Record):
    id: str
    name: str = Field(description="handle, lower case, what follows the @")
    display_name: str
    title: str = ""
    color: str = Field(default="#4a154b", description="background of the initials")
    team_id: str = Field(default="", description="another organisation's (Slack Connect); empty: this workspace")
    is_deactivated: bool = False

    @property
    def initials(self) -> str:
        return "".join(word[0] for word in self.display_name.split()[:2]).upper()


class Channel(_Record):
    """One channel and who is in it; `members` are ids of people and of the bot."""

    id: str
    name: str
    topic: str = ""
    members: frozenset[str] = frozenset()
    is_private: bool = False
    is_archived: bool = False
    is_im: bool = False
    is_ext_shared: bool = Field(default=False, description="with another organisation, by Slack Connect")
    limit: Literal["", "read_only", "thread_only", "non_threadable"] = Field(
        default="", description="how its posting permissions keep the app out, as in conversations.info"
    )


class UserGroup(_Record):
    id: str
    handle: str
    name: str
    members: tuple[str, ...] = ()


class SlashCommand(_Record):
    command: str
    description: str
    usage_hint: str = ""


class MessageShortcut(_Record):
    callback_id: str
    name: str


class BotApp(_Record):
    app_id: str = "A0W4T3RL1NE"
    bot_id: str = "B0W4T3RL1NE"
    user_id: str = "U0W4T3RL1NE"
    name: str = "waterline"
    display_name: str = "Waterline"
    color: str = "#0b6e8a"
    events: frozenset[str] = Field(
        default=frozenset({"app_home_opened"}), description="event types the app has subscribed to"
    )
    commands: tuple[SlashCommand, ...] = (
        SlashCommand(
            command="/waterline",
            description="Handle an incident of a streaming table",
            usage_hint="open [table] | status | help",
        ),
    )
    shortcuts: tuple[MessageShortcut, ...] = (MessageShortcut(callback_id="open-incident", name="Open incident"),)
    transport: Literal["socket", "http"] = "socket"


class Cast(_Record):
    team_id: str = "T0STREAMS01"
    team_name: str = "Streaming Tables"
    team_domain: str = "streaming-tables"
    enterprise_id: str = Field(default="", description="of an Enterprise Grid, for all of which the app is installed")
    app: BotApp = BotApp()
    people: tuple[Person, ...]
    channels: tuple[Channel, ...]
    groups: tuple[UserGroup, ...] = ()


def default_cast(app: BotApp | None = None) -> Cast:
    """A responder, two approvers, two consumers and an outsider, in the channels of one table's incident."""
    bot = app or BotApp()
    ana = Person(id="U0ANA00001", name="ana", display_name="Ana Ribeiro", title="Responder", color="#2f6f4f")
    ben = Person(id="U0BEN00002", name="ben", display_name="Ben Okafor", title="Approver", color="#7a3e9d")
    cleo = Person(id="U0CLEO0003", name="cleo", display_name="Cleo Marsh", title="Approver", color="#b4532a")
    dana = Person(id="U0DANA0004", name="dana", display_name="Dana Lind", title="Revenue", color="#1f5fa8")
    eli = Person(id="U0ELI00005", name="eli", display_name="Eli Sato", title="Fraud models", color="#a33a5b")
    finn = Person(id="U0FINN0006", name="finn", display_name="Finn Vogel", title="Platform", color="#5b6472")
    everyone = (ana, ben, cleo, dana, eli, finn)
    return Cast(
        app=bot,
        people=everyone,
        channels=(
            Channel(
                id="C0ONCALL01",
                name="orders-oncall",
                topic="Incidents of the orders tables",
                members=frozenset({ana.id, ben.id, cleo.id, finn.id, bot.user_id}),
            ),
            Channel(
                id="C0REVENUE2",
                name="revenue-analytics",
                topic="Dashboards and revenue reports",
                members=frozenset({dana.id, bot.user_id}),
            ),
            Channel(
                id="C0FRAUDML3",
                name="fraud-ml",
                topic="Fraud models and their features",
                members=frozenset({eli.id, bot.user_id}),
            ),
            Channel(
                id="C0GENERAL4",
                name="general",
                topic="Everyone",
                members=frozenset({*(person.id for person in everyone)}),
            ),
        ),
        groups=(
            UserGroup(
                id="S0APPROVE1",
                handle="orders-approvers",
                name="Approvers of the orders tables",
                members=(ben.id, cleo.id),
            ),
        ),
    )


_ALLOWED = {"read_only": (), "thread_only": (True,), "non_threadable": (False,)}
"""Limit of a channel -> whether what the app may still post there is in a thread."""


class Directory:
    def __init__(self, cast: Cast) -> None:
        self.cast = cast
        self.app = cast.app
        self.people = {person.id: person for person in cast.people}
        self.channels = {channel.id: channel for channel in cast.channels}
        self.groups = {group.id: group for group in cast.groups}

    def person(self, ref: str) -> Person:
        """The person with that id, handle or display name; raises CannotDo when there is none."""
        wanted = ref.lstrip("@")
        for person in self.people.values():
            if wanted == person.id or wanted.lower() in (person.name, person.display_name.lower()):
                if person.is_deactivated:
                    raise CannotDo("account_inactive", f"{person.display_name} is deactivated, and can do nothing.")
                return person
        known = ", ".join(person.name for person in self.people.values())
        raise CannotDo("user_not_found", f"Nobody here is called {ref!r}. Known: {known}. Use one of these.")

    def channel(self, ref: str) -> Channel:
        """The channel with that id or name; raises CannotDo when there is none."""
        wanted = ref.lstrip("#")
        for channel in self.channels.values():
            if wanted in (channel.id, channel.name):
                return channel
        known = ", ".join(f"#{channel.name}" for channel in self.channels.values() if not channel.is_im)
        raise CannotDo("channel_not_found", f"No channel is called {ref!r}. Known: {known}. Use one of these.")

    def group_named(self, handle: str) -> UserGroup | None:
        return next((group for group in self.groups.values() if group.handle == handle), None)

    def channel_for_bot(self, ref: str) -> Channel:
        """The channel a Web API call names, by id, #name or user id; refuses as Slack does when it cannot see it."""
        if ref in self.people:
            return self.direct_message(ref)
        wanted = ref.lstrip("#")
        found = self.channels.get(ref) or next((c for c in self.channels.values() if c.name == wanted), None)
        if found is None or (found.is_private and self.app.user_id not in found.members):
            raise SlackRefusal("channel_not_found")
        return found

    def channel_to_post(self, ref: str, *, in_thread: bool = False) -> Channel:
        """As `channel_for_bot`, and the bot may write there."""
        channel = self.channel_for_bot(ref)
        if channel.is_archived:
            raise SlackRefusal("is_archived")
        if self.app.user_id not in channel.members:
            raise SlackRefusal("not_in_channel")
        if channel.limit and in_thread not in _ALLOWED[channel.limit]:
            raise SlackRefusal(f"restricted_action_{channel.limit}_channel")
        return channel

    def direct_message(self, person: str) -> Channel:
        """The conversation between the app and one person; opened when it does not exist yet."""
        if person not in self.people:
            raise SlackRefusal("user_not_found")
        channel_id = "D" + person[1:]
        if channel_id not in self.channels:
            self.channels[channel_id] = Channel(
                id=channel_id,
                name=self.people[person].name,
                members=frozenset({person, self.app.user_id}),
                is_im=True,
                is_private=True,
            )
        return self.channels[channel_id]

    def visible_to(self, person: str) -> tuple[Channel, ...]:
        return tuple(
            channel for channel in self.channels.values() if person in channel.members or not channel.is_private
        )

    def change_person(self, person_id: str, **changes: object) -> None:
        self.people[person_id] = self.people[person_id].model_copy(update=changes)

    def change(self, channel_id: str, **changes: object) -> None:
        self.channels[channel_id] = self.channels[channel_id].model_copy(update=changes)
