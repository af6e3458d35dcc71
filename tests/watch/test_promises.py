"""Promises are kept in mind: reminded of once, later if somebody asks, after a restart too; and handed over."""

from datetime import datetime, timedelta

import pytest

from bot.adapters.scheduler import SchedulerTimers
from bot.domain.ids import IncidentId
from bot.workspace import Workspace
from tests.slack.people import ONCALL, Responder
from tests.watch.watching_bot import WatchingBot

ONE = IncidentId("wl-1")


@pytest.fixture
def ben(slack: Workspace, bot: WatchingBot) -> Responder:
    """Comes on duty later."""
    return Responder(slack.url, slack.person("ben").person)


@pytest.fixture
def warned(ana: Responder, bot: WatchingBot) -> datetime:
    """wl-1 is open, and consumers were promised word within 30 minutes; when they were."""
    ana.opens_form()
    ana.submits()
    ana.reads_form()
    ana.submits()
    ana.sees("Notice “first warning” for fraud_model was delivered")
    return max(view.queued_at for view in bot.services.store.get(ONE).notices.values())


def reminded(bot: WatchingBot) -> list[str]:
    """Kinds of entries about promises, in order."""
    kinds = (entry.body.kind for entry in bot.services.store.get(ONE).entries)
    return [kind for kind in kinds if kind.startswith("promise-")]


def comes(bot: WatchingBot, minutes: float) -> None:
    """Time passes, and every replica looks what is due."""
    bot.clock.advances(timedelta(minutes=minutes))
    for _ in range(2):
        bot.services.promises.settle(ONE)


def test_the_next_word_is_reminded_of_before_it_is_due_and_when_it_is(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Five minutes before, and once more when nobody has told them; each once."""
    comes(bot, 20)
    early = reminded(bot)
    comes(bot, 6)
    first = ana.sees("expect word by")
    comes(bot, 5)
    overdue = ana.sees("Overdue.")
    comes(bot, 30)

    assert early == []
    assert f"{warned + timedelta(minutes=30):%H:%M} UTC" in first.plain
    assert first.buttons == ("Preview an update…", "In 15 minutes")
    assert f"<@{ana.id}>" in str(overdue.blocks)
    assert reminded(bot) == ["promise-reminded"] * 2


def test_a_snooze_puts_the_reminder_off_and_not_the_promise(ana: Responder, bot: WatchingBot, warned: datetime) -> None:
    """The button answers with the time; nothing comes before it."""
    comes(bot, 26)
    answer = ana.answer_to(lambda: ana.clicks("In 15 minutes", ana.sees("expect word by")))
    ana.sees("wants to be reminded again at")
    comes(bot, 10)
    meanwhile = reminded(bot)

    comes(bot, 6)

    assert "You are reminded again at" in answer
    assert meanwhile == ["promise-reminded", "promise-snoozed"]
    assert reminded(bot) == ["promise-reminded", "promise-snoozed", "promise-reminded"]
    assert "Overdue." in ana.sees("Overdue.").plain


def test_what_fell_due_while_the_bot_was_down_is_late_and_not_lost(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Timers are rebuilt from the journal; of two missed reminders the last one is given."""
    bot.watch.close()
    bot.close()
    bot.clock.advances(timedelta(minutes=45))
    bot.start()
    timers = SchedulerTimers(bot.clock)
    timers.start()

    bot.services.promises.start(timers)
    told = ana.sees("Overdue.")

    timers.close()
    assert "In 15 minutes" in told.buttons
    assert reminded(bot) == ["promise-reminded"]


def test_a_handover_tells_the_next_one_where_it_stands(
    ana: Responder, ben: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Step, trust, promise and the last entries, in the channel, where a mention is heard."""
    refused = ana.asks("handover somebody")

    answer = ana.asks(f"handover <@{ben.id}> the savepoint of 14:00 is the good one")
    told = ben.sees("is yours now")

    assert "Expected a mention like @ben" in refused
    assert "@Ben Okafor is the responder of wl-1 now" in answer
    assert "The savepoint of 14:00 is the good one." in told.plain
    assert "consumers expect word by" in told.plain
    assert bot.services.store.get(ONE).responder == ben.id
    assert told.ts in [message.ts for message in ben.messages(ONCALL)]
