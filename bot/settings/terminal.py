"""Who a person at a terminal is in Slack."""

from pydantic import Field

from bot.domain.ids import UserId
from bot.domain.record import Record


class TerminalSettings(Record):
    """Decisions in a terminal: the operating system says who types, this file says who that is."""

    people: dict[str, UserId] = Field(
        default={},
        description="Login name on the bot's host -> Slack user id. Users not listed here can only decide in Slack.",
        examples=[{"ben": "U0BEN00001"}],
    )
