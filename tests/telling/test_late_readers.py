"""Whose run lineage shows only after the closing message is due for a correction, which a person sends."""

from contextlib import closing

import pytest

from bot.domain.corrections import corrections_due
from bot.domain.entries import LateRunsSeen
from bot.domain.errors import Refused
from tests.decisions import ANA
from tests.telling.cleared_readers import Cleared, runs_of, scene, world
from tests.web.scene import Scene

__all__ = ["scene", "world"]


def seen(world: Cleared) -> list[tuple[str, ...]]:
    """What each look put on record."""
    entries = world.scene.incidents.get(world.scene.id).entries
    return [entry.body.runs for entry in entries if isinstance(entry.body, LateRunsSeen)]


def due(world: Cleared) -> list[str]:
    """Who is due, by now."""
    return [each.consumer for each in corrections_due(world.scene.incidents.get(world.scene.id))]


def sends(world: Cleared) -> None:
    """Ana sends what the card's button previews."""
    name, _ = world.telling.preview_correction(world.scene.id, by=ANA)
    world.telling.send_preview(world.scene.id, name, by=ANA, step=None)


def test_a_run_that_is_seen_late_is_due_until_a_person_sends_the_correction(world: Cleared) -> None:
    """Its event came after the closing message; a look sends nothing, and further looks change nothing."""
    world.late.look(world.scene.id)
    world.reads(world.scene.commits[-1], "late")
    world.late.look(world.scene.id)
    world.late.look(world.scene.id)
    before, shown = [notice.kind for notice in world.told], due(world)

    sends(world)
    world.late.look(world.scene.id)

    assert (["recovered"], ["revenue_daily"], [("late",)]) == (before, shown, seen(world))
    correction = world.told[-1]
    assert correction.data is not None
    assert correction.data.rerun is not None
    assert (correction.data.rerun.needed, correction.data.rerun.runs) == (True, ("late",))
    assert [] == due(world)
    with pytest.raises(Refused):
        world.telling.preview_correction(world.scene.id, by=ANA)


def test_a_second_run_that_is_seen_later_is_due_too(world: Cleared) -> None:
    """They have replaced what the first one made, and nothing of the second."""
    world.reads(world.scene.commits[-1], "late")
    world.late.look(world.scene.id)
    sends(world)
    world.reads(world.scene.commits[-2], "later")

    world.late.look(world.scene.id)

    assert [("late",), ("later",)] == seen(world)
    assert ["revenue_daily"] == due(world)


def test_a_person_may_say_why_not_and_a_further_run_is_due_again(world: Cleared) -> None:
    """The reason is on record; further looks do not show the same run again."""
    world.reads(world.scene.commits[-1], "late")
    world.late.look(world.scene.id)
    with pytest.raises(Refused):
        world.telling.decline_correction(world.scene.id, " ", by=ANA)
    world.telling.decline_correction(world.scene.id, "It was a test.", by=ANA)
    world.late.look(world.scene.id)
    declined = due(world)

    world.reads(world.scene.commits[-2], "later")
    world.late.look(world.scene.id)

    assert [] == declined
    assert ["revenue_daily"] == due(world)


def test_whoever_had_to_run_again_is_due_for_a_further_run(scene: Scene) -> None:
    """The closing message named one; nothing is due as long as it is the only one."""
    with closing(Cleared(scene, read=scene.commits[-1])) as world:
        assert runs_of(world.told[0]) == {"right"}
        world.late.look(scene.id)
        before = due(world)
        world.reads(scene.commits[-2], "later")

        world.late.look(scene.id)

        assert ([], ["revenue_daily"], [("later",)]) == (before, due(world), seen(world))


def test_a_channel_is_due_for_each_further_run(scene: Scene) -> None:
    """As the support channels of a data contract are."""
    with closing(Cleared(scene, is_many=True)) as world:
        for run in ("late", "later"):
            world.reads(scene.commits[-1], run)
            world.late.look(scene.id)
            world.late.look(scene.id)
            sends(world)

        assert ["recovered", "correction", "correction"] == [notice.kind for notice in world.told]
        assert "`revenue_daily`: 1 run" in world.told[1].text
        assert "`revenue_daily`: 2 runs" in world.told[2].text


def test_it_is_due_also_when_the_incident_is_closed(world: Cleared) -> None:
    """Events come when a run has ended, and incidents end sooner."""
    world.scene.closes()
    world.reads(world.scene.commits[-1], "late")

    world.late.look(world.scene.id)

    assert ["revenue_daily"] == due(world)


def test_a_correction_while_another_incident_has_the_table_in_doubt_leaves_it_due(world: Cleared) -> None:
    """It does not ask anybody to run again yet."""
    first = world.scene.id
    world.scene.closes().opens()
    world.scene.id = first
    world.reads(world.scene.commits[-1], "late")
    world.late.look(first)

    sends(world)

    assert "Please run again" not in world.told[-1].text
    assert ["revenue_daily"] == due(world)
