"""A consumer whom nothing reached is told when the cause is mended: by a button, by a command, by itself."""

from datetime import timedelta

import pytest

from bot.domain.entries import NoticeEnded, NoticeRetried
from bot.domain.journal import WATERLINE
from bot.domain.reads import Consumer
from bot.workspace import Workspace
from tests.slack.little_bot import LittleBot
from tests.slack.people import Responder, eventually

REVENUE = "revenue-analytics"


@pytest.fixture
def unreached(slack: Workspace, ana: Responder) -> None:
    """The first warning was sent while the bot was not in the consumer's channel."""
    slack.faults.removes(REVENUE)
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    ana.sees("please call them")
    ana.sees_on_card("Try again")


def ends(bot: LittleBot) -> list[str]:
    """How each sending to revenue_daily ended."""
    [incident] = bot.services.store.all()
    bodies = (entry.body for entry in incident.entries)
    return [body.how for body in bodies if isinstance(body, NoticeEnded) and "/revenue_daily/" in body.key]


def asked(bot: LittleBot) -> list[str]:
    """Who had it sent once more, each time."""
    [incident] = bot.services.store.all()
    return [entry.by for entry in incident.entries if isinstance(entry.body, NoticeRetried)]


@pytest.mark.usefixtures("unreached")
def test_an_invited_bot_tells_the_same_once(
    slack: Workspace, ana: Responder, ben: Responder, dana: Responder, bot: LittleBot
) -> None:
    """Before the invitation it fails again, aloud; after it a double click sends one message, and a late one none."""
    old = ana.sees_on_card("Try again")
    ana.answer_to(lambda: ana.clicks("Try again", old))
    eventually(lambda: ends(bot) == ["failed", "failed"])
    card = ana.sees_on_card("Try again")
    slack.faults.adds(REVENUE)
    slack.faults.doubles_clicks()

    ana.clicks("Try again", card)

    told = dana.sees("under review", REVENUE)
    ana.sees("already on its way")
    eventually(lambda: ends(bot) == ["failed", "failed", "delivered"])
    late = ben.answer_to(lambda: ben.clicks("Try again", card))
    assert "has this notice already" in late
    assert [told.ts] == [message.ts for message in dana.messages(REVENUE)]
    assert "may appear twice" not in told.plain
    assert asked(bot) == [ana.person.id] * 2
    assert sum("please call them" in message.plain for message in ana.messages()) == 2


@pytest.mark.usefixtures("unreached")
def test_an_invited_bot_tells_it_by_itself(slack: Workspace, ana: Responder, dana: Responder, bot: LittleBot) -> None:
    """A few times over hours; who is to call them is not asked each time."""
    ana.sees_on_card("next try at")
    bot.services.duties.settle_all()
    early = asked(bot)
    bot.clock.advances(timedelta(minutes=11))
    bot.services.duties.settle_all()
    eventually(lambda: ends(bot) == ["failed", "failed"])
    slack.faults.adds(REVENUE)
    bot.clock.advances(timedelta(hours=2))

    bot.services.duties.settle_all()

    dana.sees("under review", REVENUE)
    eventually(lambda: ends(bot) == ["failed", "failed", "delivered"])
    assert early == []
    assert asked(bot) == [WATERLINE] * 2
    assert sum("please call them" in message.plain for message in ana.messages()) == 1


@pytest.mark.usefixtures("unreached")
def test_a_command_tells_whom_nothing_reached(
    slack: Workspace, ana: Responder, dana: Responder, eli: Responder, bot: LittleBot
) -> None:
    """Only them, with the text of then, also after a restart; a second time there is nothing left."""
    slack.faults.adds(REVENUE)
    bot.restart()
    eventually(lambda: slack.connected == 1)

    answer = ana.asks("tell again")

    dana.sees("under review", REVENUE)
    eventually(lambda: ends(bot) == ["failed", "delivered"])
    [incident] = bot.services.store.all()
    told = next(view.notice for view in incident.notices.values() if view.notice.consumer == "revenue_daily")
    assert "“First warning” for revenue_daily" in answer
    assert not ana.has_modal
    assert told.text.split("\n")[0].strip("*") in dana.messages(REVENUE)[0].plain
    assert len(eli.messages("fraud-ml")) == 1
    assert "Nothing to send again" in ana.asks("tell again")


@pytest.mark.usefixtures("unreached")
def test_what_was_overtaken_has_no_button_and_is_refused(slack: Workspace, ana: Responder, bot: LittleBot) -> None:
    """The severity changed since: the newer notice says it better."""
    old = ana.sees_on_card("Try again")
    ana.asks("severity sev1 Finance reports from it.")
    eventually(lambda: ends(bot) == ["failed", "failed"])
    slack.faults.adds(REVENUE)

    answer = ana.answer_to(lambda: ana.clicks("Try again", old))

    assert "was sent something newer" in answer
    assert asked(bot) == []


@pytest.mark.parametrize(
    "consumers", [(Consumer(name="both_gone", channel="C0GONE0001", email=("gone@acme.example",)),)]
)
def test_of_two_ways_that_failed_each_has_a_button(
    ana: Responder, bot: LittleBot, consumers: tuple[Consumer, ...]
) -> None:
    """Only the way that is mended is tried again."""
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    ana.sees("please call them")
    [incident] = bot.services.store.all()
    [view] = incident.notices.values()
    lost = NoticeEnded(key=view.key, how="failed", detail="550 no such mailbox.", to="email:gone@acme.example")
    bot.services.store.write(incident.id, by=WATERLINE, decide=lambda _now: [lost])

    ana.clicks("Try again by e-mail", ana.sees_on_card("Try again by e-mail"))

    ana.sees_on_card("by e-mail on its way once more")
    ways = bot.services.store.get(incident.id).notices[view.key].deliveries.values()
    assert [way.has_failed for way in ways] == [True, False]
