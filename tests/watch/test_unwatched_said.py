"""Nobody is promised a look at a table with `watch: false`: it is said that nobody looks."""

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from bot.adapters.journal_sql.store import Store, open_store
from bot.service.incident_store import IncidentStore
from bot.service.sightings import Sightings
from bot.service.watch_look import WatchTerms
from bot.service.watching import Watch
from bot.slack.commands import watched
from tests.watch.signs import ORDERS
from tests.web.scene import StandingClock


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    """An empty record."""
    made = open_store(f"sqlite:///{tmp_path}/journal.db")
    yield made
    made.close()


@pytest.mark.parametrize("is_watched", [True, False])
def test_the_answer_says_whether_anybody_looks(store: Store, is_watched: bool) -> None:
    """`/waterline watch`; the watch has not begun yet."""
    clock = StandingClock()
    incidents = IncidentStore(store.journal, clock)
    sightings = Sightings(store.watched, store.outbox, incidents, clock, {ORDERS: "C0ORDERS01"})
    nobody: Any = None
    followed = (ORDERS,) if is_watched else ()
    watch = Watch(nobody, sightings, incidents, clock, lambda _name: nobody, WatchTerms(), followed)
    watch.close()
    services: Any = SimpleNamespace(sightings=sightings, clock=clock, watch=watch)

    listed = watched(services, nobody)

    assert ("not looked at by this process yet" in listed) is is_watched
    assert ("not watched (`watch: false`)" in listed) is not is_watched
