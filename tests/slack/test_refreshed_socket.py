"""Slack ends a connection that it announced as ending; each command around it is handled, and once."""

from collections import Counter
from itertools import count

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import Rules, SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_each_command_around_a_refresh_is_done_once(
    collected: SeenMessage, ana: Responder, bot: LittleBot, slack: Workspace, reason: str
) -> None:
    """Before, while the bot opens its next connection, and after. What Slack could not see acknowledged is typed again
    in other words; the bot may have heard it, but nothing of all this twice."""
    taken, numbers = ["before"], count()

    def types_during() -> bool:
        text = f"during {next(numbers)}"
        is_taken = ana.types(f"/waterline note {text}").outcome == "acked"
        taken.extend([text] if is_taken else [])
        return is_taken

    ana.asks("note before")
    slack.faults.sets_rules(ack_s=Rules().ack_s)
    assert 1 == slack.faults.disconnects(reason)
    eventually(types_during)
    slack.faults.redelivers()
    eventually(lambda: len(slack.wire("socket", "hello")) >= 2 and slack.connected == 1)
    ana.asks("note after")
    eventually(lambda: {*taken, "after"} <= said(bot).keys())

    assert {1} == set(said(bot).values())
    assert slack.connected >= 1


def said(bot: LittleBot) -> Counter[str]:
    """How often the record holds each remark."""
    entries = bot.services.store.get(IncidentId("wl-1")).entries
    return Counter(entry.body.text for entry in entries if entry.body.kind == "note-added")
