"""A job that stands still for a repair of one table is not started in an incident of another table that it writes."""

from datetime import UTC, datetime
from types import SimpleNamespace

import pytest

from bot.actions import restore_job_only
from bot.actions._scan import ActionModule
from bot.adapters.clock import SystemClock
from bot.domain.approval import Approval
from bot.domain.diagnosis import Case
from bot.domain.effects import StopJob
from bot.domain.entries import ExecutionStarted, ProposalApproved, ProposalMade
from bot.domain.errors import NotYet, Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, ProposalId, StepId
from bot.domain.proposal import Proposal
from bot.service.proposal_rules import must_end_no_repair, must_have_the_job_alone
from bot.service.proposing import Proposals
from tests.actions.scene import Scene
from tests.actions.test_given_up import given_up, rehearsed
from tests.actions.test_publications import savepoint_of
from tests.rewound import ANA, BEN
from tests.tables import ORDERS, job

OTHER = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")


def elsewhere(scene: Scene, *, private: bool = False) -> IncidentId:
    """Another table that the job writes has an incident, too."""
    first = scene.store.get(scene.incident)
    opened = first.opened.model_copy(update={"private": private, "table": "sales.items"})
    return scene.store.open(opened, by=ANA).id


@pytest.mark.parametrize("asks", [must_end_no_repair, must_have_the_job_alone])
def test_no_start_of_it_is_proposed_or_begun_until_the_repair_has_ended(scene: Scene, asks: object) -> None:
    """Published or given up: then it may be started."""
    rehearsed(scene)
    other = elsewhere(scene)
    start = restore_job_only.propose(scene.plan(number=5))

    with pytest.raises(Refused, match="is stopped for “Repair” of") as refused:
        asks(start, other, scene.store.every())  # type: ignore[operator]

    assert f"First publish or cancel it in {scene.incident}" in refused.value.remedy
    asks(start, scene.incident, scene.store.every())  # type: ignore[operator]
    given_up(scene)
    asks(start, other, scene.store.every())  # type: ignore[operator]


def test_whoever_proposes_one_is_refused_and_the_step_waits(scene: Scene) -> None:
    """The repair may be published a moment later."""
    rehearsed(scene)
    other, plan, real = elsewhere(scene), scene.plan(number=5), scene.observer
    of_orders = SimpleNamespace(
        observe=lambda _table, **_: plan.case.observation,
        setup=lambda _table: real.setup(ORDERS),
        jobs=real.jobs,
        tables=real.tables,
        files=real.files,
        catalog=real.catalog,
    )

    class Knowing:
        def case(self, _incident: object, _observation: object) -> Case:
            return plan.case

    def propose(_plan: object) -> Proposal:
        return restore_job_only.propose(plan)

    action = restore_job_only.ACTION.model_copy(update={"needs": (), "on_request": True})
    modules = {action.name: ActionModule(action=action, propose=propose)}
    proposals = Proposals(scene.store, of_orders, Knowing(), modules, SystemClock())  # type: ignore[arg-type]

    with pytest.raises(NotYet, match="is stopped for “Repair” of"):
        proposals.propose(other, action.name, step=StepId("duplicates"), by=ANA)

    assert scene.store.get(other).proposals == {}
    assert scene.store.get(other).outcomes == {}


def test_a_start_that_was_approved_before_does_nothing(scene: Scene) -> None:
    """The rehearsal came between its beginning and its first effect."""
    other = elsewhere(scene)
    rehearsed(scene)
    start = restore_job_only.propose(scene.plan(number=5)).model_copy(update={"id": OTHER})
    yes = Approval(by=BEN, at=datetime.now(UTC), digest=start.digest)
    for body in (
        ProposalMade(step=None, proposal=start),
        ProposalApproved(proposal=start.id, approval=yes, complete=True),
        ExecutionStarted(proposal=start.id),
    ):
        scene.store.write(other, by=BEN, decide=lambda _now, body=body: [body])
    before = len(scene.calls)

    scene.executions.carry_on(other, OTHER)

    view = scene.store.get(other).proposals[OTHER]
    assert view.state is ProposalState.REFUSED
    assert len(scene.calls) == before
    assert view.result is not None
    assert "is stopped for “Repair” of" in view.result.sentence


def test_a_private_incident_is_not_named(scene: Scene) -> None:
    """Nor its repair."""
    first = scene.store.get(scene.incident)
    rehearsed(scene)
    start = restore_job_only.propose(scene.plan(number=5))
    hidden = scene.store.get(scene.incident)
    hidden.opened = first.opened.model_copy(update={"private": True})
    other = elsewhere(scene)

    with pytest.raises(Refused, match="a repair of a private incident") as refused:
        must_end_no_repair(start, other, (hidden, scene.store.get(other)))

    assert str(scene.incident) not in str(refused.value)


def test_what_starts_nothing_is_not_held_up(scene: Scene) -> None:
    """A rehearsal of the other table over the job that is down."""
    rehearsed(scene)
    start = restore_job_only.propose(scene.plan(number=5))
    nothing = start.model_copy(update={"effects": ()})

    must_end_no_repair(nothing, elsewhere(scene), scene.store.every())


def test_a_job_that_somebody_has_started_does_not_wait(scene: Scene) -> None:
    """Nothing is left to be protected: it runs."""
    rehearsed(scene)
    other = elsewhere(scene)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.checkpoints(job("b"), 2)
    start = restore_job_only.propose(scene.plan(number=5))

    must_end_no_repair(start, other, scene.store.every())

    assert {type(effect) for effect in start.effects} >= {StopJob}
