"""A stop never deletes the checkpoint from which the same proposal starts the job.

Flink deletes what it retains of a run that ends with a savepoint, also with RETAIN_ON_CANCELLATION.
"""

from pathlib import Path

import pytest

from bot.actions import forward_job, restart_with_new_job_id
from bot.domain.action import Plan
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.flink import CheckpointKind, CheckpointSettings
from tests.actions.scene import Scene
from tests.tables import job

RESTARTS = [forward_job, restart_with_new_job_id]


def planned(scene: Scene, kept: bool | None) -> Plan:
    """All that pairs with the head is the newest checkpoint of run a, which runs; `kept`: when it is cancelled."""
    if scene.flink.retained is None:
        scene.flink.retained = scene.flink.savepoint(job("a"))
    plan = scene.plan()
    assert plan.case.observation.jobs.state == "seen"
    checkpoint = {"is_durable": False, "checkpoint_kind": CheckpointKind.CHECKPOINT}
    pairings = tuple(each.model_copy(update=checkpoint) for each in plan.case.pairing.pairings)
    settings = CheckpointSettings(mode="exactly_once", survives_cancel=kept)
    runs = tuple(run.model_copy(update={"settings": settings}) for run in plan.case.observation.jobs.values)
    jobs = plan.case.observation.jobs.model_copy(update={"values": runs})
    case = plan.case.model_copy(
        update={
            "pairing": plan.case.pairing.model_copy(update={"pairings": pairings}),
            "observation": plan.case.observation.model_copy(update={"jobs": jobs}),
        }
    )
    return plan.model_copy(update={"case": case})


@pytest.mark.parametrize("action", RESTARTS, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_run_whose_checkpoint_is_needed_is_cancelled_and_keeps_it(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """It could take a savepoint, and that would delete the only state that fits the table."""
    plan = planned(scene, kept=True)

    made = action.propose(plan)
    view = scene.carries_out(made, plan)

    assert "by a cancel, without a savepoint" in made.preview.sentences[0]
    assert view.state is ProposalState.APPLIED
    assert Path(scene.flink.retained or "").exists()
    assert scene.positions() == list(range(50))


@pytest.mark.parametrize("kept", [False, None])
@pytest.mark.parametrize("action", RESTARTS, ids=lambda a: a.__name__.rpartition(".")[2])
def test_what_flink_would_delete_by_the_stop_is_not_started_from(scene: Scene, action, kept: bool | None) -> None:  # type: ignore[no-untyped-def]
    """Refused with what to do, before anybody is asked for a yes."""
    with pytest.raises(Refused, match="not known that Flink keeps the checkpoints of a cancelled run") as refused:
        action.propose(planned(scene, kept))

    assert "RETAIN_ON_CANCELLATION. Or copy that folder away" in refused.value.remedy
