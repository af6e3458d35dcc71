"""To one person, by direct message: the incident's channel takes no messages, and what to do about it."""

from slack_sdk.models.blocks import Block

from bot.domain.entries import RoomLost
from bot.domain.execution import UNDECIDED
from bot.domain.incident import Incident
from bot.slack.blocks.parts import context, section
from bot.slack.text import code, mrkdwn, room

_WHY = {"is_archived": "The channel is archived."}
_REMOVED = "I am not in the channel any more."


def lost_room_message(incident: Incident, lost: RoomLost) -> tuple[str, list[Block]]:
    """(notification text, blocks). Of a private incident it says no table."""
    about = incident.id if incident.is_private else f"{incident.id} ({incident.opened.table})"
    text = f"I cannot write into the channel of {about}"
    is_archived = lost.problem == "is_archived"
    mend = (
        f"Unarchive {room(lost.channel)}, and invite me if I am not in it: {code('/invite @waterline')}."
        if is_archived
        else f"Invite me again in {room(lost.channel)}: {code('/invite @waterline')}."
    )
    lines = [
        f":no_bell: *{mrkdwn(text)}.* {_WHY.get(lost.problem, _REMOVED)}",
        f"Nothing is lost: card, proposals and answers wait. {mend} They come by themselves within a minute, and the "
        "card is posted anew.",
    ]
    waiting = incident.current_proposal
    if waiting is not None and waiting.state in UNDECIDED:
        lines.append(
            f"A proposal is {waiting.state.value}, and expires at {waiting.proposal.expires_at:%H:%M} UTC. If the "
            f"channel cannot come back, go on in a terminal: {code('waterline proposal --help')}."
        )
    if incident.is_private and not is_archived:
        lines.append("The incident is private: only somebody who is in its channel can invite me.")
    return text, [section("\n".join(lines)), context("You are told because you respond to it, or may decide about it")]
