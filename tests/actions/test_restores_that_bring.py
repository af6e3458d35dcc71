"""A restore point that owes rows is started from only while they are missing: judged at the proposal, not before."""

from typing import Any

import pytest

from bot.actions import restore_job_only, undo_proposal
from bot.domain.effects import StartJob
from bot.domain.errors import CouldNotLook, Refused
from bot.domain.ids import JobId
from bot.domain.proposal import Proposal
from tests.actions.owing import extent, manifest_of, owes_the_next_checkpoint, with_extent
from tests.actions.scene import ProposalState, Scene
from tests.tables import job, of_flink, rows


def starts_from(proposal: Proposal) -> str:
    """The restore point of the one start."""
    return next(e.path for e in proposal.effects if isinstance(e, StartJob)).removeprefix("file:")


def test_what_a_stop_owes_is_brought_while_it_is_missing(scene: Scene) -> None:
    """It lies right above the table: before a point that pairs with the head."""
    scene.flink.savepoint(job("a"))
    four = owes_the_next_checkpoint(scene, "a", 4)
    plan = scene.plan()

    proposal = restore_job_only.propose(with_extent(plan, extent(plan)))

    assert str(four) == starts_from(proposal)


def test_it_is_not_taken_once_another_run_has_read_its_rows_again(scene: Scene) -> None:
    """People started by hand from the savepoint before; an answer from before that says nothing of today."""
    three = scene.flink.savepoint(job("a"))
    owes_the_next_checkpoint(scene, "a", 4)
    old = extent(scene.plan())
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.checkpoints(job("b"), 3)
    six = scene.flink.savepoint(job("b"))
    scene.flink.ends(job("b"), "FAILED")
    plan = scene.plan()

    view = scene.carries_out(restore_job_only.propose(with_extent(plan, old)), plan)

    assert any(reach.brings_back and reach.verdict.value == "ahead" for reach in old.points)
    assert str(six) == starts_from(view.proposal)
    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(80))


def test_it_is_not_taken_once_main_has_lost_the_commit_below_it(scene: Scene) -> None:
    """Its state goes on from rows that main does not have any more."""
    scene.flink.stands_at(job("a"), 2)
    two = scene.flink.savepoint(job("a"))
    owes_the_next_checkpoint(scene, "a", 4)
    old = extent(scene.plan())
    scene.rolls_back(to=scene.snapshot("a", 2))

    proposal = restore_job_only.propose(with_extent(scene.plan(), old))

    assert str(two) == starts_from(proposal)


def test_it_is_not_taken_once_a_file_that_it_owes_is_gone(scene: Scene) -> None:
    """Its sink would fail at every start; a point that pairs with the head goes on instead."""
    three = scene.flink.savepoint(job("a"))
    owes_the_next_checkpoint(scene, "a", 4)
    old = extent(scene.plan())
    manifest_of(scene, "a", 4).unlink()

    proposal = restore_job_only.propose(with_extent(scene.plan(), old))

    assert str(three) == starts_from(proposal)


def test_what_was_owed_is_taken_off_by_the_undo(scene: Scene) -> None:
    """The sink commits it under the id of the run that wrote the point: it is no stranger's."""
    scene.flink.savepoint(job("a"))
    owes_the_next_checkpoint(scene, "a", 4)
    plan, start = scene.plan(), scene.flink.submit

    def then_committed(job_id: JobId, **how: Any) -> None:
        start(job_id, **how)
        scene.commits(rows(range(30, 40)), of_flink("a", 4))

    scene.flink.submit = then_committed  # type: ignore[method-assign]
    view = scene.carries_out(restore_job_only.propose(with_extent(plan, extent(plan))), plan)
    brought = scene.positions()
    scene.flink.submit = start  # type: ignore[method-assign]
    again = scene.plan(undoes=view.proposal.id, number=2)

    undone = scene.carries_out(undo_proposal.propose(again), again)

    assert "This also removes the pending files" in view.proposal.undo
    assert brought == list(range(60))
    assert undone.state is ProposalState.APPLIED, undone.result
    assert scene.positions() == list(range(30))


def test_what_its_run_committed_later_is_not_taken_off(scene: Scene) -> None:
    """Above the point nothing was owed: an undo would lose it."""
    scene.flink.savepoint(job("a"))
    owes_the_next_checkpoint(scene, "a", 4)
    plan = scene.plan()
    view = scene.carries_out(restore_job_only.propose(with_extent(plan, extent(plan))), plan)
    scene.commits(rows(range(900, 910)), of_flink("a", 5))

    with pytest.raises(Refused, match=r"was committed since by Flink run aaaaaa \(checkpoint 5\)"):
        undo_proposal.propose(scene.plan(undoes=view.proposal.id, number=2))


def test_nobody_starts_from_it_before_somebody_has_looked_what_it_brings(scene: Scene) -> None:
    """A responder sees first what a start from it brings back, and what not."""
    scene.flink.savepoint(job("a"))
    owes_the_next_checkpoint(scene, "a", 4)

    with pytest.raises(CouldNotLook, match="Run the evidence recovery_extent"):
        restore_job_only.propose(scene.plan())
