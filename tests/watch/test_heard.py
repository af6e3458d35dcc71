"""What of a delivered message is read, and what `waterline doctor` says where it could not be."""

from typing import Any

import pytest
from slack_sdk import WebClient

from bot.domain.inert import inert
from bot.slack.checking import SCOPES, slack_findings
from bot.slack.heard import heard_in
from bot.workspace import Workspace

US = "U0W4T3RL1NE"


def message(**event: Any) -> dict[str, Any]:
    """As Slack delivers it."""
    return {
        "type": "event_callback",
        "api_app_id": "A0W4T3RL1NE",
        "authorizations": [{"user_id": US, "is_bot": True}],
        "event": {"type": "message", "channel": "C0ALERTS01", "ts": "1762160400.000100", **event},
    }


@pytest.mark.parametrize(
    ("event", "text"),
    [
        ({"user": "U0ANA00001", "text": "a &lt; b in <http://prod.events|prod.events>"}, "a < b in prod.events"),
        (
            {"user": "U0ANA00001", "text": f"<@{US}>: look at <#C0X|orders>, <@U0BEN00002>"},
            "look at orders, @U0BEN00002",
        ),
        (
            {
                "bot_id": "B1",
                "text": "",
                "attachments": [{"title": "Late", "fields": [{"title": "t", "value": "x.y"}]}],
            },
            "Late\nt: x.y",
        ),
        ({"bot_id": "B1", "text": "", "attachments": [{"fallback": "Late: x.y"}]}, "Late: x.y"),
        (
            {"bot_id": "B1", "text": "T", "blocks": [{"type": "section", "text": {"type": "mrkdwn", "text": "x.y"}}]},
            "T\nx.y",
        ),
    ],
)
def test_words_are_read_wherever_they_stand_and_without_markup(event: dict[str, Any], text: str) -> None:
    """In the text, in attachments with or without a fallback, in blocks."""
    heard = heard_in(message(**event))

    assert heard is not None
    assert heard.text == text
    assert heard.is_asked is (US in event["text"])


@pytest.mark.parametrize(
    "event",
    [
        {"user": US, "text": "sales.orders"},
        {"user": "U0OTHER001", "bot_id": "B0W", "app_id": "A0W4T3RL1NE", "text": "sales.orders"},
        {"user": "U0ANA00001", "subtype": "message_changed", "text": "sales.orders"},
        {"user": "U0ANA00001", "subtype": "channel_join", "text": "sales.orders"},
        {"user": "U0ANA00001", "ts": "yesterday", "text": "sales.orders"},
        {"type": "reaction_added", "user": "U0ANA00001", "text": "sales.orders"},
    ],
    ids=["ours", "of our app", "an edit", "a joining", "no time stamp", "no message"],
)
def test_what_is_no_new_message_of_somebody_else_is_not_heard(event: dict[str, Any]) -> None:
    """Else we would answer ourselves, or tell a thing again when it is edited."""
    assert heard_in(message(**event)) is None


@pytest.mark.timeout(10)
@pytest.mark.parametrize("run", ["a" + " " * 200_000 + "b", "a" + "_" * 200_000 + "b", ":" + "a" * 200_000])
def test_a_long_run_of_one_character_holds_nobody_up(run: str) -> None:
    """It is read before Slack has its acknowledgement: the square of its length would be minutes."""
    heard = heard_in(message(user="U0ANA00001", text=run))
    shown = inert(run)

    assert heard is not None
    assert run.startswith(heard.text)
    assert shown == run


def test_a_mention_at_the_end_of_a_long_message_is_one() -> None:
    """Only its first characters are read; Slack says itself that it mentions us."""
    heard = heard_in(message(type="app_mention", user="U0ANA00001", text=f"sales.orders {'x' * 9000} <@{US}>"))

    assert heard is not None
    assert heard.is_asked


def test_the_doctor_tells_of_a_missing_scope_and_a_missing_invitation() -> None:
    """Nobody else does: Slack just delivers nothing."""
    granted = frozenset(SCOPES) - {"app_mentions:read"}
    with Workspace(scopes=granted).serve() as slack:
        client = WebClient(slack.bot_token, base_url=slack.api_url)

        lines = {what: (is_good, found) for what, is_good, found, _ in slack_findings(client, [], ["C0GENERAL4"])}

    assert lines["scopes"] == (False, "missing: app_mentions:read")
    assert lines["channel #general"] == (False, "the bot is not in it")
