"""A job that stands still for a repair, and writes another table, too, is started from nothing that would double that:
the repair is published, or given up, all the same."""

from types import ModuleType

import pytest

from bot.actions import drop_repair_branch, publish_repair, undo_proposal
from bot.actions._completing import completed
from bot.domain.action import Plan
from bot.domain.effects import StartJob
from bot.domain.proposal import Proposal
from tests.actions.scene import ProposalState, Scene
from tests.actions.siblings import items_commit, knowing_items, makes_items
from tests.actions.test_publications_that_start import (
    A,
    B,
    begins_idle,
    proven,
    rehearsed,
    said,
    savepoint_of,
    without_runs,
)
from tests.little_flink import JOB

ENDS = pytest.mark.parametrize("ends", [publish_repair, drop_repair_branch], ids=lambda each: str(each.ACTION.name))


def proposed(scene: Scene, ends: ModuleType, plan: Plan) -> Proposal:
    """As people approve it; it can be carried out."""
    proposal = ends.propose(plan)
    view = scene.carries_out(proposal, plan)
    assert view.state is ProposalState.APPLIED, view.result
    return completed(proposal, plan)


def starts(proposal: Proposal) -> list[int]:
    """The checkpoints from which it starts the job."""
    return [effect.checkpoint_id for effect in proposal.effects if isinstance(effect, StartJob)]


def writes_only_items(scene: Scene) -> None:
    """Run b began where a's stop-savepoint 3 is, which Flink does not tell; it has committed 4 to 8 of the other table,
    and nothing of this one."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    scene.flink.stop(JOB, A)
    scene.flink.submit(B, at_checkpoint=3)
    scene.flink.stands_at(B, 8)
    items_commit(scene, "b", 4, 5, 6, 7, 8)


@ENDS
def test_nothing_is_started_from_an_older_point_that_would_double_another_table(scene: Scene, ends: ModuleType) -> None:
    """Nothing proves what b left, and from a's savepoint it would write 4 to 8 of the other table again."""
    writes_only_items(scene)
    plan = knowing_items(scene, proven(scene, rehearsed(scene)))

    proposal = proposed(scene, ends, plan)

    assert starts(proposal) == scene.alive == []
    assert "Start no run; the job stays down." in said(proposal)
    assert "would duplicate rows of sales.items" in said(proposal)
    assert "found 5 commits" in said(proposal)
    assert "two people move main of sales.items back to" in said(proposal)
    assert "would duplicate rows of another table of the job" in proposal.preview.sure
    assert proposal.preview.replayed_from is None


def test_nor_by_the_undo_of_such_a_publication(scene: Scene) -> None:
    """Main goes back all the same."""
    writes_only_items(scene)
    plan = knowing_items(scene, proven(scene, rehearsed(scene)))
    published = scene.carries_out(publish_repair.propose(plan), plan)
    again = knowing_items(scene, scene.plan(number=3, undoes=published.proposal.id))

    undo = proposed(scene, undo_proposal, again)

    assert starts(undo) == scene.alive == []
    assert "would duplicate rows of sales.items" in said(undo)
    assert scene.positions() == sorted([*range(30), 20])


@ENDS
@pytest.mark.parametrize("seen_by", [lambda plan: plan, without_runs], ids=["Flink lists it", "Flink forgot it"])
def test_what_an_idle_run_left_comes_before_what_it_began_from(scene: Scene, ends: ModuleType, seen_by) -> None:  # type: ignore[no-untyped-def]
    """It was proven to pair before its stop, and doubles nothing."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    begins_idle(scene)
    items_commit(scene, "b", 4, 5, 6, 7, 8)
    plan = knowing_items(scene, seen_by(proven(scene, rehearsed(scene))))

    proposal = proposed(scene, ends, plan)

    assert starts(proposal) == [8]
    assert str(savepoint_of(scene, "b", 8)) in said(proposal)
    assert len(scene.alive) == 1
