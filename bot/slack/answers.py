"""What one person alone is told, where they asked. The front door imports it before the use cases are there."""

import re

from bot.domain.ids import UserId
from bot.ports import Delivery, Post
from bot.slack.requests import Clicked, Command, Mentioned, MessageChosen, Request, Submitted

_WHO = re.compile(r'"user(?:_id": ?|": ?\{"id": ?)"([UW][A-Z0-9]+)"')
"""Who asked, also in a body that is cut off or of no known shape. What people type has its quotes escaped."""


def answer_post(delivery: Delivery, request: Request, text: str) -> Post | None:
    """One answer a delivery, whoever gives it first; None where there is no channel to answer in (App Home)."""
    channel = answer_channel(request)
    if not channel:
        return None
    return Post(key=f"answer/{delivery.key}", incident=None, channel=channel, user=request.user, text=text)


def answer_unread(delivery: Delivery, text: str) -> Post | None:
    """The answer, by direct message, to what could not be read; None where not even who asked can be."""
    found = _WHO.search(delivery.payload)
    return Post(key=f"answer/{delivery.key}", incident=None, channel=UserId(found[1]), text=text) if found else None


def answer_channel(request: Request) -> str:
    """Where the person can be answered: the channel they are in; a form carries it as its last id."""
    match request:
        case Command() | Clicked() | MessageChosen() | Mentioned():
            return request.channel
        case Submitted():
            return request.about.split("/")[-1] if request.about else ""
        case _:
            return ""
