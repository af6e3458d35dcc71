"""When lineage is looked at again for late readers: by the clock, for a day, after a restart, and no longer."""

from datetime import timedelta

import pytest

from bot.domain.errors import CouldNotLook
from bot.service import late_readers
from bot.service.looks import LOOKS
from tests.slack.people import eventually
from tests.telling.cleared_readers import Cleared, scene, world

__all__ = ["scene", "world"]


def test_it_is_looked_at_by_the_clock_for_a_day_and_no_longer(world: Cleared) -> None:
    """A restart sets the next moment from the record; after the last one lineage is left alone."""
    world.timers.start()
    world.late.start()
    world.reads(world.scene.commits[-1], "late")
    world.scene.clock.at += LOOKS[-1] + timedelta(seconds=1)

    world.late.looks.look(world.scene.id)

    eventually(lambda: world.told[-1].kind == "correction")
    eventually(lambda: world.late._due(world.scene.incidents.get(world.scene.id), True) is None)


def test_a_look_that_could_not_see_is_made_again_in_an_hour(world: Cleared) -> None:
    """Lineage was away at the last moment of all: that is not "nothing found"."""
    hidden = world.file.rename(world.file.with_suffix(".away"))
    world.scene.clock.at += LOOKS[-1]
    incident = world.scene.incidents.get(world.scene.id)

    with pytest.raises(CouldNotLook, match="Not all readers"):
        world.late.settle(world.scene.id)
    again = world.late._due(incident, True)
    hidden.rename(world.file)
    world.reads(world.scene.commits[-1], "late")
    world.scene.clock.at += timedelta(hours=1)
    world.late.settle(world.scene.id)

    assert again == world.scene.clock.at
    assert world.told[-1].kind == "correction"
    assert world.late._due(world.scene.incidents.get(world.scene.id), True) is None


def test_a_record_that_ended_long_ago_is_not_walked(world: Cleared, monkeypatch: pytest.MonkeyPatch) -> None:
    """Every incident there ever was is asked for its next look three times a minute."""
    walked: list[str] = []
    incident = world.scene.incidents.get(world.scene.id)
    monkeypatch.setattr(late_readers, "runs_told", lambda incident: walked.append(incident.id) or {})

    world.late._due(incident, False)
    world.scene.clock.at += timedelta(days=7)
    world.late._due(incident, False)

    assert walked == [incident.id]


def test_a_restart_that_comes_late_makes_the_look_that_was_missed(world: Cleared) -> None:
    """The bot was down when a day was over: it looks at once, and once."""
    world.reads(world.scene.commits[-1], "late")
    world.scene.clock.at += LOOKS[-1] + timedelta(days=2)
    world.timers.start()

    world.late.start()

    eventually(lambda: world.told[-1].kind == "correction")
    eventually(lambda: world.late._due(world.scene.incidents.get(world.scene.id), True) is None)


def test_what_was_missed_long_ago_is_left_alone(world: Cleared) -> None:
    """Not every incident of the past is looked at whenever the bot starts."""
    world.scene.clock.at += timedelta(days=7)

    assert world.late._due(world.scene.incidents.get(world.scene.id), True) is None


def test_who_read_nothing_wrong_is_left_alone_after_a_day(world: Cleared) -> None:
    """Nothing is looked at for ever."""
    incident = world.scene.incidents.get(world.scene.id)
    assert world.late._due(incident, False) is not None

    world.scene.clock.at += LOOKS[-1]

    assert world.late._due(incident, False) is None
