"""What comes of a message by where, when and by whom it was written: on real stores, without Slack."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.ids import TableName, UserId
from bot.domain.watch import BY_WATCH, Sighted
from bot.service.alerts import AlertDesk
from bot.service.hearing import Hearing, Said
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings, post_key
from tests.watch.signs import ORDERS
from tests.watch.test_alerts import SETUP
from tests.web.scene import StandingClock

REFUNDS = TableName("sales.refunds")
CHANNELS = {ORDERS: "C0ORDERS01", REFUNDS: "C0REFUNDS1"}
LISTENED = "C0ALERTS01"


class Asked:
    """Answers for Slack, and notes what it was asked."""

    def __init__(self, by: str = "Eli", *, is_public: bool = False) -> None:
        self._by = by
        self._is_public = is_public
        self.asked: list[str] = []

    @property
    def by(self) -> str:
        """As they are called."""
        self.asked.append("by")
        return self._by

    @property
    def is_public(self) -> bool:
        """As the test has it."""
        self.asked.append("is_public")
        return self._is_public

    @property
    def link(self) -> str | None:
        """To nowhere."""
        self.asked.append("link")
        return "https://acme.slack.example/1"


class Room:
    """Two tables, each with a channel, and a clock."""

    def __init__(self, store: Store) -> None:
        self.clock = StandingClock()
        self.store = store
        incidents = IncidentStore(store.journal, self.clock)
        self.sightings = Sightings(store.watched, store.outbox, incidents, self.clock, CHANNELS)
        setups = {table: SETUP.model_copy(update={"name": table, "job": None}) for table in CHANNELS}
        self.hearing = Hearing(
            AlertDesk(self.sightings, setups, None), self.sightings, incidents, self.clock, {LISTENED}
        )

    def hears(self, text: str, source: Asked, channel: str = LISTENED, root: str = "", bot: str = "") -> str | None:
        """Somebody writes; who is no bot mentions us."""
        at = self.clock.now()
        ts = f"{at.timestamp():.6f}"
        said = Said(room=channel, ts=ts, root=root or ts, at=at, bot=bot, is_asked=not bot, text=text)
        return self.hearing.take(said, source)

    def passes(self, span: timedelta) -> None:
        """Time goes by, and the watch settles as after each look."""
        self.clock.at += span
        for table in CHANNELS:
            self.sightings.settle(table)

    def taken(self, table: TableName = ORDERS) -> list[Sighted]:
        """What came of it, the first first."""
        return list(self.sightings.memory(table).sighted.values())


@pytest.fixture
def room(tmp_path: Path) -> Iterator[Room]:
    """Nothing was said yet."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db")
    yield Room(store)
    store.close()


def test_private_words_about_two_tables_stay_where_they_were_written(room: Room) -> None:
    """One table's own channel may be private: whoever reads the other's was not invited there."""
    room.hears("the merger: sales.orders and sales.refunds are off", Asked(), CHANNELS[ORDERS])

    own, other = room.taken(ORDERS)[0].sign, room.taken(REFUNDS)[0].sign
    assert "merger" in own.headline
    assert own.link is not None
    assert other.headline == "Eli asks to look at it."
    assert "merger" not in other.model_dump_json()
    assert other.link is None


def test_slack_is_asked_only_about_what_is_told(room: Room) -> None:
    """A storm of the same words costs it no calls; what is listened to anyway is quoted without asking."""
    first, again, over = Asked(is_public=True), Asked(), Asked()
    room.hears("sales.orders is late by 3 min", first, "C0ELSEWHERE", bot="Grafana")
    room.hears("sales.orders is late by 4 min", again, "C0ELSEWHERE", bot="Grafana")
    room.hears("[OK] sales.orders is late by 4 min", over, "C0ELSEWHERE", bot="Grafana")

    assert set(first.asked) == {"by", "is_public", "link"}
    assert again.asked == over.asked == []
    assert room.sightings.memory(ORDERS).lasting == ()


@pytest.mark.parametrize(
    ("line", "ends"),
    [
        ("[RESOLVED] sales.orders is late", True),
        ("*[OK:2]* sales.orders is late", True),
        ("Recovered: sales.orders is late", True),
        ("Recovered sales.orders is late", False),
        ("OK sales.orders is late", False),
    ],
)
def test_only_the_mark_of_a_monitoring_system_ends_what_it_began(room: Room, line: str, ends: bool) -> None:
    """In brackets or before a colon: a sentence that begins with the word tells of something."""
    room.hears("[FIRING:1] sales.orders is late", Asked(), bot="Grafana")
    room.passes(timedelta(minutes=1))

    room.hears(line, Asked(), bot="Grafana")

    assert (len(room.sightings.memory(ORDERS).lasting), len(room.taken())) == ((0, 1) if ends else (2, 2))


def test_what_was_written_before_it_was_over_and_is_taken_after_it_begins_nothing(room: Room) -> None:
    """Several messages are taken at a time. What is written later begins anew."""
    room.hears("[FIRING:1] sales.orders is late by 3 min", Asked(), bot="Grafana")
    room.passes(timedelta(minutes=1))
    room.hears("[RESOLVED] sales.orders is late by 4 min", Asked(), bot="Grafana")
    room.passes(timedelta(seconds=-1))

    room.hears("[FIRING:1] sales.orders is late by 4 min", Asked(), bot="Grafana")
    overtaken = len(room.taken())
    room.passes(timedelta(seconds=2))
    room.hears("[FIRING:1] sales.orders is late by 2 min", Asked(), bot="Grafana")

    assert (overtaken, len(room.taken())) == (1, 2)


def test_a_recovery_that_is_taken_late_does_not_end_what_began_after_it(room: Room) -> None:
    """The thread would say that it is over while it fires."""
    room.passes(timedelta(minutes=2))
    room.hears("[FIRING:1] sales.orders is late by 3 min", Asked(), bot="Grafana")
    room.passes(timedelta(minutes=-1))
    room.hears("[RESOLVED] sales.orders is late by 4 min", Asked(), bot="Grafana")

    assert len(room.sightings.memory(ORDERS).lasting) == 1


def test_what_somebody_wrote_lasts_for_a_day_and_ends_without_a_word(room: Room) -> None:
    """Nobody writes that it is over, and nobody knows: nothing is said in the thread."""
    room.hears("sales.orders looks odd", Asked())
    room.passes(timedelta(hours=23))
    before = room.sightings.memory(ORDERS).lasting

    room.passes(timedelta(hours=2))

    assert len(before) == 1
    assert room.sightings.memory(ORDERS).lasting == ()
    assert room.store.outbox.find(f"{post_key(before[0].id)}/over") is None


def test_a_muted_message_is_told_when_the_mute_ends_though_a_day_has_passed(room: Room) -> None:
    """Who asked was told so."""
    room.sightings.mute(ORDERS, "message", timedelta(days=2), by=UserId("U0ANA00001"))
    answer = room.hears("sales.orders looks odd", Asked())
    room.passes(timedelta(days=1, hours=1))
    muted = room.sightings.is_told(room.taken()[0].id)

    room.passes(timedelta(days=1))

    assert answer is not None
    assert "It is kept" in answer
    assert not muted
    assert room.sightings.is_told(room.taken()[0].id)


def test_a_mention_in_an_old_thread_is_told_anew_in_the_channel(room: Room) -> None:
    """Of a thread that was told days ago nobody reads the end."""
    room.hears("sales.orders looks odd", Asked(), root="1.1")
    soon = room.hears("still does sales.orders", Asked(), root="1.1")
    room.clock.at += timedelta(days=2)

    late = room.hears("and again sales.orders", Asked(), root="1.1")

    assert soon is not None
    assert late is not None
    assert "told already" in soon
    assert late.startswith("Told in")
    posts = [room.store.outbox.find(post_key(each.id)) for each in room.taken()]
    assert [post.thread_of for post in posts if post is not None] == [None, None]


def test_who_asks_again_while_it_waits_hears_that_it_waits(room: Room) -> None:
    """Nobody is let believe that others were told."""
    room.sightings.mute(ORDERS, None, timedelta(hours=4), by=UserId("U0ANA00001"))
    room.hears("sales.orders looks odd", Asked(), root="1.1")

    again = room.hears("sales.orders, anybody?", Asked(), root="1.1")

    assert again is not None
    assert "It is kept" in again
    assert len(room.taken()) == 1


def test_who_is_called_like_the_watch_is_not_taken_for_it(room: Room) -> None:
    """A name is chosen freely; what the watch saw itself is known by its code."""
    room.hears("sales.orders looks odd", Asked(BY_WATCH))

    sign = room.taken()[0].sign

    assert (sign.source, sign.is_of_watch) == (BY_WATCH, False)
