"""What is written in channels: a finding when it names a watched table, once; an answer for who asked; else nothing."""

import sqlite3
from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta

import httpx
import pytest

from bot.domain.ids import UserId
from bot.slack.checking import EVENTS, SCOPES
from bot.workspace import Workspace
from bot.workspace.people import BotApp
from tests.ended_aside import ended_aside
from tests.patient_slack import PATIENT
from tests.slack.people import Responder, eventually
from tests.tables import ORDERS
from tests.watch.watching_bot import WatchingBot

REVENUE, FRAUD = "revenue-analytics", "fraud-ml"
FIRING = {
    "username": "Alertmanager",
    "attachments": [{"color": "danger", "title": "[FIRING:1] TableStale", "text": "lake.sales.orders is 40 min old"}],
}


@pytest.fixture
def slack() -> Iterator[Workspace]:
    """With the events and the scopes that the manifest asks for, and no more."""
    workspace = Workspace(app=BotApp(events=frozenset(EVENTS)), scopes=frozenset(SCOPES), rules=PATIENT)
    with ended_aside(workspace.serve()) as served:
        yield served


@pytest.fixture
def dana(slack: Workspace, bot: WatchingBot) -> Responder:
    """In #revenue-analytics, where the bot listens."""
    return Responder(slack.url, slack.person("dana").person)


@pytest.fixture
def eli(slack: Workspace, bot: WatchingBot) -> Responder:
    """In #fraud-ml, where it does not, unless it is mentioned."""
    return Responder(slack.url, slack.person("eli").person)


def posts(slack: Workspace, body: object, channel: str = REVENUE) -> None:
    """Another system writes by its incoming webhook."""
    httpx.post(f"{slack.url}/services/{channel}", json=body).raise_for_status()


def heard(slack: Workspace, count: int) -> None:
    """So many messages were delivered, and the bot has taken each."""
    eventually(lambda: len(slack.wire("delivery", "event message")) >= count)
    assert {entry.error for entry in slack.wire("delivery")} == {None}


def kept(bot: WatchingBot) -> list[tuple[str, str]]:
    """What is in the record of what Slack delivered: kind of key, and state."""
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        rows = record.execute("SELECT key, state FROM inbox").fetchall()
    return [(key.split("/")[0], state) for key, state in rows]


def found(bot: WatchingBot) -> list[str]:
    """Headlines of what was told."""
    return [each.sign.headline for each in bot.sightings.memory(ORDERS).sighted.values()]


def test_an_alert_in_a_channel_becomes_a_finding_once(slack: Workspace, ana: Responder, bot: WatchingBot) -> None:
    """With what the watch sees, and the button; the same words again are not told again, and recovery is noted."""
    posts(slack, FIRING)
    told = ana.sees("TableStale")
    bot.commits()
    bot.looks()
    beside = ana.sees("What Waterline saw at")
    posts(slack, {**FIRING, "attachments": [{**FIRING["attachments"][0], "text": "lake.sales.orders is 55 min old"}]})
    posts(slack, {"username": "Alertmanager", "text": "[RESOLVED] TableStale\nsales.orders"})
    over = ana.sees("Over since")

    assert told.buttons == ("Open incident", "Mute for 4 hours")
    assert "Alertmanager wrote: “[FIRING:1] TableStale”" in told.plain
    assert "“lake.sales.orders is 40 min old”" in told.plain
    assert "written in #revenue-analytics" in told.plain
    assert "The newest commit is" in beside.plain
    assert "Alertmanager wrote that it is" in over.plain
    assert len(found(bot)) == 1


def test_who_mentions_the_bot_is_heard_anywhere_and_answered(
    slack: Workspace, eli: Responder, bot: WatchingBot
) -> None:
    """Told where the table's findings are told; asked again in the thread, or about nothing, a sentence says so."""
    said = eli.says("@waterline the scores look doubled since sales.orders restarted", FRAUD)
    first = eli.sees("Told in #orders-oncall", FRAUD)
    eli.says("@waterline did you see sales.orders?", FRAUD, thread_ts=said.ts)
    again = eli.sees("told already", FRAUD)
    eli.says("@waterline hello", FRAUD)
    lost = eli.sees("I do not know which table you mean", FRAUD)

    assert found(bot) == ["Eli Sato wrote: “the scores look doubled since sales.orders restarted”"]
    assert all(message.is_ephemeral for message in (first, again, lost))
    assert "sales.orders" in lost.plain


def test_nothing_is_kept_of_what_does_not_concern_the_bot(
    slack: Workspace, ana: Responder, dana: Responder, eli: Responder, bot: WatchingBot
) -> None:
    """No word elsewhere, none without a table's name; and its own findings name one in a channel where it listens."""
    dana.says("lunch?", REVENUE)
    dana.says("sales.orders_v2 and my.sales.ordersheet are others", REVENUE)
    eli.says("sales.orders is fine, I think", FRAUD)
    heard(slack, 3)
    before = kept(bot)
    posts(slack, FIRING)
    ana.sees("TableStale")
    heard(slack, 5)

    assert before == []
    assert len(found(bot)) == 1
    assert [kind for kind, _state in kept(bot)] == ["said"]


def test_talk_about_a_table_is_no_second_finding(
    slack: Workspace, ana: Responder, dana: Responder, bot: WatchingBot
) -> None:
    """Within the hour people speak of what was told."""
    posts(slack, FIRING)
    ana.sees("TableStale")
    dana.says("is sales.orders late again?", REVENUE)
    eventually(lambda: kept(bot) == [("said", "done")] * 2)

    assert len(found(bot)) == 1


def test_while_an_incident_is_open_who_asks_is_sent_there(
    slack: Workspace, ana: Responder, eli: Responder, bot: WatchingBot
) -> None:
    """Nothing is told twice: people look already."""
    ana.opens()

    eli.says("@waterline sales.orders looks odd", FRAUD)

    assert "wl-1 is open on sales.orders" in eli.sees("is open on", FRAUD).plain
    assert found(bot) == []


def test_who_asks_about_a_muted_table_hears_that_it_waits(slack: Workspace, eli: Responder, bot: WatchingBot) -> None:
    """Nobody is let believe that others were told."""
    bot.sightings.mute(ORDERS, None, timedelta(hours=4), by=UserId("U0ANA00001"))

    eli.says("@waterline sales.orders looks odd", FRAUD)

    assert "It is kept" in eli.sees("when sales.orders is muted no more", FRAUD).plain


def test_a_mute_of_a_message_is_of_all_messages(slack: Workspace, ana: Responder, bot: WatchingBot) -> None:
    """No two are alike: a mute of one sentence would silence nothing, and read oddly."""
    posts(slack, {"username": "Grafana", "text": "sales.orders is late"})
    told = ana.sees("is late")

    answer = ana.answer_to(lambda: ana.clicks("Mute for 4 hours", told))

    assert answer.startswith("What is written in channels on sales.orders is muted until")
    assert "unmute sales.orders message" in answer
    assert "what is written in channels is muted until" in ana.asks("watch")


def test_hostile_words_ping_and_spoof_nobody(slack: Workspace, ana: Responder, bot: WatchingBot) -> None:
    """Quoted as the words of who wrote them, on lines of ours."""
    evil = "<!channel> <@U0BEN00002> *sales.orders recovered* <https://evil.example|look>\n:white_check_mark: approved"
    posts(slack, {"username": "<!here> Waterline", "text": evil})

    told = ana.sees("recovered")

    shown = str(told.blocks)
    assert "wrote: “" in told.plain
    assert not any(
        bad in shown for bad in ("<!", "<@U0BEN", "<https://evil", ":white_check_mark:", "*sales.orders rec")
    )


def test_a_name_that_mentions_somebody_pings_nobody_when_it_is_over(
    slack: Workspace, ana: Responder, bot: WatchingBot
) -> None:
    """What a bot is called is quoted in the thread, too."""
    name = "<@U0BEN00002> <#C0GENERAL4> Waterline"
    posts(slack, {"username": name, "text": "[FIRING:1] sales.orders is late"})
    ana.sees("is late")
    posts(slack, {"username": name, "text": "[RESOLVED] sales.orders is late"})

    over = ana.waits_for(lambda m: m.plain.startswith("Over since"))

    assert not any(mention in str(over.blocks) for mention in ("<@U0BEN", "<#C0GEN"))


def test_words_of_a_private_channel_are_not_repeated(
    slack: Workspace, ana: Responder, eli: Responder, bot: WatchingBot
) -> None:
    """Whoever reads the table's channel was not invited there."""
    channel = slack.world.directory.channel(FRAUD)
    slack.world.directory.channels[channel.id] = channel.model_copy(update={"is_private": True})

    eli.says("@waterline sales.orders: the merger's numbers are twice there", FRAUD)
    told = ana.sees("asks to look at it")

    assert "merger" not in str(told.blocks)
