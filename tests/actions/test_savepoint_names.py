"""A kept savepoint's tag has a name of its own, which is asked for before the job is stopped."""

from contextlib import closing
from datetime import timedelta

import pytest

from bot.actions import take_savepoint, undo_proposal
from bot.domain.action import Plan
from bot.domain.effects import KeepSavepoint
from bot.domain.errors import Superseded
from bot.domain.execution import ProposalState
from bot.domain.proposal import Proposal
from bot.domain.requirements import SavepointNameFree
from tests.actions.scene import Scene
from tests.little_flink import open_catalog
from tests.rewound import ANA
from tests.tables import ORDERS, job


def tagged(scene: Scene, name: str) -> None:
    """Somebody has tagged the table's first commit so."""
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.load_table(ORDERS).manage_snapshots().create_tag(scene.snapshot("a", 1), name).commit()


def as_of_old(plan: Plan) -> Proposal:
    """A proposal by an earlier version: the date alone, and nobody asks whether the name is free."""
    proposal = take_savepoint.propose(plan)
    effects = tuple(
        effect.model_copy(update={"tagged": f"{plan.at:%Y%m%d}"}) if isinstance(effect, KeepSavepoint) else effect
        for effect in proposal.effects
    )
    asked = tuple(each for each in proposal.requirements if not isinstance(each, SavepointNameFree))
    return proposal.model_copy(update={"effects": effects, "requirements": asked})


def test_checkpoint_ids_that_come_again_on_one_day_take_another_name(scene: Scene) -> None:
    """A rewind has the job count from two again: both savepoints are kept."""
    older = scene.flink.savepoint(job("a"))
    first = scene.plan()
    kept = scene.carries_out(take_savepoint.propose(first), first)
    second = scene.snapshot("a", 2)
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.load_table(ORDERS).manage_snapshots().rollback_to_snapshot(second).commit()
    scene.flink.submit(job("b"), at_checkpoint=2, restored=older)
    scene.flink.checkpoints(job("b"), 1)
    again = scene.plan(number=2).model_copy(update={"at": first.at + timedelta(seconds=1)})

    view = scene.carries_out(take_savepoint.propose(again), again)

    assert (kept.state, view.state) == (ProposalState.APPLIED, ProposalState.APPLIED), view.result
    assert {f"savepoint-3-{first.at:%Y%m%d}-p001", f"savepoint-3-{first.at:%Y%m%d}-p002"} <= {
        ref.name for ref in scene.table.refs
    }


def test_a_name_that_is_taken_is_found_before_the_stop(scene: Scene) -> None:
    """By whatever checkpoint: which it will be is not known yet."""
    plan = scene.plan()
    proposal = scene.approved(take_savepoint.propose(plan), plan)
    tagged(scene, f"savepoint-9-{plan.at:%Y%m%d}-p001")

    with pytest.raises(Superseded, match="found savepoint-9-"):
        scene.executions.begin(scene.incident, proposal.id, by=ANA)

    assert scene.calls == []
    assert scene.alive == [job("a")]


def test_a_name_that_is_found_taken_after_the_stop_says_how_the_job_goes_on(scene: Scene) -> None:
    """As of a proposal that was approved before an upgrade; and what it says can be done."""
    plan = scene.plan()
    taken = f"savepoint-3-{plan.at:%Y%m%d}"
    tagged(scene, taken)

    view = scene.carries_out(as_of_old(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert view.result is not None
    assert f"Expected no tag {taken}" in view.result.sentence
    assert "`/waterline undo` starts the job again from exactly this savepoint" in view.result.sentence
    assert scene.alive == []
    undo = scene.plan(number=2, undoes=view.proposal.id)
    back = scene.carries_out(undo_proposal.propose(undo), undo)
    assert back.state is ProposalState.APPLIED, back.result
    assert len(scene.alive) == 1
    assert scene.positions() == list(range(50))
