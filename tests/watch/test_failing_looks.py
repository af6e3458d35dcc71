"""A look that always ends in an error is told as being blind, and holds up nothing that waits to be told."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.domain.ids import TableName
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings, post_key
from bot.service.watch_look import Look, TableSeen, WatchTerms
from bot.service.watching import Watch
from tests.watch.signs import ORDERS, sign
from tests.web.scene import StandingClock

TERMS = WatchTerms(patience=timedelta(minutes=2))


class BrokenEye:
    """Its look ends in an error that nobody foresaw, until it is mended."""

    is_broken = True

    def look(self, _table: TableName, _seen: TableSeen) -> Look:
        """See Eye."""
        if self.is_broken:
            raise KeyError("summary")
        return Look(signs=())


class World:
    """A watch with such an eye."""

    def __init__(self, store: Store) -> None:
        self.clock = StandingClock()
        self.store = store
        self.eye: Any = BrokenEye()
        incidents = IncidentStore(store.journal, self.clock)
        self.sightings = Sightings(store.watched, store.outbox, incidents, self.clock, {ORDERS: "C0ORDERS01"})
        alone = store.presence.alone_with
        self.watch = Watch(self.eye, self.sightings, incidents, self.clock, alone, TERMS, (ORDERS,))

    def fails(self, times: int) -> None:
        """It looks each minute."""
        for _ in range(times):
            with pytest.raises(KeyError):
                self.watch.look(ORDERS)
            self.clock.at += timedelta(minutes=1)

    @property
    def told(self) -> list[str]:
        """Headlines that are in the outbox."""
        seen = self.sightings.memory(ORDERS).sighted.values()
        return [each.sign.headline for each in seen if self.store.outbox.find(post_key(each.id)) is not None]


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Nothing was seen yet."""
    store = open_store(f"sqlite:///{tmp_path}/journal.db")
    made = World(store)
    yield made
    made.watch.close()
    store.close()


def test_a_watch_that_only_fails_says_that_it_is_blind(world: World) -> None:
    """After the patience that any source has, once; and that is over when it looks again."""
    world.fails(2)
    early = world.told
    world.fails(3)
    [late] = world.told

    world.eye.is_broken = False
    for _ in range(2):
        world.watch.look(ORDERS)
        world.clock.at += timedelta(minutes=2)

    assert early == []
    assert "has not been able to look at sales.orders since 3 Nov 2026, 09:00:00 UTC" in late
    assert world.sightings.memory(ORDERS).lasting == ()


def test_what_waits_is_told_though_the_look_fails(world: World) -> None:
    """An alert that came in quiet hours, and a failing watch in the morning."""
    world.sightings.see(ORDERS, sign("alert"), occasion="first")

    world.fails(1)

    assert len(world.told) == 1


def test_one_failure_among_looks_that_succeed_is_nothing_to_tell(world: World) -> None:
    """What counts is that no look since has succeeded."""
    world.fails(1)
    world.eye.is_broken = False
    world.watch.look(ORDERS)
    world.clock.at += timedelta(minutes=5)
    world.eye.is_broken = True

    world.fails(1)

    assert world.told == []
