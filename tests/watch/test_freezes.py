"""A freeze of maintenance that was forgotten is asked about, until somebody ends it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import Store
from bot.incident.entries import MaintenanceMarked, PromiseReminded
from bot.incident.promises import FIRST, asks_to_thaw, said_end
from bot.observation.errors import Refused
from bot.slack.blocks.promises import reminder_of_promise
from tests import orders_table as orders
from tests.decisions import ANA, BEN
from tests.incidents import Story
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
        told.append(asks_to_thaw(scene.incidents.get(scene.id)))
    now = scene.clock.at
    scene.closes()

    first, second, unfrozen, last = told
    assert first == second == (now - timedelta(hours=3), now - timedelta(hours=3) + FIRST)
    assert unfrozen is None
    assert last == (now, now + FIRST)
    assert asks_to_thaw(scene.incidents.get(scene.id)) is None
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


@pytest.fixture
def story(record: Store) -> Story:
    """Open since nine."""
    return Story(record.journal).opens()


def frozen(story: Story, *, hours: int | None = None) -> None:
    """For so many hours from now, where that is said."""
    until = None if hours is None else story.now + timedelta(hours=hours)
    story.says(MaintenanceMarked(status="frozen", sentence="So it is.", until=until), by=BEN)


def reminded(story: Story, *, after: timedelta) -> int:
    """The number of the reminder's entry."""
    since = story.incident.frozen_at
    assert since is not None
    story.now += after
    return story.says(PromiseReminded(what="unfreeze", due=since, moment=since, people=(ANA,))).incident.entries[-1].seq


def shown(story: Story, seq: int) -> str:
    """The reminder as it is drawn now."""
    incident = story.incident
    entry = next(each for each in incident.entries if each.seq == seq)
    return str([block.to_dict() for block in reminder_of_promise(incident, entry)[1]])


def test_the_newest_end_is_told(story: Story) -> None:
    """Also one that was said in answer."""
    frozen(story, hours=2)
    seq = reminded(story, after=timedelta(hours=2))
    frozen(story, hours=3)

    told = shown(story, seq)

    assert "planned end 14:04 UTC" in told
    assert "type `/waterline unfreeze`" in told


def test_an_end_of_an_earlier_freeze_is_not_told_of_this_one(story: Story) -> None:
    """It went with its unfreeze."""
    frozen(story, hours=2)
    story.says(MaintenanceMarked(status="unfrozen", sentence="So it is."))
    frozen(story)

    assert "was to end by" not in shown(story, reminded(story, after=timedelta(hours=8)))


NOW = datetime(2026, 11, 3, 10, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("typed", "after"),
    [
        ("until 18:00", timedelta(hours=8)),
        ("until 09:00", timedelta(hours=23)),
        ("until 2026-11-04 12:30", timedelta(days=1, hours=2, minutes=30)),
        ("6h", timedelta(hours=6)),
        ("for 90 m", timedelta(minutes=90)),
        ("UNTIL 18:00", timedelta(hours=8)),
        ("18:00 UTC", timedelta(hours=8)),
        ("until 2026-11-04 12:30 utc", timedelta(days=1, hours=2, minutes=30)),
        ("6 hours", timedelta(hours=6)),
        ("1 Hour", timedelta(hours=1)),
        ("30 min", timedelta(minutes=30)),
        ("2 days", timedelta(days=2)),
        ("sales.orders until 18:00", timedelta(hours=8)),
    ],
)
def test_an_end_is_a_time_or_a_length(typed: str, after: timedelta) -> None:
    """The next such time of day, in UTC."""
    assert said_end(typed, NOW, orders.TABLE) == NOW + after


@pytest.mark.parametrize("typed", ["  ", "until", "Until ", "for", "sales.orders", "Sales.Orders until"])
def test_without_an_end_nothing_is_said(typed: str) -> None:
    """Then it is asked after the usual time; the table's own name is no end."""
    assert said_end(typed, NOW, orders.TABLE) is None


@pytest.mark.parametrize("typed", ["until friday", "until 2026-11-02 10:00", "8d", "0h", "until 2027-11-03 10:00"])
def test_what_is_no_time_or_too_far_away_freezes_nothing(typed: str) -> None:
    """A table that grows for weeks is asked about before."""
    with pytest.raises(Refused, match=r"^Nothing was frozen\. Expected an end"):
        said_end(typed, NOW, orders.TABLE)


@pytest.mark.parametrize("typed", ["the nightly expiry", "sales.refunds", "forever"])
def test_words_that_name_no_end_are_named_with_what_would(typed: str) -> None:
    """Who types them believes the table safe."""
    with pytest.raises(Refused) as refused:
        said_end(typed, NOW, orders.TABLE)

    assert str(refused.value) == (
        f"Nothing was frozen. Expected an end such as 18:00, 6h or 2026-11-24 14:10 (in UTC); found “{typed}”. "
        "Type /waterline freeze alone, or with one of these."
    )


def test_the_thaw_is_asked_for_by_the_end_that_was_said(ana: Responder, bot: WatchingBot) -> None:
    """It is on record, may be said anew while the freeze lasts, and then goes on day by day."""
    ana.opens()
    frozen = ana.asks("freeze 2h")
    comes(bot, 119)
    early = asked_to_thaw(bot)
    comes(bot, 2)
    due = asked_to_thaw(bot)
    told = ana.sees("paused for 2 h").plain
    again = ana.asks("freeze 3h")
    comes(bot, 178)
    before = asked_to_thaw(bot)
    comes(bot, 3)

    assert "Waterline asks at" in frozen
    assert (early, due, before, asked_to_thaw(bot)) == (0, 1, 1, 2)
    assert "planned end" in told
    assert "is already frozen by wl-1. Waterline asks at" in again
    until = bot.services.store.get(ONE).frozen_until
    assert until is not None
    assert until <= bot.clock.now()
