"""A job that a refused proposal has stopped is not forgotten: people are told how it is started, and a later rehearsal
takes it over."""

from collections.abc import Callable
from pathlib import Path

import pytest

from bot.actions import drop_repair_branch, publish_repair, undo_proposal
from bot.actions._rehearsing import rehearsal_of
from bot.actions.deduplicate_rows import ACTION
from bot.domain.action import Plan
from bot.domain.effects import DeleteRows, StartJob, StopJob
from bot.domain.execution import ProposalView
from bot.domain.file_changes import RowsOfFile
from bot.domain.ids import ProposalId
from bot.domain.rehearsals import left_by_stop, standing_job
from tests.actions.scene import ProposalState, Scene
from tests.actions.test_publications_that_start import begins_idle, proven, repeats_a_row, said, savepoint_of
from tests.little_flink import JOB
from tests.tables import ORDERS, job

B = job("b")


def rehearses(scene: Scene, path: str, number: int) -> ProposalView:
    """The repeated row is to be taken out on a branch."""
    incident = scene.store.get(scene.incident)
    plan = scene.plan(number=number).model_copy(update={"stood_still": left_by_stop(incident, JOB)})

    def delete(branch: str) -> DeleteRows:
        only = (RowsOfFile(path=path, spans=((0, 0),)),)
        return DeleteRows(table=ORDERS, branch=branch, incident=plan.incident, why="Delete extra copies", rows=only)

    return scene.carries_out(rehearsal_of(plan, ACTION, delete, title="Repair", sentences=(), proof="nothing"), plan)


def refused(scene: Scene, path: str) -> ProposalView:
    """A backfill commits while the stop takes its savepoint: the branch is not begun, and the job is stopped."""
    stop = scene.flink.stop

    def while_it_stops(*asked: object, **how: object) -> object:
        ended = stop(*asked, **how)  # type: ignore[arg-type]
        scene.backfill_commits()
        return ended

    scene.flink.stop = while_it_stops  # type: ignore[method-assign, assignment]
    view = rehearses(scene, path, 1)
    scene.flink.stop = stop  # type: ignore[method-assign]
    assert view.state is ProposalState.REFUSED
    assert scene.alive == []
    return view


def rehearsed_then(scene: Scene) -> Plan:
    """Refused, then rehearsed with no run alive, and proven."""
    path = repeats_a_row(scene)
    refused(scene, path)
    view = rehearses(scene, path, 2)
    assert view.state is ProposalState.APPLIED, view.result
    plan = proven(scene, view)
    return plan.model_copy(update={"proposal": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P003")})


def test_the_refusal_says_how_the_job_is_started_and_the_undo_does_it(scene: Scene) -> None:
    """From what the stop has left."""
    view = refused(scene, repeats_a_row(scene))
    stands = standing_job(scene.store.get(scene.incident))

    plan = scene.plan(number=2, undoes=view.proposal.id)
    undone = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.result is not None
    assert "`/waterline undo` starts it again from the state that the stop left, if that pairs" in view.result.sentence
    assert stands is not None
    assert (JOB, "refused", None) == (stands.job, stands.settled, stands.waits_for)
    assert undone.state is ProposalState.APPLIED
    assert len(scene.alive) == 1
    assert standing_job(scene.store.get(scene.incident)) is None


@pytest.mark.parametrize("before", [lambda _scene: None, begins_idle], ids=["committed", "silent"])
def test_a_later_rehearsal_takes_it_over_and_its_publication_starts_it(
    scene: Scene, before: Callable[[Scene], None]
) -> None:
    """From the savepoint of the first stop, also of a run that had committed nothing; no row comes twice."""
    before(scene)
    [stopped] = scene.alive
    plan = rehearsed_then(scene)
    second = scene.view(ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P002")).proposal
    waits = standing_job(scene.store.get(scene.incident))

    view = scene.carries_out(publish_repair.propose(plan), plan)

    assert not any(isinstance(effect, StopJob) for effect in second.effects)
    assert f"stopped run {stopped[:6]}, and the job has been stopped since" in said(second)
    assert "The job stays stopped until the repair is published or dropped" in said(second)
    assert waits is not None
    assert waits.waits_for is not None
    assert (None, second.id) == (waits.settled, waits.waits_for.proposal.id)
    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert f"savepoint-{stopped[:6]}" in start.path
    assert "which an earlier stop of this incident took" in said(view.proposal)
    assert view.state is ProposalState.APPLIED, view.result
    assert len(scene.alive) == 1
    assert sorted({*scene.positions()}) == scene.positions()
    assert standing_job(scene.store.get(scene.incident)) is None


def test_giving_the_later_one_up_starts_it_too(scene: Scene) -> None:
    """Main as it is."""
    plan = rehearsed_then(scene)

    view = scene.carries_out(drop_repair_branch.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result
    assert len(scene.alive) == 1
    assert standing_job(scene.store.get(scene.incident)) is None


def test_the_undo_of_its_publication_starts_it_from_there_again(scene: Scene) -> None:
    """As where the rehearsal had stopped the run itself."""
    plan = rehearsed_then(scene)
    view = scene.carries_out(publish_repair.propose(plan), plan)
    plan = scene.plan(number=4, undoes=view.proposal.id)

    undo = undo_proposal.propose(plan)

    [start] = [effect for effect in undo.effects if isinstance(effect, StartJob)]
    assert Path(start.path).name == savepoint_of(scene, "a", 3).name


def test_what_another_run_committed_meanwhile_is_not_brought_a_second_time(scene: Scene) -> None:
    """Somebody starts run b from the first stop, and it fails once it has committed: nothing pairs, nothing starts."""
    path = repeats_a_row(scene)
    refused(scene, path)
    scene.flink.submit(B, at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.checkpoints(B, 2)
    scene.flink.ends(B, "FAILED")
    plan = proven(scene, rehearses(scene, path, 2))
    plan = plan.model_copy(update={"proposal": ProposalId("01JBQ5M7Z3T9K4X8V2N6R0P003")})

    view = scene.carries_out(publish_repair.propose(plan), plan)

    stands = standing_job(scene.store.get(scene.incident))
    assert scene.alive == []
    assert "the job stays down" in said(view.proposal)
    assert stands is not None
    assert stands.settled == "published"
