"""Promises are kept in mind: reminded of once, later if somebody asks, after a restart too; and handed over."""

from datetime import datetime, timedelta

from bot.adapters.scheduler import SchedulerTimers
from tests.slack.people import ONCALL, Responder
from tests.watch.promised import ONE, ben, comes, reminded, warned
from tests.watch.watching_bot import WatchingBot

__all__ = ["ben", "warned"]


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


def test_an_incident_is_not_closed_over_a_promise_unless_somebody_says_so(
    ana: Responder, bot: WatchingBot, warned: datetime
) -> None:
    """Who closes is told what to send first; closed all the same, the reminder loses its buttons and says it."""
    comes(bot, 26)
    ana.sees("expect word by")

    refused = ana.asks("close it was nothing")
    closed = ana.asks("close Anyway, nobody reads it")

    assert "Consumers wait for word about wl-1" in refused
    assert "/waterline tell recovered, or no_action_needed" in refused
    assert "wl-1 is closed." in closed
    assert ana.sees("wl-1 was closed without this word.").buttons == ()


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
