"""Two incidents of tables that one job writes: their executions do not meet."""

from datetime import UTC, datetime

import pytest

from bot.actions import restart_from_stop_savepoint
from bot.domain.approval import Approval
from bot.domain.entries import ExecutionEnded, ExecutionStarted, ProposalApproved, ProposalMade
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, ProposalId
from tests.actions.scene import Scene
from tests.rewound import ANA, BEN


def begins_elsewhere(scene: Scene, *, private: bool) -> IncidentId:
    """The same restart is being carried out for another incident."""
    first = scene.store.get(scene.incident)
    other = scene.store.open(first.opened.model_copy(update={"private": private, "table": "sales.items"}), by=ANA)
    plan = scene.plan(number=9)
    again = restart_from_stop_savepoint.propose(plan).model_copy(
        update={"id": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")}
    )
    yes = Approval(by=BEN, at=datetime.now(UTC), digest=again.digest)
    for body in (
        ProposalMade(step=None, proposal=again),
        ProposalApproved(proposal=again.id, approval=yes, complete=True),
        ExecutionStarted(proposal=again.id),
    ):
        scene.store.write(other.id, by=BEN, decide=lambda _now, body=body: [body])
    return other.id


@pytest.mark.parametrize("private", [False, True])
def test_while_another_incident_works_on_the_job_nothing_is_begun(scene: Scene, private: bool) -> None:
    """It stays approved; a private incident is not named."""
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    other = begins_elsewhere(scene, private=private)

    with pytest.raises(Refused, match="Another proposal is running on job") as refused:
        scene.executions.begin(scene.incident, made.id, by=ANA)

    assert (other in refused.value.found) is not private
    assert scene.view(made.id).state is ProposalState.APPROVED
    assert scene.calls == []


def test_of_two_that_begin_at_the_same_moment_the_one_that_sees_the_other_does_nothing(scene: Scene) -> None:
    """Another replica began for the other table after this one had looked and before it did anything."""
    plan = scene.plan()
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    scene.executions.begin(scene.incident, made.id, by=ANA)
    begins_elsewhere(scene, private=False)

    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.REFUSED
    assert scene.calls == []
    ended = next(
        e.body for e in reversed(scene.store.get(scene.incident).entries) if isinstance(e.body, ExecutionEnded)
    )
    assert "Another proposal is running on job" in ended.sentence
