"""What is started is what was declared when people said yes: a deployment in between starts nothing else."""

import pytest

from bot.actions import restart_from_stop_savepoint
from bot.domain.errors import Superseded
from bot.domain.execution import ProposalState
from bot.domain.requirements import StartPossible, requirement_sentence
from bot.ports import Stopped
from tests.actions.scene import Scene

APPROVED, DEPLOYED = "a" * 64, "b" * 64


def test_another_declaration_starts_nothing_and_stops_nothing(scene: Scene) -> None:
    """Seen before the first effect; the approver was told which declaration it is."""
    scene.flink.declared = APPROVED
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    [asked] = [each for each in made.requirements if isinstance(each, StartPossible)]
    scene.flink.declared = DEPLOYED

    with pytest.raises(Superseded, match=f"when this was proposed \\({'a' * 12}\\).*changed \\({'b' * 12}\\)"):
        scene.executions.begin(scene.incident, made.id, by=plan.by)

    assert f"Declaration unchanged ({'a' * 12})." in requirement_sentence(asked)
    assert scene.calls == []


def test_a_deployment_between_stop_and_start_starts_nothing(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is asked for again right before the start, whoever goes on with the execution."""
    scene.flink.declared = APPROVED
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    stop = scene.flink.stop

    def stop_and_deploy(*asked: str, **how: bool) -> Stopped:
        stopped = stop(*asked, **how)  # type: ignore[arg-type]
        scene.flink.declared = DEPLOYED
        return stopped

    monkeypatch.setattr(scene.flink, "stop", stop_and_deploy)
    scene.executions.begin(scene.incident, made.id, by=plan.by)
    scene.executions.carry_on(scene.incident, made.id)

    view = scene.view(made.id)
    assert view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]


def test_a_proposal_of_an_earlier_version_asks_for_no_declaration(scene: Scene) -> None:
    """Its digest is what it was, and it is carried out as it was approved."""
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    [asked] = [each for each in made.requirements if isinstance(each, StartPossible)]
    scene.flink.declared = DEPLOYED

    scene.executions.begin(scene.incident, made.id, by=plan.by)
    scene.executions.carry_on(scene.incident, made.id)

    assert asked.model_dump() == {"kind": "start-possible", "job": asked.job}
    assert scene.calls == ["stop", "start"]
