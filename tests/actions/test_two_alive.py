"""What cannot be proposed while two runs of the job are alive names the way out, with both runs."""

from types import ModuleType

import pytest

from bot.actions import forward_job, rewind_table_and_job, take_savepoint
from bot.domain.errors import Refused
from tests.actions.scene import Scene
from tests.tables import job


@pytest.mark.parametrize("action", [rewind_table_and_job, forward_job, take_savepoint])
def test_the_fork_is_resolved_first(scene: Scene, action: ModuleType) -> None:
    """By the action that stops one of two runs."""
    savepoint = scene.flink.savepoint(job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint)
    plan = scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("b"))

    with pytest.raises(Refused) as refused:
        action.propose(plan)

    said = str(refused.value)
    assert "First stop the other one: `/waterline propose resolve_fork keep=RUN`" in said
    assert "aaaaaa" in said
    assert "bbbbbb" in said
    assert "Then collect evidence again and diagnose." in said


def test_of_three_all_but_two_are_stopped_by_hand(scene: Scene) -> None:
    """The action stops one of two."""
    savepoint = scene.flink.savepoint(job("a"))
    for run in ("b", "c"):
        scene.flink.submit(job(run), at_checkpoint=3, restored=savepoint)

    with pytest.raises(Refused, match=r"First stop all but two by hand\. Then stop the other one"):
        take_savepoint.propose(scene.plan())
