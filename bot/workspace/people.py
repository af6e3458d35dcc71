"""Who is in the local workspace: people, channels, user groups, the app and its slash commands.

The ids look like Slack's (`U0…`, `C0…`, `S0…`) so that nothing downstream can tell the difference.
"""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class _Record(BaseModel):
    model_config = ConfigDict(frozen=True)


class Person(_Record):
    """One member of the workspace."""

    id: str
    name: str = Field(description="handle, lower case, what follows the @")
    display_name: str
    title: str = ""
    color: str = Field(default="#4a154b", description="background of the initials")

    @property
    def initials(self) -> str:
        """The letters of the avatar."""
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


class UserGroup(_Record):
    """One user group, such as the approvers of a table."""

    id: str
    handle: str
    name: str
    members: tuple[str, ...] = ()


class SlashCommand(_Record):
    """One registered slash command, as the composer offers it."""

    command: str
    description: str
    usage_hint: str = ""
    should_escape: bool = Field(default=True, description="names reach the app as <@U…|name>")


class MessageShortcut(_Record):
    """One shortcut in the menu of every message."""

    callback_id: str
    name: str


class BotApp(_Record):
    """The installed app and its bot user."""

    app_id: str = "A0W4T3RL1NE"
    bot_id: str = "B0W4T3RL1NE"
    user_id: str = "U0W4T3RL1NE"
    name: str = "waterline"
    display_name: str = "Waterline"
    color: str = "#0b6e8a"
    events: frozenset[str] = Field(
        default=frozenset({"app_home_opened", "app_mention"}), description="event types the app has subscribed to"
    )
    commands: tuple[SlashCommand, ...] = (
        SlashCommand(
            command="/waterline",
            description="Walk an incident of a streaming table",
            usage_hint="open [table] | status | help",
        ),
    )
    shortcuts: tuple[MessageShortcut, ...] = (MessageShortcut(callback_id="open-incident", name="Open incident"),)
    transport: Literal["socket", "http"] = "socket"


class Cast(_Record):
    """Everything and everyone in the workspace when it starts."""

    team_id: str = "T0STREAMS01"
    team_name: str = "Streaming Tables"
    team_domain: str = "streaming-tables"
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
