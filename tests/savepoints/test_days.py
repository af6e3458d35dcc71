"""The day of a plan may pass between proposal, approval and stop: then nothing is stopped for it."""

from datetime import UTC, datetime

import pytest

from bot.actions._effects import standing
from bot.domain.approval import Approval
from bot.domain.effects import KeepSavepoint
from bot.domain.entries import ProposalApproved
from bot.domain.errors import Superseded
from bot.domain.execution import ProposalState
from bot.domain.requirements import PlanCounts
from tests.rewound import ANA, BEN
from tests.savepoints.world import World

PASSED = r"day of the planned savepoint has passed.*now .* UTC.*Nobody would rely.*Nothing was changed.*Plan it again"


def test_nothing_is_stopped_when_the_day_has_passed_since_the_approval(world: World) -> None:
    """Approved a minute before midnight, executed a minute after: the run goes on, and the proposal is superseded."""
    proposal = world.savepoint_of_a_day_that_passed()
    approval = Approval(by=BEN, at=datetime.now(UTC), digest=proposal.digest)
    yes = ProposalApproved(proposal=proposal.id, approval=approval, complete=True)
    world.scene.store.write(world.scene.incident, by=BEN, decide=lambda _i: [yes])
    alive = world.scene.alive

    with pytest.raises(Superseded, match=PASSED):
        world.scene.executions.begin(world.scene.incident, proposal.id, by=ANA)

    assert world.scene.view(proposal.id).state is ProposalState.SUPERSEDED
    assert world.scene.alive == alive
    assert "stop" not in world.scene.calls


def test_nobody_can_approve_what_would_count_for_nobody(world: World) -> None:
    """The refusal says how to plan anew, and then it can be."""
    proposal = world.savepoint_of_a_day_that_passed()

    with pytest.raises(Superseded, match=f"{PASSED} with /waterline savepoint sales.orders"):
        world.ben_approves(proposal)

    world.plans(reason="Once more.")
    assert world.savepoint()[0].effects


def test_a_stopped_run_keeps_its_savepoint_though_midnight_comes_in_between(world: World) -> None:
    """Before the stop the day is asked for; after it, what was stopped is still proven and kept."""
    world.plans()
    proposal = world.proposes(*world.savepoint())
    keeps = next(n for n, effect in enumerate(proposal.effects) if isinstance(effect, KeepSavepoint))

    asked = [any(isinstance(each, PlanCounts) for each in standing(proposal, n)) for n in range(keeps + 1)]

    assert asked == [True] * keeps + [False]


def test_a_savepoint_without_a_plan_has_no_day_to_pass(world: World) -> None:
    """Its seven days begin when it is taken."""
    proposal, _plan = world.savepoint()

    assert not any(isinstance(each, PlanCounts) for each in proposal.requirements)
