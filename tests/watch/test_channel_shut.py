"""A finding whose channel is shut when it is found is told when the channel is back, as long as it lasts."""

from datetime import timedelta

import pytest

from bot.workspace import SeenMessage, Workspace
from tests.slack.little_bot import as_time_goes_on, nothing_waits
from tests.slack.people import ONCALL, Responder, eventually
from tests.slack.test_lost_room import opened_again, shut
from tests.tables import ORDERS
from tests.watch.signs import sign
from tests.watch.watching_bot import WatchingBot

_SHUT = {"is_archived", "not_in_channel"}


def waits(bot: WatchingBot) -> bool:
    """Whether the newest finding was refused for its channel, and is to be sent again."""
    newest = list(bot.sightings.memory(ORDERS).sighted.values())[-1]
    post = bot.store.outbox.find(f"watch/{newest.id}")
    return post is not None and post.state == "queued" and post.problem in _SHUT


def told(ana: Responder) -> list[SeenMessage]:
    """What everybody in the channel reads of the restore."""
    return [m for m in ana.messages(ONCALL) if "was restored" in m.plain and not m.is_ephemeral]


def refused(slack: Workspace) -> int:
    """How often Slack has said that the channel is shut."""
    return sum(entry.error in _SHUT for entry in slack.wire("api", "chat.postMessage"))


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_what_was_found_meanwhile_is_told(ana: Responder, bot: WatchingBot, slack: Workspace, how: str) -> None:
    """Archived by mistake, or nobody had invited the bot yet."""
    bot.looks()
    shut(slack, how)
    bot.is_restored_from_an_older_savepoint()
    bot.looks(2)
    eventually(lambda: waits(bot))

    opened_again(slack, how)
    eventually(as_time_goes_on(bot, lambda: told(ana) != []))

    [message] = told(ana)
    assert message.buttons == ("Open incident", "Mute table for 4 hours")


def test_what_is_over_by_then_is_told_as_over(ana: Responder, bot: WatchingBot, slack: Workspace) -> None:
    """Nobody is sent to mend it."""
    bot.sightings.see(ORDERS, sign())
    shut(slack, "archived")
    bot.sightings.settle(ORDERS)
    eventually(lambda: waits(bot))
    bot.sightings.end(bot.sightings.memory(ORDERS).lasting[0], "run bbbbbb has ended.")

    opened_again(slack, "archived")
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))

    [message] = told(ana)
    assert "Over since" in message.plain
    assert message.buttons == ()


def test_what_has_long_been_over_by_then_is_not_told(ana: Responder, bot: WatchingBot, slack: Workspace) -> None:
    """A channel that comes back after a month is not filled with what nobody can act on; one that never does is not
    asked for ever."""
    bot.sightings.see(ORDERS, sign())
    shut(slack, "archived")
    bot.sightings.settle(ORDERS)
    eventually(lambda: waits(bot))
    bot.sightings.end(bot.sightings.memory(ORDERS).lasting[0], "run bbbbbb has ended.")

    bot.clock.advances(timedelta(days=1))
    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))
    opened_again(slack, "archived")
    bot.sightings.settle(ORDERS)

    assert nothing_waits(bot)
    assert ana.messages(ONCALL) == []


def test_a_channel_that_stays_shut_is_asked_ever_more_seldom(bot: WatchingBot, slack: Workspace) -> None:
    """It may be gone for good, and the finding may last. What is found later waits for itself alone."""
    bot.sightings.see(ORDERS, sign())
    shut(slack, "removed")
    bot.sightings.settle(ORDERS)
    eventually(lambda: waits(bot))
    began = bot.clock.now()

    def is_asked_again_and_again() -> bool:
        bot.clock.advances(timedelta(seconds=10))
        return refused(slack) >= 7

    eventually(is_asked_again_and_again)
    took = bot.clock.now() - began
    bot.sightings.see(ORDERS, sign("F13", "cccccc"))
    bot.sightings.settle(ORDERS)
    eventually(lambda: waits(bot))

    assert took >= timedelta(minutes=30)


@pytest.mark.parametrize("how", ["archived", "removed"])
def test_what_came_of_an_alert_waits_for_no_channel_of_a_closed_incident(
    ana: Responder, bot: WatchingBot, slack: Workspace, how: str
) -> None:
    """People archive it then: its thread is not tried for ever."""
    ana.opens()
    bot.sightings.see(ORDERS, sign("alert", "Alertmanager/1a30"), occasion="09:00")
    bot.sightings.settle(ORDERS)
    ana.sees("was restored")
    ana.asks("close anyway, it was a test")
    ana.sees("Closed by")
    eventually(lambda: nothing_waits(bot))
    shut(slack, how)

    bot.sightings.end(bot.sightings.memory(ORDERS).lasting[0], "Alertmanager reports it as resolved.")
    eventually(lambda: refused(slack) > 0)

    eventually(as_time_goes_on(bot, lambda: nothing_waits(bot)))
