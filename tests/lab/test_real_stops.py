"""What a stop leaves of a run's retained checkpoints, on a real cluster: the bot chooses its way by it."""

from pathlib import Path

import pytest

from bot.adapters.flink_rest import FlinkRest
from bot.lab.home import local
from bot.lab.world import World
from bot.observation.ids import JobId
from tests.lab_fixtures import FreshLab
from tests.slack.people import eventually

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
JOB = "orders-to-iceberg"


def test_a_cancel_keeps_the_checkpoint_that_a_stop_with_savepoint_deletes(fresh_lab: FreshLab) -> None:
    """RETAIN_ON_CANCELLATION is what it says: Flink deletes them when the run ends with a savepoint."""
    lab = fresh_lab("v2")
    with World(lab.home, lambda _: None) as world:
        flink = FlinkRest(world.state.flink_url, savepoint_dir=world.state.savepoint_dir)
        first = world.running_job()
        world.await_commits(first, 2)

        kept = flink.stop(JOB, JobId(first), keeps_checkpoints=True)
        left = _retained(world, first)
        second = world.start_job(from_path=left[-1].as_uri())
        world.await_checkpoints(second, above=0, count=2)
        before = _retained(world, second)
        ended = flink.stop(JOB, JobId(second))
        flink.close()

        assert kept.savepoint is None
        assert ended.savepoint is not None
        assert before
        eventually(lambda: not _retained(world, second))
        assert _retained(world, first) == left


def _retained(world: World, job_id: str) -> list[Path]:
    return sorted((local(world.state.checkpoint_dir) / job_id).glob("chk-*"), key=lambda each: int(each.name[4:]))
