"""The JobManager dies between the stop and the start of an approved rewind, with a real Flink."""

import contextlib
import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from bot.lab.external_writers import Machines
from bot.lab.flink_rest import FlinkRest
from tests.lab_fixtures import FreshLab
from tests.walks.world import Incident, incident

pytestmark = [pytest.mark.slow, pytest.mark.long]
STORY = "restored-from-older-savepoint"
STOP, START = 1, 3
"""Places of these effects in a rewind: freeze, stop, move, start."""


def test_a_rewind_goes_on_when_the_jobmanager_is_back(fresh_lab: FreshLab, tmp_path: Path) -> None:
    """Killed after the stop, with all that it knew of jobs: the start happens once, when Flink is back."""
    lab = fresh_lab("v2")
    lab.tell(STORY)
    with incident(lab, tmp_path) as world, world.bot() as bot, _machines(world) as machines:
        world.walk(STORY, stop_at="Execute")
        world.until(lambda: STOP in _done(world))
        os.kill(bot.pid, signal.SIGSTOP)
        asked = _intents(world)
        old = machines.kill_jobmanager()
        os.kill(bot.pid, signal.SIGCONT)
        machines.await_new_jobmanager(old)
        assert START not in asked
        world.until(lambda: bool(world.journal("verified")), 150)

        assert _done(world).count(START) == 1
        assert [each["outcome"] for each in world.journal("execution-ended")] == ["applied"]
        assert [each["passed"] for each in world.journal("verified")] == [True]
        with contextlib.closing(FlinkRest(lab.state.flink_url)) as flink:
            assert len(flink.running()) == 1
        positions = world.positions()
        assert positions == list(range(1, len(positions) + 1))


def _intents(world: Incident) -> list[object]:
    return [each["index"] for each in world.journal("effect-started")]


def _done(world: Incident) -> list[object]:
    return [each["index"] for each in world.journal("effect-ended") if each["how"] == "done"]


@contextlib.contextmanager
def _machines(world: Incident) -> Iterator[Machines]:
    with contextlib.closing(FlinkRest(world.lab.state.flink_url)) as flink:
        yield Machines(world.lab.home, flink)
