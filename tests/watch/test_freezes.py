"""A freeze of maintenance that was forgotten is asked about, until somebody ends it."""

from datetime import timedelta
from pathlib import Path

from bot.incident.entries import MaintenanceMarked, PromiseReminded
from bot.incident.promises import FROZEN_LONG, reminders
from tests.decisions import ANA
from tests.slack.people import Responder
from tests.watch.promised import ONE, comes
from tests.watch.watching_bot import WatchingBot
from tests.web.scene import Scene


def test_a_second_freeze_goes_on_from_the_first_and_a_thaw_ends_it(tmp_path: Path) -> None:
    """A recovery freezes what a responder had frozen before; a unfreeze ends it, and so does the end."""
    scene = Scene(tmp_path).opens(mark=False)
    told = []
    for status in ("frozen", "frozen", "unfrozen", "frozen"):
        scene.clock.at += timedelta(hours=1)
        body = MaintenanceMarked.model_validate({"status": status, "sentence": "So it is."})
        scene.incidents.write(scene.id, by=ANA, decide=lambda _incident, body=body: [body])
        told.append([(each.due, each.moment) for each in reminders(scene.incidents.get(scene.id), None)])
    now = scene.clock.at
    scene.closes()

    first, second, unfrozen, last = told
    assert first == second == [(now - timedelta(hours=3), now - timedelta(hours=3) + FROZEN_LONG)]
    assert unfrozen == []
    assert last == [(now, now + FROZEN_LONG)]
    assert reminders(scene.incidents.get(scene.id), None) == ()
    scene.close()


def asked_to_thaw(bot: WatchingBot) -> int:
    entries = bot.services.store.get(ONE).entries
    return sum(isinstance(entry.body, PromiseReminded) and entry.body.what == "unfreeze" for entry in entries)


def test_a_freeze_that_was_forgotten_is_asked_about(ana: Responder, bot: WatchingBot) -> None:
    """After eight hours, then a day later and no earlier; once it is unfrozen, the question says so and nobody asks."""
    ana.opens()
    ana.asks("freeze")
    times = []
    for hours in (7.9, 0.2, 23, 1.1):
        comes(bot, hours * 60)
        times.append(asked_to_thaw(bot))
    told = ana.sees("paused for 32 h")
    answer = ana.asks("unfreeze")
    comes(bot, 60 * 24 * 3)

    assert times == [0, 1, 1, 2]
    assert f"<@{ana.id}>" in str(told.blocks)
    assert "type /waterline unfreeze, or close the incident" in told.plain
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
