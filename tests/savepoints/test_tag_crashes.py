"""Between the removal of a tag and its entry anything may happen: the record still tells whose deed it was."""

from collections.abc import Sequence
from datetime import datetime, timedelta

import pytest

from bot.domain.entries import Body, SavepointReleased, SavepointReleasing
from bot.domain.errors import CouldNotKeep
from bot.domain.ids import IncidentId
from bot.domain.journal import Entry
from bot.ports import Journal
from tests.savepoints.world import World

EIGHT_DAYS = timedelta(days=8)


class EndsAfter:
    """A journal on a disk that is full after so many entries."""

    def __init__(self, journal: Journal, room: int) -> None:
        self._journal = journal
        self._room = room

    def append(
        self, incident: IncidentId, after_seq: int, bodies: Sequence[Body], *, by: str, at: datetime
    ) -> tuple[Entry, ...]:
        """See the port."""
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
