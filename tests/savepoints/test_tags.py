"""The tag of a kept savepoint: it goes when its day has passed, and never while somebody doubts the table."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import pytest

from bot.incident.entries import Body, SavepointReleased, SavepointReleasing
from bot.incident.journal import Entry
from bot.observation.errors import CouldNotKeep
from bot.observation.ids import IncidentId
from bot.ports import Journal, TableChange
from bot.service.savepoints import expired_savepoints
from bot.service.timeline import sentence
from bot.slack.blocks.savepoints import catalogue_text
from tests.savepoints.world import World
from tests.tables import ORDERS


def _told(world: World) -> list[str]:
    entries = world.scene.store.get(world.scene.incident).entries
    return [sentence(entry) for entry in entries if isinstance(entry.body, SavepointReleased)]


def due(world: World, days: int) -> bool:
    """Whether a tag is to go after so many days."""
    incident = world.scene.store.get(world.scene.incident)
    return bool(expired_savepoints(incident, datetime.now(UTC) + timedelta(days=days)))


def _moved_by_hand(world: World, *, to_good: bool) -> None:
    """Somebody takes the tag away, or puts it on another snapshot."""
    table, tag = world.scene.table, world.tag or ""
    moved = {"set_tags": {tag: world.good}} if to_good else {"remove_refs": (tag,)}
    change = TableChange.model_validate({"expected_uuid": table.uuid, "expected_head": None, **moved})
    world.scene.catalog.commit(ORDERS, change)


def test_the_tag_goes_when_its_day_has_passed_and_the_record_says_so(world: World) -> None:
    """Once, however often it is looked at; the snapshot itself is left to maintenance."""
    world.plans()
    world.takes_it()
    world.closes()
    tags, snapshots = world.tags(), world.scene.table.by_id

    assert due(world, 8)
    tags.release(world.scene.incident)
    tags.release(world.scene.incident)

    assert world.tag is None
    assert world.scene.table.by_id.keys() == snapshots.keys()
    assert len(told := _told(world)) == 1
    assert "The savepoint expired. Its tag savepoint-5-" in told[0]
    assert not due(world, 8)
    assert "removed), code 1.4" in catalogue_text(ORDERS, world.savepoints.catalogue(ORDERS))


def test_the_serving_bot_looks_for_such_tags_by_itself(world: World) -> None:
    """What `waterline serve` does now and then is enough, although nothing is open."""
    world.takes_it()
    world.closes()
    services = world.services(timedelta(days=8))

    services.reconciler.reconcile_all()
    services.background.close()

    assert world.tag is None


def test_a_savepoint_without_a_plan_is_kept_for_seven_days(world: World) -> None:
    """The day before, nothing is due; the day after, it is."""
    world.takes_it()
    world.closes()

    assert [False, True] == [due(world, days) for days in (6, 8)]


def test_the_tag_stays_while_its_own_incident_is_open(world: World) -> None:
    """The way back is needed for as long as people are at work."""
    world.plans()
    world.takes_it()

    world.tags().release(world.scene.incident)

    assert world.tag is not None
    assert _told(world) == []


def test_the_tag_stays_while_another_incident_is_open_on_the_table(world: World) -> None:
    """And goes when that one is closed, too."""
    world.plans()
    world.takes_it()
    world.closes()
    world.opens_another()
    tags = world.tags()

    tags.release(world.scene.incident)

    assert world.tag is not None
    assert _told(world) == []


def test_a_tag_that_somebody_has_removed_is_noted_and_not_looked_for_again(world: World) -> None:
    """What is gone is said to be gone, not taken for our deed."""
    world.takes_it()
    world.closes()
    _moved_by_hand(world, to_good=False)

    world.tags(timedelta(days=8)).release(world.scene.incident)

    assert ["was already removed" in text for text in _told(world)] == [True]
    assert not due(world, 8)


def test_a_tag_that_somebody_has_moved_is_left_where_it_is(world: World) -> None:
    """It is theirs now."""
    world.takes_it()
    world.closes()
    _moved_by_hand(world, to_good=True)

    world.tags(timedelta(days=8)).release(world.scene.incident)

    assert world.scene.table.ref(world.tag or "") == world.good
    assert ["names another snapshot and was kept" in text for text in _told(world)] == [True]


EIGHT_DAYS = timedelta(days=8)


class EndsAfter:
    """A journal on a disk that is full after so many entries."""

    def __init__(self, journal: Journal, room: int) -> None:
        self._journal = journal
        self._room = room

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        if self._room == 0:
            raise CouldNotKeep("The record was not written.", "The disk is full.", "Make room.")
        self._room -= 1
        return self._journal.append(incident, after_seq, bodies, by=by, at=at)

    def __getattr__(self, name: str) -> object:
        return getattr(self._journal, name)


def _cut_short(world: World, *, after: int) -> None:
    """The day has passed, and the removal ends with this many entries written."""
    world.takes_it()
    world.closes()
    journal = EndsAfter(world.scene.record.journal, after)
    with pytest.raises(CouldNotKeep):
        world.tags(EIGHT_DAYS, journal).release(world.scene.incident)  # type: ignore[arg-type]


def _entries(world: World) -> list[str]:
    found = world.scene.store.get(world.scene.incident).entries
    return [
        body.how if isinstance(body, SavepointReleased) else "intent"
        for body in (entry.body for entry in found)
        if isinstance(body, SavepointReleased | SavepointReleasing)
    ]


def test_a_removal_that_was_cut_off_from_the_record_is_known_as_our_own(world: World) -> None:
    """The tag is gone, the intent is there: the next look writes the end, once."""
    _cut_short(world, after=1)
    before = _entries(world)

    assert (world.tag, before) == (None, ["intent"])
    world.tags(EIGHT_DAYS).release(world.scene.incident)
    world.tags(EIGHT_DAYS).release(world.scene.incident)

    assert _entries(world) == ["intent", "removed"]


def test_without_the_intent_on_record_the_tag_is_not_touched(world: World) -> None:
    """Nothing is done that the journal does not say first; the next look does it all."""
    _cut_short(world, after=0)
    stands = world.tag

    world.tags(EIGHT_DAYS).release(world.scene.incident)

    assert stands is not None
    assert world.tag is None
    assert _entries(world) == ["intent", "removed"]


def test_an_open_incident_keeps_also_the_intent_from_the_record(world: World) -> None:
    """Who removes the tag in the meantime has done it, not Waterline."""
    world.takes_it()
    world.closes()
    world.opens_another()

    world.tags(EIGHT_DAYS).release(world.scene.incident)

    assert _entries(world) == []
