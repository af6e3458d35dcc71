"""Who undoes the publication of a repair has the job go on only from a state that pairs with main as it is then."""

import shutil

from bot.actions import publish_repair, undo_proposal
from bot.domain.effects import StartJob
from bot.domain.execution import ProposalView
from bot.domain.ids import ProposalId
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_publications_that_start import (
    A,
    begins_idle,
    proven,
    published,
    rehearsed,
    repeats_a_row,
    said,
    savepoint_of,
    starts_from_a_wrong_savepoint,
)
from tests.actions.test_stopped_and_refused import refused, rehearses
from tests.tables import job


def undone(scene: Scene, publication: ProposalView) -> ProposalView:
    """Proposed, approved and carried out."""
    plan = scene.plan(number=3, undoes=publication.proposal.id)
    view = scene.carries_out(undo_proposal.propose(plan), plan)
    assert view.state is ProposalState.APPLIED, view.result
    return view


def test_nobody_is_sent_to_a_state_that_storage_shows_and_that_does_not_pair(scene: Scene) -> None:
    """Run a began anew under its job id and was stopped at 1, main is at 3: from there rows 10 to 29 would come
    twice."""
    scene.flink.stands_at(A, 1)
    publication = published(scene, proven(scene, rehearsed(scene)))

    view = undone(scene, publication)

    assert scene.alive == []
    assert "the job stays down" in said(view.proposal)
    assert "collect evidence again and diagnose" in said(view.proposal)
    assert "if storage can read it again" not in said(view.proposal)
    assert "Start the job by hand after main has moved back" not in said(view.proposal)


def test_the_job_goes_on_from_another_point_where_the_stopped_run_has_left_none_that_pairs(scene: Scene) -> None:
    """Run b was started from 1 while main was at 3, and has committed nothing."""
    starts_from_a_wrong_savepoint(scene)
    publication = published(scene, proven(scene, rehearsed(scene)))

    view = undone(scene, publication)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == view.proposal.preview.replayed_from == 3
    assert "Start no run" not in said(view.proposal)
    assert len(scene.alive) == 1
    assert scene.positions() == sorted([*range(50), 20])


def test_what_storage_does_not_show_now_is_named_with_what_it_has_to_pair_with(scene: Scene) -> None:
    """The savepoint of the rehearsal's stop may come back."""
    publication = published(scene, proven(scene, rehearsed(scene)))
    shutil.rmtree(savepoint_of(scene, "a", 3))

    view = undone(scene, publication)

    assert scene.alive == []
    assert "savepoint-aaaaaa-000000000003, which the stop of run aaaaaa took" in said(view.proposal)
    assert "if storage can read it again and it pairs" in said(view.proposal)
    assert "(checkpoint 3), main's newest commit by Flink" in said(view.proposal)


def test_an_idle_run_goes_on_from_its_stop(scene: Scene) -> None:
    """It had committed nothing, and what it left was proven to pair before it was stopped."""
    begins_idle(scene)
    publication = published(scene, proven(scene, rehearsed(scene)))

    view = undone(scene, publication)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == 8
    assert start.path.endswith(savepoint_of(scene, "b", 8).name)
    assert scene.positions() == sorted([*range(30), 20, *range(80, 100)])


def test_what_an_idle_run_left_and_storage_does_not_show_now_is_named(scene: Scene) -> None:
    """No evidence tells that it pairs: it was proven before the stop. What it began from is gone, too."""
    begins_idle(scene)
    publication = published(scene, proven(scene, rehearsed(scene)))
    for run, checkpoint in (("a", 3), ("b", 8)):
        shutil.rmtree(savepoint_of(scene, run, checkpoint))

    view = undone(scene, publication)

    assert scene.alive == []
    assert "savepoint-bbbbbb-000000000008, which the stop of run bbbbbb took" in said(view.proposal)
    assert "if storage can read it again; else" in said(view.proposal)


def test_the_undo_of_a_rehearsal_has_an_idle_run_go_on_from_its_stop(scene: Scene) -> None:
    """Its branch stays; only the job is started again."""
    begins_idle(scene)
    rehearsal = rehearsed(scene)

    view = undone(scene, rehearsal)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == 8
    assert len(scene.alive) == 1


def test_nobody_is_sent_to_a_stop_above_which_another_run_has_committed(scene: Scene) -> None:
    """Run b had committed nothing when a rehearsal stopped it, and was refused; run c was started by hand from what the
    stop left, committed twice and failed. Its rows would come again."""
    begins_idle(scene)
    path = repeats_a_row(scene)
    refused(scene, path)
    left = savepoint_of(scene, "b", 8)
    scene.flink.submit(job("c"), at_checkpoint=8, restored=left)
    scene.flink.checkpoints(job("c"), 2)
    scene.flink.ends(job("c"), "FAILED")
    plan = proven(scene, rehearses(scene, path, 2)).model_copy(
        update={"proposal": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P003")}
    )
    publication = scene.carries_out(publish_repair.propose(plan), plan)
    shutil.rmtree(left)

    plan = scene.plan(number=4, undoes=publication.proposal.id)
    told = said(undo_proposal.propose(plan))

    assert "the job stays down" in told
    assert "if storage can read it again" not in told
