"""Who cannot be answered where they asked is answered by direct message, in words that can be read there."""

from bot.workspace import SeenMessage, Workspace
from tests.slack.people import ONCALL, Responder
from tests.slack.test_lost_room import TO_BEN, is_told


def test_who_clicks_in_a_channel_without_having_joined_it_is_answered_directly(
    collected: SeenMessage, ana: Responder, ben: Responder, slack: Workspace
) -> None:
    """Slack shows a public channel, and its buttons, to everybody, and an answer to members only."""
    proposal = ana.proposes()
    slack.faults.removes(ONCALL, ben.id)

    ben.clicks("Approve", proposal)

    told = is_told(ben, TO_BEN, "so I answer here.")
    assert "You are not in" in told.plain
    assert "invite me" not in told.plain
