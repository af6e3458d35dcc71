"""Slack ends a connection, announced or not; each command and each click around it is handled, and once."""

import sqlite3
from collections import Counter
from contextlib import closing
from itertools import count

import pytest

from bot.domain.ids import IncidentId
from bot.workspace import Rules, SeenMessage, Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

WL = IncidentId("wl-1")


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


@pytest.mark.parametrize("reason", ["warning", "refresh_requested"])
def test_each_click_around_a_refresh_is_done_once(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace, reason: str
) -> None:
    """Propose while the bot opens its next connection, again where Slack saw none that took it; Approve afterwards.
    Every click that the bot heard but the first is told that it was done; what comes again is told nothing."""
    assert 1 == slack.faults.disconnects(reason)
    eventually(lambda: ana.clicks("Propose", collected).outcome == "acked")
    shown = ana.sees_on_proposal("Approve")
    slack.faults.redelivers()
    answer = ben.answer_to(lambda: ben.clicks("Approve", shown))
    again = slack.faults.redelivers()
    ana.asks("note after")

    assert "acked" == again
    assert "Approved." in answer
    [view] = bot.services.store.get(WL).proposals.values()
    assert [ben.person.id] == [given.by for given in view.approvals]
    eventually(lambda: told(ana, "waiting for approval already") == clicks_heard(bot) - 2)
    assert 0 == told(ben, "already")


@pytest.mark.slow  # half a minute until the client finds its connection dead
def test_a_click_that_comes_again_over_the_next_connection_is_done_once(
    collected: SeenMessage, ana: Responder, ben: Responder, bot: LittleBot, slack: Workspace
) -> None:
    """The network dies as it is acknowledged, without a word; Slack sends the same click again."""
    shown = ana.proposes()
    ben.clicks("Approve", shown)
    assert 1 == slack.faults.drops_sockets()
    eventually(lambda: slack.connected > 0)

    again = slack.faults.redelivers()
    ana.asks("note after")

    assert "acked" == again
    [view] = bot.services.store.get(WL).proposals.values()
    assert [ben.person.id] == [given.by for given in view.approvals]
    assert 2 == clicks_heard(bot)
    assert 0 == told(ben, "already")


def told(who: Responder, text: str) -> int:
    """How often this person alone was told so."""
    return sum(text in message.plain for message in who.messages() if message.is_ephemeral)


def clicks_heard(bot: LittleBot) -> int:
    """How many clicks the bot has stored, each once however often it came."""
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        return int(record.execute("SELECT count(*) FROM inbox WHERE kind = 'block_actions'").fetchone()[0])


def said(bot: LittleBot) -> Counter[str]:
    """How often the record holds each remark."""
    entries = bot.services.store.get(WL).entries
    return Counter(entry.body.text for entry in entries if entry.body.kind == "note-added")
