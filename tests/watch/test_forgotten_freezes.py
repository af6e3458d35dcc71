"""A freeze that was forgotten is asked about, day by day, until the table is thawed."""

from bot.domain.entries import PromiseReminded
from tests.slack.people import Responder
from tests.watch.promised import ONE, comes
from tests.watch.watching_bot import WatchingBot


def asked_to_thaw(bot: WatchingBot) -> int:
    """How often."""
    entries = bot.services.store.get(ONE).entries
    return sum(isinstance(entry.body, PromiseReminded) and entry.body.what == "thaw" for entry in entries)


def test_a_freeze_that_was_forgotten_is_asked_about(ana: Responder, bot: WatchingBot) -> None:
    """After eight hours, then a day later and no earlier; once it is thawed, the question says so and nobody asks."""
    ana.opens()
    ana.asks("freeze")
    times = []
    for hours in (7.9, 0.2, 23, 1.1):
        comes(bot, hours * 60)
        times.append(asked_to_thaw(bot))
    told = ana.sees("paused for 32 h")
    answer = ana.asks("thaw")
    comes(bot, 60 * 24 * 3)

    assert times == [0, 1, 1, 2]
    assert f"<@{ana.id}>" in str(told.blocks)
    assert "type /waterline thaw, or close the incident" in told.plain
    assert "no longer frozen" in answer
    assert "is no longer frozen." in ana.sees(":white_check_mark: Maintenance of").plain
    assert asked_to_thaw(bot) == 2


def test_a_bot_that_was_down_for_days_asks_once_about_a_freeze(ana: Responder, bot: WatchingBot) -> None:
    """Late rather than never, and not once for each day; a second freeze does not begin it anew."""
    ana.opens()
    ana.asks("freeze")
    comes(bot, 60 * 4)
    ana.asks("freeze")

    comes(bot, 60 * 24 * 3)

    assert asked_to_thaw(bot) == 1
    assert "paused for 76 h" in ana.sees("paused for 76 h").plain


def test_an_incident_that_froze_nothing_is_not_asked(ana: Responder, bot: WatchingBot) -> None:
    """However long it is open."""
    ana.opens()

    comes(bot, 60 * 24 * 3)

    assert asked_to_thaw(bot) == 0
