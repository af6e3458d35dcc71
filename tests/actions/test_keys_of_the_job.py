"""What is put back carries the keys of the job's newest lost commit, whoever else committed after that."""

import pytest

from bot.actions import forward_job, restore_job_only, restore_lost_commits
from bot.domain.action import Action
from bot.domain.snapshot import REPAIR
from tests.actions.scene import Scene
from tests.actions.test_put_back import carried, with_ledger
from tests.tables import job, rows

A = job("a")
SPARK = {"engine-name": "spark", "spark.app.id": "local-17"}


@pytest.mark.parametrize("is_backfilled", [False, True])
@pytest.mark.parametrize("action", [forward_job, restore_job_only], ids=["forward_job", "restore_job_only"])
def test_a_backfill_above_the_lost_commits_does_not_hide_them_from_the_next_start(
    scene: Scene, is_backfilled: bool, action: Action
) -> None:
    """Without the keys savepoint 3 paired with the head, and a start from it read again what had been put back."""
    scene.flink.savepoint(A)
    scene.flink.checkpoints(A, 2)
    scene.flink.savepoint(A)
    scene.flink.ends(A, "FINISHED")
    if is_backfilled:
        scene.backfill_commits()
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.commits(rows(range(800, 803)), SPARK)
    keys = carried(restore_lost_commits.propose(with_ledger(scene.plan())))
    repair = {"engine-name": "waterline", REPAIR: "01X/3", "waterline.incident": scene.incident}
    scene.commits(rows(range(30, 50)), {**keys, **repair})
    plan = scene.plan()

    scene.carries_out(action.propose(plan), plan)  # type: ignore[attr-defined]

    assert keys["flink.max-committed-checkpoint-id"] == "5"
    positions = scene.positions()
    assert len(positions) == len(set(positions))
