"""What a real cluster does to the savepoint that a run was restored from when that run ends: by the restore's mode."""

from pathlib import Path

import pytest

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.flink_rest import FlinkRest
from bot.lab.world import World
from bot.observation.ids import JobId
from tests.lab_fixtures import FreshLab

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400)]
JOB = "orders-to-iceberg"
MODE = "execution.state-recovery.claim-mode"


@pytest.mark.parametrize(("mode", "is_there"), [("CLAIM", False), ("NO_CLAIM", True)])
def test_what_was_claimed_goes_with_the_run_and_the_bot_waits_for_it(
    fresh_lab: FreshLab, mode: str, is_there: bool
) -> None:
    """Flink does not tell the mode, and deletes after it has told the end: the look afterwards must not come before."""
    lab = fresh_lab("v2")
    with World(lab.home, lambda _: None) as world:
        flink = FlinkRest(world.state.flink_url, savepoint_dir=world.state.savepoint_dir)
        stored = CheckpointFiles(world.state.checkpoint_dir, world.state.savepoint_dir)
        first = world.running_job()
        world.await_commits(first, 2)
        savepoint = flink.stop(JOB, JobId(first)).savepoint
        second = world.start_job(from_path=savepoint, properties={MODE: mode})
        world.await_checkpoints(second, above=0, count=2)
        run = flink.run(JobId(second))
        assert run.may_own(savepoint)

        flink.stop(JOB, JobId(second))
        flink.close()

        assert stored.outlasts(savepoint) is is_there
        assert Path(savepoint.removeprefix("file:"), "_metadata").exists() is is_there
