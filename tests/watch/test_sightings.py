"""When a sighting is told: once across replicas, not while it is muted, in the thread of what it follows."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.errors import Refused, UnknownTable
from bot.domain.ids import TableName, UserId
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings, post_key
from tests.watch.signs import ORDERS, sign
from tests.web.scene import StandingClock

pytestmark = pytest.mark.smoke

ANA = UserId("U0ANA00001")


class World:
    """One database, a clock, and as many replicas as a test asks for."""

    def __init__(self, folder: Path) -> None:
        self.clock = StandingClock()
        self._url = f"sqlite:///{folder}/journal.db"
        self._stores: list[Store] = []

    def replica(self) -> Sightings:
        """One process."""
        store = open_store(self._url)
        self._stores.append(store)
        incidents = IncidentStore(store.journal, self.clock)
        return Sightings(store.watched, store.outbox, incidents, self.clock, {ORDERS: "C0ORDERS01"})

    def posts(self, sightings: Sightings) -> list[str]:
        """What was put into the outbox, as `watch/ID` or with the thread that it belongs to."""
        outbox = self._stores[0].outbox
        found = [outbox.find(post_key(each)) for each in sightings.memory(ORDERS).sighted]
        return [f"{post.key} in {post.thread_of}" if post.thread_of else post.key for post in found if post is not None]

    def close(self) -> None:
        """End every process."""
        for store in self._stores:
            store.close()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Nothing was seen yet."""
    made = World(tmp_path)
    yield made
    made.close()


def test_two_replicas_tell_a_thing_once(world: World) -> None:
    """Both see it, both settle: one note, one message."""
    first, second = world.replica(), world.replica()

    seen = [first.see(ORDERS, sign()), second.see(ORDERS, sign())]
    for each in (first, second, first):
        each.settle(ORDERS)

    assert seen == [True, False]
    assert len(world.posts(first)) == 1


def test_more_about_the_same_run_is_told_in_the_thread(world: World) -> None:
    """One fault is one message in the channel, however many names it gets."""
    sightings = world.replica()
    sightings.see(ORDERS, sign("F2", "bbbbbb"))
    sightings.see(ORDERS, sign("F12", "bbbbbb"))
    sightings.settle(ORDERS)

    first, second = world.posts(sightings)

    assert second.endswith(f" in {first}")


def test_a_mute_has_an_end_and_a_table(world: World) -> None:
    """Nobody mutes for ever, nor what is not watched."""
    sightings = world.replica()

    with pytest.raises(UnknownTable, match=r"It watches sales\.orders"):
        sightings.mute(TableName("sales.refunds"), timedelta(hours=1), by=ANA)
    for length in (timedelta(0), timedelta(hours=-4), timedelta(days=7, seconds=1)):
        with pytest.raises(Refused, match="from a minute to 7 days"):
            sightings.mute(ORDERS, length, by=ANA)
    assert sightings.memory(ORDERS).muted is None


def test_what_was_muted_for_days_is_told_in_the_channel_when_the_mute_ends(world: World) -> None:
    """Nobody reads the thread any more that was new when it was seen; what is told with it goes into its own."""
    sightings = world.replica()
    sightings.see(ORDERS, sign("F2"))
    sightings.settle(ORDERS)
    sightings.mute(ORDERS, timedelta(days=3), by=ANA)
    world.clock.at += timedelta(hours=1)
    sightings.see(ORDERS, sign("F12"))
    sightings.see(ORDERS, sign("F3"))
    sightings.settle(ORDERS)
    muted = world.posts(sightings)

    world.clock.at += timedelta(days=3)
    sightings.settle(ORDERS)
    told = world.posts(sightings)
    world.clock.at += timedelta(hours=1)
    sightings.settle(ORDERS)

    assert len(muted) == 1
    assert [" in " in each for each in told] == [False, False, True]
    assert told[2].endswith(f" in {told[1]}")
    assert told == world.posts(sightings)


def test_what_was_muted_for_hours_is_told_in_the_thread(world: World) -> None:
    """It is read still."""
    sightings = world.replica()
    sightings.see(ORDERS, sign("F2"))
    sightings.settle(ORDERS)
    sightings.mute(ORDERS, timedelta(hours=4), by=ANA)
    sightings.see(ORDERS, sign("F12"))
    sightings.settle(ORDERS)

    world.clock.at += timedelta(hours=5)
    sightings.settle(ORDERS)

    first, second = world.posts(sightings)
    assert second.endswith(f" in {first}")


def test_no_message_goes_into_the_thread_of_one_that_is_less_urgent(world: World) -> None:
    """Nobody looks there in time; what is no more urgent than the first goes into its thread."""
    sightings = world.replica()
    for each in (sign("stale", urgent=False), sign("F2"), sign("restarts", urgent=False)):
        sightings.see(ORDERS, each)
    sightings.settle(ORDERS)

    calm, urgent, more = world.posts(sightings)

    assert " in " not in urgent
    assert more.endswith(f" in {calm}")
