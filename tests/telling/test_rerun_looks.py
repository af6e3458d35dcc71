"""When it is looked whether a consumer ran again, and what is put on record of it."""

from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.domain.rerun_words import rerun_words
from bot.service.looks import LOOKS
from tests.slack.people import eventually
from tests.telling.rerunning_world import World
from tests.web.scene import Scene


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """revenue_daily says that it ran again."""
    scene = Scene(tmp_path)
    made = World(scene)
    made.says()
    yield made
    made.close()
    scene.close()


def test_what_is_found_is_on_record_once_and_again_when_it_is_another(world: World) -> None:
    """Nothing yet; then a run on what is under review; then one on what is trusted: after that nobody looks."""
    for snapshot in (None, world.scene.commits[-1], world.scene.good):
        if snapshot is not None:
            world.reads(snapshot, f"r-{len(world.checks)}")
        world.reruns.settle(world.scene.id)
        world.reruns.settle(world.scene.id)
    looks = world.looks

    world.reruns.settle(world.scene.id)

    assert [("none", ""), ("wrong", "r-1"), ("good", "r-2")] == world.checks
    assert looks == world.looks == 5
    [view] = world.scene.incidents.get(world.scene.id).notices.values()
    assert view.answers[0].check is not None
    assert rerun_words(view.answers[0].check).endswith("which is trusted")


def test_a_lineage_that_is_away_is_said_and_looked_at_again(world: World) -> None:
    """The answer stands beside it, and an event that comes late is still found."""
    kept = world.file.read_bytes()
    world.file.unlink()
    world.reruns.settle(world.scene.id)
    world.file.write_bytes(kept)
    world.reads(world.scene.good)

    world.reruns.settle(world.scene.id)

    assert [("unknown", ""), ("good", "r-1")] == world.checks


def test_who_stands_for_many_is_not_looked_for(tmp_path: Path) -> None:
    """A channel has no run of its own."""
    scene = Scene(tmp_path)
    world = World(scene, is_many=True)
    world.says()

    world.reruns.settle(scene.id)

    assert [("unknown", "")] == world.checks
    world.close()
    scene.close()


def test_it_is_looked_at_once_and_then_by_the_clock(world: World) -> None:
    """As soon as they say so, then at some moments of a day; a restart begins with one look and forgets none."""
    world.timers.start()
    world.reruns.start()
    eventually(lambda: world.checks == [("none", "")])
    looks = world.looks
    world.scene.clock.at += LOOKS[2] + timedelta(seconds=1)
    world.reads(world.scene.good)

    world.reruns.looks.look(world.scene.id)

    assert [("none", ""), ("good", "r-1")] == world.checks
    assert (1, 2) == (looks, world.looks)
