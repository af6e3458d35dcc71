"""Who cannot be answered where they asked is answered by direct message, in words that can be read there."""

from types import SimpleNamespace

import pytest

from bot.domain.ids import UserId
from bot.ports import Post
from bot.slack.render import render
from bot.slack.sent_before import directly
from bot.workspace import SeenMessage, Workspace
from tests.slack.people import ONCALL, Responder
from tests.slack.test_lost_room import TO_BEN, is_told

ANA = UserId("U0ANA00001")


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


@pytest.mark.parametrize(
    ("channel", "user", "names"), [("C0ONCALL01", ANA, True), (ANA, None, True), ("C0ONCALL01", None, False)]
)
def test_what_one_person_alone_is_shown_has_names(channel: str, user: UserId | None, names: bool) -> None:
    """By direct message as in the channel; where many read, nobody is notified by a text."""
    asked = Post(key="answer/x", incident=None, channel=channel, user=user, text="Ask <@U0BEN00002> in <#C0OPS00001>.")

    text, _blocks = render(asked, SimpleNamespace())  # type: ignore[arg-type]

    assert ("<@U0BEN00002>" in text, "<#C0OPS00001>" in text) == (names, names)


def test_an_answer_that_is_sent_directly_names_the_channel_and_people() -> None:
    """Not by raw ids."""
    answer = Post(key="answer/x", incident=None, channel="C0ONCALL01", user=ANA, text="Ask <@U0BEN00002>.")

    told, _blocks = render(directly(answer), SimpleNamespace())  # type: ignore[arg-type]

    assert told.startswith("I cannot write in <#C0ONCALL01>.")
    assert told.endswith("Ask <@U0BEN00002>.")
