"""What a Web API method is: a function, whose token it takes, and the scope it needs."""

from collections.abc import Callable
from typing import Literal, NamedTuple

from bot.workspace.api.call import Call
from bot.workspace.payload import Payload
from bot.workspace.world import World

Answer = Callable[[World, Call], Payload]


class Method(NamedTuple):
    """One Web API method; `scope` is what the app's manifest must ask for, none when no scope is needed."""

    answer: Answer
    scope: str | None = None
    bearer: Literal["bot", "app", "any"] = "bot"
