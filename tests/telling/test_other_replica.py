"""What another replica puts on record is followed here, whatever becomes of that replica."""

from collections.abc import Iterator
from contextlib import closing
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.journal_sql import open_store
from bot.domain.entries import NoteAdded, NoticeAnswered
from bot.service.incident_store import IncidentStore
from bot.service.looks import LOOKS
from tests.decisions import ANA
from tests.slack.people import eventually
from tests.telling.rerunning_world import DANA, World
from tests.web.scene import Scene


@pytest.fixture
def world(tmp_path: Path) -> Iterator[World]:
    """Consumers were told; nobody has answered. Timers run."""
    scene = Scene(tmp_path)
    made = World(scene)
    made.tells()
    made.timers.start()
    yield made
    made.close()
    scene.close()


def test_what_another_process_adds_after_the_end_is_seen(tmp_path: Path) -> None:
    """Consumers answer links after an incident has ended, wherever the click arrives."""
    scene = Scene(tmp_path)
    scene.opens(mark=False).closes()
    [before] = scene.incidents.all()
    with closing(open_store(scene.journal_url)) as store:
        other = IncidentStore(store.journal, scene.clock)
        other.write(scene.id, by=ANA, decide=lambda _now: [NoteAdded(text="Seen by finance.")])

        [after] = scene.incidents.all()

    assert before.seq + 1 == after.seq
    assert after is scene.incidents.all()[0]
    scene.close()


@pytest.mark.parametrize("is_closed", [False, True])
def test_a_re_run_that_was_told_elsewhere_is_looked_for_here(world: World, is_closed: bool) -> None:
    """The replica that took the answer died before it looked: the next moment is this one's."""
    scene = world.scene
    if is_closed:
        scene.closes()
    world.reruns.start()
    with closing(open_store(scene.journal_url)) as store:
        answer = NoticeAnswered(key=world.key, answer="re-ran")
        IncidentStore(store.journal, scene.clock).write(scene.id, by=DANA, decide=lambda _now: [answer])
    scene.clock.at += LOOKS[0] - timedelta(milliseconds=200)

    world.reruns.looks.follow()
    world.reruns.looks.follow()

    eventually(lambda: world.checks == [("none", "")])
    assert 1 == world.looks


def test_following_does_not_put_off_a_look(world: World) -> None:
    """A timer that is set and due any moment is left as it is."""
    scene = world.scene
    answer = NoticeAnswered(key=world.key, answer="re-ran")
    scene.incidents.write(scene.id, by=DANA, decide=lambda _now: [answer])
    scene.clock.at += LOOKS[0] - timedelta(milliseconds=300)
    world.reruns.looks.follow()
    scene.clock.at += timedelta(milliseconds=600)

    world.reruns.looks.follow()

    eventually(lambda: world.checks == [("none", "")])
