"""A step on which nothing right can be proposed ends; one that only something under way stands against does not."""

import pytest

from bot.actions import take_savepoint
from bot.actions._scan import ActionModule
from bot.adapters.clock import SystemClock
from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import NotYet, Refused
from bot.domain.ids import StepId
from bot.domain.proposal import Proposal
from bot.domain.runbook import NOT_POSSIBLE
from bot.service.proposing import Proposals
from tests.actions.scene import Scene
from tests.actions.test_given_up import planned, rehearsed, repair
from tests.rewound import ANA

STEP = StepId("duplicates")


def asked(scene: Scene, plan: Plan) -> None:
    """Ana clicks on “Propose” at this step, and is refused."""

    class Knowing:
        def case(self, _incident: object, _observation: object) -> Case:
            return plan.case

    def propose(_plan: Plan) -> Proposal:
        return repair(plan)

    action = take_savepoint.ACTION.model_copy(update={"needs": ()})
    modules = {action.name: ActionModule(action=action, propose=propose)}
    proposals = Proposals(scene.store, scene.observer, Knowing(), modules, SystemClock())  # type: ignore[arg-type]
    with pytest.raises(Refused):
        proposals.propose(scene.incident, action.name, step=STEP, by=ANA)


def test_a_step_waits_for_the_end_of_the_repair_that_is_under_way(scene: Scene) -> None:
    """Its proof may come a moment later: whoever clicks too early loses nothing by it."""
    rehearsed(scene)

    asked(scene, planned(scene))

    assert scene.store.get(scene.incident).outcomes == {}
    with pytest.raises(NotYet):
        repair(planned(scene))


def test_a_step_on_which_nothing_right_can_be_proposed_ends_with_the_reason(scene: Scene) -> None:
    """Nothing that is under way changes that: the walk goes on to what people do by hand."""
    plan = scene.plan()
    table = plan.case.observation.table.model_copy(update={"format_version": 1})
    observation = plan.case.observation.model_copy(update={"table": table})
    case = plan.case.model_copy(update={"observation": observation})

    asked(scene, plan.model_copy(update={"case": case}))

    ended = scene.store.get(scene.incident).outcomes[STEP]
    assert ended.key == NOT_POSSIBLE
    assert "the table has format version 1" in ended.why
