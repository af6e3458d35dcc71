"""A broken glass also stands for whom a savepoint's plan names, and for the question why: its reason is on record."""

import pytest

from bot.actions import undo_proposal
from bot.domain.approval import GlassRule
from bot.domain.errors import Refused
from bot.domain.ids import UserId
from tests.rewound import ANA, BEN
from tests.savepoints.world import World

CLEO = UserId("U0CLEO0003")


def test_whoever_broke_the_glass_restores_what_a_plan_keeps_for_others(world: World) -> None:
    """Others are turned away before: nothing but the glass lets Cleo in."""
    world.plans(ANA)
    world.takes_it()
    plan = world.scene.plan(undoes=world.scene.plan().proposal, number=2)
    undo = undo_proposal.propose(plan)
    rule = GlassRule(users=(CLEO,), owners=("S0OWNERS01",))
    policy = undo.policy.model_copy(update={"break_glass": rule})
    proposal = world.proposes(undo.model_copy(update={"policy": policy}), plan)
    incident = world.scene.incident
    with pytest.raises(Refused):
        world.approvals.may_begin(incident, proposal.id, CLEO)

    world.approvals.break_glass(
        incident, proposal.id, "The warehouse closes in ten minutes.", digest=proposal.digest, by=CLEO
    )

    world.approvals.may_begin(incident, proposal.id, CLEO)
    with pytest.raises(Refused):
        world.approvals.may_begin(incident, proposal.id, BEN)
