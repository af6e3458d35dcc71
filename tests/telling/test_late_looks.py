"""When lineage is looked at again for late readers: for a day, after a restart, and no longer."""

from datetime import timedelta

import pytest

from bot.adapters.lineage import AllLineage
from bot.domain.entries import LateRunsSeen, NoteAdded
from bot.domain.errors import CouldNotLook
from bot.service import late_readers
from bot.service.late_readers import LOOKS
from tests.slack.people import eventually
from tests.telling.cleared_readers import Cleared, scene, world

__all__ = ["scene", "world"]


def is_due(world: Cleared) -> bool:
    """Whether this process looks now."""
    return world.late.is_due(world.scene.incidents.get(world.scene.id))


def is_seen(world: Cleared) -> bool:
    """Whether a late run is on record."""
    return any(isinstance(e.body, LateRunsSeen) for e in world.scene.incidents.get(world.scene.id).entries)


def test_it_is_looked_at_at_each_moment_once_and_then_no_longer(world: Cleared) -> None:
    """Moments after the closing message."""
    told_at, dues = world.scene.clock.at, []
    for wait in LOOKS:
        world.scene.clock.at = told_at + wait
        dues.append(is_due(world))
        world.late.look(world.scene.id)
        dues.append(is_due(world))
    world.scene.clock.at += timedelta(days=1)

    assert [True, False] * len(LOOKS) == dues
    assert not is_due(world)


def test_a_look_that_could_not_see_is_made_again_in_an_hour(world: Cleared) -> None:
    """Lineage was away at the last moment of all: that is not "nothing found"."""
    hidden = world.file.rename(world.file.with_suffix(".away"))
    world.scene.clock.at += LOOKS[-1]
    with pytest.raises(CouldNotLook, match="Not all readers"):
        world.late.look(world.scene.id)
    at_once = is_due(world)
    hidden.rename(world.file)
    world.reads(world.scene.commits[-1], "late")
    world.scene.clock.at += timedelta(hours=1)
    again = is_due(world)

    world.late.look(world.scene.id)

    assert (False, True, True) == (at_once, again, is_seen(world))
    assert not is_due(world)


def test_lineage_that_is_configured_no_more_is_said_once(world: Cleared) -> None:
    """However often it is tried."""
    world.observer._reads = AllLineage([])
    for _ in range(3):
        world.background._run((world.scene.id, "Looking"), lambda: world.late.look(world.scene.id))

    notes = [e.body for e in world.scene.incidents.get(world.scene.id).entries if isinstance(e.body, NoteAdded)]
    assert len(notes) == 1
    assert "no source is configured" in notes[0].text


def test_a_record_that_ended_long_ago_is_not_walked(world: Cleared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every incident there ever was is asked each minute."""
    walked: list[str] = []
    monkeypatch.setattr(late_readers, "runs_told", lambda incident: walked.append(incident.id) or {})

    is_due(world)
    world.scene.clock.at += timedelta(days=7)
    is_due(world)

    assert walked == [world.scene.id]


def test_a_restart_that_comes_late_makes_the_look_that_was_missed(world: Cleared) -> None:
    """The bot was down when a day was over: it looks at once, and once."""
    world.reads(world.scene.commits[-1], "late")
    world.scene.clock.at += LOOKS[-1] + timedelta(days=2)

    world.late.look_where_due()

    eventually(lambda: is_seen(world))
    eventually(lambda: not is_due(world))
