"""What waits for the end of a mute is told then, also of a table that nobody looks at."""

from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.ids import UserId
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings, post_key
from bot.service.watch_look import WatchTerms
from bot.service.watching import Watch
from tests.watch.signs import ORDERS, sign
from tests.web.scene import StandingClock


class Rhythm:
    """Timers that come when the test says so."""

    def __init__(self) -> None:
        self._again: list[Callable[[], None]] = []

    def at(self, key: str, when: datetime, do: Callable[[], None]) -> None:
        """See the port."""

    def every(self, key: str, seconds: float, do: Callable[[], None]) -> None:
        """See the port."""
        self._again.append(do)

    def cancel(self, key: str) -> None:
        """See the port."""

    def comes(self) -> None:
        """Once, all of them."""
        for each in self._again:
            each()


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty record."""
    made = open_store(f"sqlite:///{tmp_path}/journal.db")
    yield made
    made.close()


def started(store: Store, clock: StandingClock) -> tuple[Sightings, Watch, Rhythm]:
    """A watch that follows no table, over one that has a channel."""
    incidents = IncidentStore(store.journal, clock)
    sightings = Sightings(store.watched, store.outbox, incidents, clock, {ORDERS: "C0ORDERS01"})
    nobody: Any = None
    watch = Watch(nobody, sightings, incidents, clock, store.presence.alone_with, WatchTerms(), ())
    rhythm = Rhythm()
    watch.start(rhythm)
    return sightings, watch, rhythm


def is_told(store: Store, sightings: Sightings) -> bool:
    """Whether the one sighting is in the outbox."""
    [only] = sightings.memory(ORDERS).sighted
    return store.outbox.find(post_key(only)) is not None


def test_what_was_muted_on_an_unwatched_table_is_told_when_the_mute_ends(store: Store) -> None:
    """As `/waterline mute` promises."""
    clock = StandingClock()
    sightings, watch, rhythm = started(store, clock)
    sightings.mute(ORDERS, timedelta(hours=1), by=UserId("U0ANA00001"))
    sightings.see(ORDERS, sign("alert"), occasion="first")
    sightings.settle(ORDERS)
    while_muted = is_told(store, sightings)

    clock.at += timedelta(hours=1, seconds=1)
    rhythm.comes()
    watch.close()

    assert not while_muted
    assert is_told(store, sightings)
