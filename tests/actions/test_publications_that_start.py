"""A published repair has the job go on only from a state that pairs with main; where nothing does, it starts none."""

from contextlib import closing
from pathlib import Path

import pytest

from bot.actions import publish_repair
from bot.actions._rehearsing import rehearsal_of
from bot.actions.deduplicate_rows import ACTION
from bot.domain.action import Plan
from bot.domain.effects import DeleteRows, StartFromStop, StartJob, StopJob
from bot.domain.entries import Verified
from bot.domain.execution import ProposalView
from bot.domain.file_changes import RowsOfFile
from bot.domain.looked import NotSeen
from bot.domain.proposal import Proposal
from bot.domain.rehearsals import standing_job
from bot.service.proposing import branches_begun, past_of_rehearsal
from tests.actions.scene import ProposalState, Scene
from tests.little_flink import JOB, open_catalog
from tests.tables import ORDERS, job

A, B = job("a"), job("b")


def repeats_a_row(scene: Scene) -> str:
    """Somebody appends a row once more; its file."""
    with closing(open_catalog(scene.folder)) as catalog:
        table = catalog.load_table(ORDERS)
        table.append(table.scan().to_arrow().slice(0, 1), snapshot_properties={"engine-name": "spark"})
        head = table.current_snapshot()
        assert head is not None
        entries = table.inspect.entries().to_pylist()
        return next(e["data_file"]["file_path"] for e in entries if e["snapshot_id"] == head.snapshot_id)


def rehearsed(scene: Scene) -> ProposalView:
    """The repeated row is taken out on a branch, by proposal number 1, which stops the job."""
    path, plan = repeats_a_row(scene), scene.plan()

    def delete(branch: str) -> DeleteRows:
        only = (RowsOfFile(path=path, spans=((0, 0),)),)
        return DeleteRows(table=ORDERS, branch=branch, incident=plan.incident, why="Delete extra copies", rows=only)

    proposal = rehearsal_of(plan, ACTION, delete, title="Repair", sentences=(), proof="nothing")
    view = scene.carries_out(proposal, plan)
    assert view.state is ProposalState.APPLIED, view.result
    return view


def proven(scene: Scene, rehearsal: ProposalView) -> Plan:
    """What is known when its publication is proposed."""
    incident, branch = scene.store.get(scene.incident), rehearsal.proposal.rehearses_on
    past = past_of_rehearsal(incident, scene.table)
    head = scene.table.ref(branch or "")
    assert past is not None
    assert head is not None
    proof = Verified(
        proposal=rehearsal.proposal.id, passed=True, checks=(), evidence=(), head=head, moves_waterline="no",
        branch=branch,
    )  # fmt: skip
    past = past.model_copy(update={"verified": proof})
    return scene.plan(number=2).model_copy(update={"rehearsed": past, "branches": branches_begun(incident)})


def published(scene: Scene, plan: Plan) -> ProposalView:
    """Proposed, approved and carried out."""
    view = scene.carries_out(publish_repair.propose(plan), plan)
    assert view.state is ProposalState.APPLIED, view.result
    return view


def said(proposal: Proposal) -> str:
    """The preview."""
    return " ".join(proposal.preview.sentences)


def savepoint_of(scene: Scene, run: str, checkpoint: int) -> Path:
    """Where the little Flink writes it."""
    return scene.flink.savepoints / f"savepoint-{job(run)[:6]}-{checkpoint:012x}"


def begins_idle(scene: Scene) -> None:
    """Run b is started from a's stop-savepoint 3 and has completed checkpoints 4 to 8 without a row."""
    scene.flink.stop(JOB, A)
    scene.flink.submit(B, at_checkpoint=3, restored=savepoint_of(scene, "a", 3))
    scene.flink.stands_at(B, 8)


def starts_from_a_wrong_savepoint(scene: Scene) -> None:
    """Main is at 3 when run b is started from 1; it has completed 2 and committed nothing."""
    scene.flink.stands_at(A, 1)
    scene.flink.savepoint(A)
    scene.flink.stands_at(A, 3)
    scene.flink.stop(JOB, A)
    scene.flink.submit(B, at_checkpoint=1, restored=savepoint_of(scene, "a", 1))
    scene.flink.stands_at(B, 2)


def without_runs(plan: Plan) -> Plan:
    """The same where Flink has forgotten the runs that have ended."""
    seen = plan.case.observation
    jobs = seen.jobs.model_copy(update={"values": ()})
    case = plan.case.model_copy(update={"observation": seen.model_copy(update={"jobs": jobs})})
    return plan.model_copy(update={"case": case})


def test_over_a_silent_run_from_a_wrong_savepoint_it_starts_from_what_pairs(scene: Scene) -> None:
    """Main was at 3 when run b was started from 1; it has committed nothing yet, and its stop leaves 2."""
    starts_from_a_wrong_savepoint(scene)

    rehearsal = rehearsed(scene)
    view = published(scene, proven(scene, rehearsal))

    assert "the state that its stop would leave cannot be proven" in said(rehearsal.proposal)
    assert "starts from the state that it leaves only if that is proven by then" in said(rehearsal.proposal)
    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == view.proposal.preview.replayed_from == 3
    assert "which the repair's stop took" not in said(view.proposal)
    assert scene.positions() == list(range(50))


def test_over_a_run_that_began_anew_under_its_job_id_nothing_is_started(scene: Scene) -> None:
    """It stands at its checkpoint 1, main at 3: from what its stop leaves the job would repeat rows."""
    scene.flink.stands_at(A, 1)

    view = published(scene, proven(scene, rehearsed(scene)))

    assert scene.alive == []
    assert scene.positions() == list(range(30))
    assert "Start no run; the job stays down" in said(view.proposal)
    assert "collect evidence again and diagnose" in said(view.proposal)
    assert "The job stays down" in view.proposal.preview.sure
    assert view.proposal.preview.replayed_from is None
    stands = standing_job(scene.store.get(scene.incident))
    assert stands is not None
    assert stands.settled == "published"


@pytest.mark.parametrize("seen_by", [lambda plan: plan, without_runs], ids=["Flink lists it", "Flink forgot it"])
def test_an_idle_run_goes_on_from_its_stop(scene: Scene, seen_by) -> None:  # type: ignore[no-untyped-def]
    """What it began from was proven to pair with main before it was stopped."""
    begins_idle(scene)

    rehearsal = rehearsed(scene)
    view = published(scene, seen_by(proven(scene, rehearsal)))

    [stop] = [effect for effect in rehearsal.proposal.effects if isinstance(effect, StopJob)]
    assert stop.stands_on == scene.snapshot("a", 3)
    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == 8
    assert "which the repair's stop took" in said(view.proposal)
    assert scene.positions() == [*range(30), *range(80, 100)]


def test_what_storage_does_not_show_now_is_looked_for_with_what_was_proven_before(scene: Scene) -> None:
    """Else the start would be refused once main has moved: an idle run has no commit that tells."""
    begins_idle(scene)
    plan = proven(scene, rehearsed(scene))
    unseen = NotSeen(source="the checkpoint storage", reason="It timed out.", remedy="Try again.")
    observation = plan.case.observation.model_copy(update={"checkpoints": unseen})
    plan = plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})

    view = published(scene, plan)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartFromStop)]
    assert start.stands_on == scene.snapshot("a", 3)
    assert scene.positions() == [*range(30), *range(80, 100)]


def test_what_a_silent_run_from_elsewhere_left_is_not_looked_for(scene: Scene) -> None:
    """It cannot be proven to pair, so nothing may be started from it once main has moved."""
    scene.flink.ends(A, "FAILED")
    scene.flink.submit(B, at_checkpoint=1)
    scene.flink.stands_at(B, 2)
    plan = proven(scene, rehearsed(scene))
    unseen = NotSeen(source="the checkpoint storage", reason="It timed out.", remedy="Try again.")
    observation = plan.case.observation.model_copy(update={"checkpoints": unseen})
    plan = plan.model_copy(update={"case": plan.case.model_copy(update={"observation": observation})})

    view = published(scene, plan)

    assert scene.alive == []
    assert not any(isinstance(effect, StartJob | StartFromStop) for effect in view.proposal.effects)
