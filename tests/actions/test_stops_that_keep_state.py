"""A savepoint that fails ends the proposal, and the run goes on."""

import pytest

from bot.actions import restart_from_stop_savepoint, rewind_table_and_job, take_savepoint
from bot.domain.effects import StopJob
from bot.domain.execution import ProposalState
from tests.actions.scene import Scene
from tests.tables import job


@pytest.mark.parametrize("action", [take_savepoint, restart_from_stop_savepoint])
def test_a_run_whose_savepoint_fails_goes_on(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """Nothing is cancelled: what follows the stop would have nothing to stand on."""
    plan = scene.plan()
    scene.flink.saves = "The savepoint folder cannot be written."

    view = scene.carries_out(action.propose(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert scene.alive == [job("a")]
    assert scene.calls == []
    assert view.result is not None
    assert "folder cannot be written. It goes on." in view.result.sentence


def test_a_wrong_run_is_stopped_without_its_state(scene: Scene) -> None:
    """The point to restore is older than it; it must end in any case."""
    good = scene.snapshot("a", 3)
    scene.flink.savepoint(job("a"))
    scene.flink.stop("orders-to-iceberg", job("a"))
    scene.flink.submit(job("b"), at_checkpoint=1)
    scene.flink.checkpoints(job("b"), 1)
    plan = scene.plan(last_good=good, wrong_run=job("b"))
    scene.flink.saves = "The savepoint folder cannot be written."

    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert job("b") not in scene.alive


def test_an_old_record_reads_and_digests_as_it_did(scene: Scene) -> None:
    """The field came later: a stop that needs nothing is written without it."""
    told = {"kind": "stop-job", "job": "orders", "job_id": job("a")}

    assert StopJob.model_validate(told).model_dump(mode="json") == told
