"""What the journal says of the incident's own channel: that it takes no message, and that it does again."""

from typing import Literal

from bot.domain.ids import UserId
from bot.domain.record import Record


class RoomLost(Record):
    """Slack refuses messages to the channel; they wait, and these people are told by direct message."""

    kind: Literal["room-lost"] = "room-lost"
    channel: str
    problem: str
    """Slack's word: `is_archived`, `not_in_channel`, `channel_not_found`."""
    told: tuple[UserId, ...]


class RoomReturned(Record):
    """Slack takes messages to the channel again; the card is posted anew, and what waited is sent."""

    kind: Literal["room-returned"] = "room-returned"
    channel: str


RoomEntry = RoomLost | RoomReturned


def room_sentence(body: RoomEntry) -> str:
    """The entry in a sentence."""
    match body:
        case RoomLost():
            told = " and ".join(f"<@{user}>" for user in body.told) or "nobody, for nobody is responding"
            return f"Slack takes no messages to <#{body.channel}> ({body.problem}): they wait. Told directly: {told}."
        case RoomReturned():
            return f"Slack takes messages to <#{body.channel}> again: the card is posted anew, and what waited is sent."
