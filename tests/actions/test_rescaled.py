"""Nobody rescales a job under a proposal: stopped is the run that was approved, at the scale that was approved."""

import pytest

from bot.actions import restart_from_stop_savepoint, take_savepoint
from bot.domain.errors import Superseded
from bot.domain.execution import ProposalState
from bot.domain.requirements import RunIsCurrent, requirement_sentence
from tests.actions.scene import Scene
from tests.tables import job

STOPS_IT = [restart_from_stop_savepoint, take_savepoint]


@pytest.mark.parametrize("action", STOPS_IT, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_run_that_was_rescaled_after_the_approval_supersedes(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """By an autoscaler, or by hand: the job id stays, so only the parallelism tells."""
    plan = scene.plan()
    proposal = scene.approved(action.propose(plan), plan)
    scene.flink.rescales(job("a"), 4)

    with pytest.raises(Superseded, match="somebody has rescaled it: Sink from 1 to 4"):
        scene.executions.begin(scene.incident, proposal.id, by=proposal.proposed_by)

    assert scene.view(proposal.id).state is ProposalState.SUPERSEDED
    assert scene.calls == []
    [said] = [requirement_sentence(each) for each in proposal.requirements if isinstance(each, RunIsCurrent)]
    assert said.endswith("is alive, and nobody has rescaled it.")


def test_a_rescale_between_two_steps_refuses_the_next_one(scene: Scene) -> None:
    """Maintenance is frozen by then; the job is left as it is, and the sentence says so."""
    plan = scene.plan()
    proposal = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    scene.executions.begin(scene.incident, proposal.id, by=proposal.proposed_by)
    commit = scene.catalog.commit

    def commit_then_rescale(*change: object) -> object:
        after = commit(*change)  # type: ignore[arg-type]
        scene.flink.rescales(job("a"), 2)
        return after

    scene.catalog.commit = commit_then_rescale  # type: ignore[method-assign, assignment]
    scene.executions.carry_on(scene.incident, proposal.id)

    view = scene.view(proposal.id)
    assert view.state is ProposalState.REFUSED
    assert view.result is not None
    assert "rescaled it: Sink from 1 to 2. This step was not done." in view.result.sentence
    assert scene.calls == []


def test_a_run_that_is_being_recovered_has_no_scale_to_compare(scene: Scene) -> None:
    """It is cancelled anyway; a proposal from then does not wait for a parallelism."""
    scene.flink.breaks(job("a"))

    run = scene.flink.run(job("a"))

    assert run is not None
    assert run.parallelism == {}
