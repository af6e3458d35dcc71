"""An incident that is closed while the catalog is away gets its contract review later, and whoever closes hears so."""

from collections.abc import Iterator
from contextlib import nullcontext
from datetime import timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from bot.adapters.contract_patch import ContractFiles
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.lineage import AllLineage
from bot.adapters.scheduler import SchedulerTimers
from bot.adapters.table_files import FolderOfTable
from bot.domain.entries import NoteAdded, ReviewOpened
from bot.domain.errors import CouldNotLook
from bot.domain.ids import TableName, UserId
from bot.domain.incident import Incident
from bot.domain.journal import WATERLINE
from bot.domain.table import TableState
from bot.service.background import Background
from bot.service.closing import Closing
from bot.service.late_reviews import LateReviews
from bot.service.observing import Observer
from bot.service.reviewing import Reviews
from bot.slack.closings import closed
from tests.decisions import ANA
from tests.slack.people import eventually
from tests.tables import ORDERS
from tests.web.scene import Scene, _setup


class SomeCatalog(PyIcebergCatalog):
    """The scene's, which may be away."""

    is_away = False

    def load(self, table: TableName) -> TableState:
        """See the port."""
        if self.is_away:
            raise CouldNotLook("The catalog did not answer.", "The connection was refused.", "Look.")
        return super().load(table)


class World:
    """An open incident, and what closes and reviews it."""

    def __init__(self, folder: Path) -> None:
        self.scene = Scene(folder).opens().diagnoses()
        self.catalog = SomeCatalog("lake", self.scene.catalog_properties, self.scene.clock)
        observer = Observer(self.catalog, {ORDERS: _setup(ORDERS)}, {}, AllLineage([]), FolderOfTable())
        store, clock = self.scene.incidents, self.scene.clock
        self.reviews = Reviews(store, observer, ContractFiles({}), clock)
        self.services = SimpleNamespace(closing=Closing(store, self.reviews, {}), reviews=self.reviews)
        self.timers = SchedulerTimers(clock)
        self.background = Background(store, lambda _name: nullcontext(True), workers=1)

    @property
    def incident(self) -> Incident:
        """As it stands."""
        return self.scene.incidents.get(self.scene.id)

    @property
    def late(self) -> LateReviews:
        """Of a process that has just begun."""
        outbox = self.scene.store.outbox
        return LateReviews(self.scene.incidents, self.reviews, outbox, self.background, self.scene.clock, self.timers)

    def closes(self) -> str:
        """Ana does; what she is told."""
        return closed(self.services, self.scene.id, "Done.", UserId(ANA))  # type: ignore[arg-type]

    def starts(self) -> None:
        """Timers are set from the journal alone."""
        self.late.start()
        self.timers.start()


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """The catalog answers."""
    made = World(tmp_path)
    yield made
    made.timers.close()
    made.background.close()
    made.catalog.close()
    made.scene.close()


def test_whoever_closes_hears_that_the_review_comes_later_and_it_does(world: World) -> None:
    """Also when the replica that closed it has died: another one finds it in the journal."""
    world.catalog.is_away = True
    said = world.closes()
    without = world.incident.review
    world.catalog.is_away = False
    world.scene.clock.at += timedelta(seconds=59.8)

    world.starts()

    eventually(lambda: world.incident.review is not None)
    [opened] = [each for each in world.incident.entries if isinstance(each.body, ReviewOpened)]
    assert without is None
    assert "Its contract review is not open yet, because table or job could not be looked at." in said
    assert "/waterline review wl-1 opens it, too." in said
    assert opened.by == WATERLINE


def test_a_catalog_that_stays_away_is_on_record_once(world: World) -> None:
    """It is looked again; the timeline is not filled with it."""
    world.catalog.is_away = True
    world.closes()
    late = world.late
    for _ in range(2):
        world.background.submit(world.scene.id, "Opening the contract review", lambda: late.settle(world.scene.id))
    eventually(lambda: any(isinstance(each.body, NoteAdded) for each in world.incident.entries))
    world.background.close()

    notes = [each.body.text for each in world.incident.entries if isinstance(each.body, NoteAdded)]

    assert len(notes) == 1
    assert notes[0].startswith("Opening the contract review could not be done: The catalog did not answer.")


def test_what_has_its_review_or_ended_long_ago_is_left_alone(world: World) -> None:
    """Records of earlier versions have closed incidents without one."""
    said = world.closes()
    late = world.late
    with_review = world.incident
    world.catalog.is_away = True
    world.scene.opens()
    world.closes()
    due = late._due(world.incident, True)
    world.scene.clock.at += timedelta(days=2)

    assert with_review.review is not None
    assert "contract review" not in said
    assert late._due(with_review, True) is None
    assert due is not None
    assert late._due(world.incident, True) is None


def test_what_is_given_up_after_a_day_is_said_in_the_thread_once(world: World) -> None:
    """Also when nobody was there at the last moment: a last look is made then. How to open it is said."""
    world.catalog.is_away = True
    world.closes()
    late, outbox, key = world.late, world.scene.store.outbox, f"{world.scene.id}/review/given-up"
    world.scene.clock.at += timedelta(hours=6)
    with pytest.raises(CouldNotLook):
        late.settle(world.scene.id)
    early = outbox.find(key)

    world.scene.clock.at += timedelta(hours=19)
    due = late._due(world.incident, True)
    for _ in range(2):
        with pytest.raises(CouldNotLook):
            late.settle(world.scene.id)
    post = outbox.find(key)

    assert early is None
    assert due == world.scene.clock.at + timedelta(minutes=1)
    assert post is not None
    assert post.thread_of == "wl-1/card"
    assert "`/waterline review wl-1` opens it." in (post.text or "")
    assert late._due(world.incident, True) is None
