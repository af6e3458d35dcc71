"""A published, undone or refused repair has the job go on only from a state that pairs with main."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from bot.actions import drop_repair_branch, publish_repair, undo_proposal
from bot.actions._support.staging import branch_for, rehearsal_of
from bot.actions.deduplicate_rows import ACTION
from bot.incident.action import Plan
from bot.incident.effects import DeleteRows, StartFromStop, StartJob, StopJob
from bot.incident.entries import Check, Verified
from bot.incident.execution import ProposalView
from bot.incident.proposal import Proposal
from bot.incident.staged_repairs import left_by_stop, standing_job
from bot.observation.file_changes import RowsOfFile
from bot.observation.ids import ProposalId
from bot.observation.looked import NotSeen
from bot.service.proposals.proposing import branches_begun, past_of_rehearsal
from tests.actions.plans import seeing
from tests.actions.scene import ProposalState, Scene, savepoint_of
from tests.little_flink import JOB
from tests.tables import ORDERS, job

A, B = job("a"), job("b")


def repeats_a_row(scene: Scene) -> str:
    """Somebody appends a row once more; its file."""
    with scene.by_hand() as table:
        table.append(table.scan().to_arrow().slice(0, 1), snapshot_properties={"engine-name": "spark"})
        head = table.current_snapshot()
        assert head is not None
        entries = table.inspect.entries().to_pylist()
        return next(e["data_file"]["file_path"] for e in entries if e["snapshot_id"] == head.snapshot_id)


def rehearses(scene: Scene, path: str, number: int) -> ProposalView:
    """The repeated row is to be taken out on a branch."""
    incident = scene.store.get(scene.incident)
    plan = scene.plan(number=number).model_copy(update={"stood_still": left_by_stop(incident, JOB)})
    only = (RowsOfFile(path=path, spans=((0, 0),)),)
    delete = DeleteRows(
        table=ORDERS, branch=branch_for(plan), incident=plan.incident, why="Delete extra copies", rows=only
    )
    return scene.carries_out(rehearsal_of(plan, ACTION, delete, title="Repair", sentences=(), proof="nothing"), plan)


def rehearsed(scene: Scene) -> ProposalView:
    """The repeated row is taken out on a branch, by proposal number 1, which stops the job."""
    view = rehearses(scene, repeats_a_row(scene), 1)
    assert view.state is ProposalState.APPLIED, view.result
    return view


def proven(scene: Scene, rehearsal: ProposalView) -> Plan:
    """What is known when its publication is proposed."""
    incident, branch = scene.store.get(scene.incident), rehearsal.proposal.rehearses_on
    past = past_of_rehearsal(incident)
    head = scene.table.ref(branch or "")
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


@pytest.mark.parametrize("leaves", [False, True])
def test_it_repairs_what_its_rehearsal_did_unless_that_leaves_a_fault(scene: Scene, leaves: bool) -> None:
    """What had accused main of another fault goes on accusing it."""
    plan = proven(scene, rehearsed(scene))
    assert plan.rehearsed is not None
    assert plan.rehearsed.verified is not None
    check = Check(name="No missing rows", passed=True, sentence="Some are missing, as before.", was_before=leaves)
    verified = plan.rehearsed.verified.model_copy(update={"checks": (check,)})
    past = plan.rehearsed.model_copy(update={"verified": verified})

    proposal = publish_repair.propose(plan.model_copy(update={"rehearsed": past}))

    assert proposal.repairs == (() if leaves else ("duplicate_rows",))


def said(proposal: Proposal) -> str:
    return " ".join(proposal.preview.sentences)


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
    return seeing(plan, jobs=plan.case.observation.jobs.model_copy(update={"values": ()}))


def test_over_a_silent_run_from_a_wrong_savepoint_it_starts_from_what_pairs(scene: Scene) -> None:
    """Main was at 3 when run b was started from 1; it has committed nothing yet, and its stop leaves 2."""
    starts_from_a_wrong_savepoint(scene)

    rehearsal = rehearsed(scene)
    view = published(scene, proven(scene, rehearsal))

    assert "The table lists no commit of run bbbbbb" in said(rehearsal.proposal)
    assert "starts from the newest state that is proven to pair with main, or stays down" in said(rehearsal.proposal)
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
    assert stands.settled == "published"


@pytest.mark.parametrize(
    ("seen_by", "checkpoint"), [(lambda plan: plan, 8), (without_runs, 3)], ids=["Flink lists it", "Flink forgot it"]
)
def test_after_an_idle_run_the_job_starts_from_its_stop_or_from_what_it_began_with(  # type: ignore[no-untyped-def]
    scene: Scene, seen_by, checkpoint: int
) -> None:
    """What it began from pairs with main, and the run has read nothing that main lacks."""
    begins_idle(scene)

    view = published(scene, seen_by(proven(scene, rehearsed(scene))))

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == checkpoint
    assert scene.positions() == [*range(30), *range(10 * checkpoint, 10 * checkpoint + 20)]


def begins_elsewhere(scene: Scene) -> None:
    """Run b is started from 1 while main is at 3, and has committed nothing."""
    scene.flink.ends(A, "FAILED")
    scene.flink.submit(B, at_checkpoint=1)
    scene.flink.stands_at(B, 2)


@pytest.mark.parametrize(
    ("before", "is_looked_for"),
    [(lambda _scene: None, True), (begins_idle, False), (begins_elsewhere, False)],
    ids=["of a run that has committed", "of an idle run", "of a silent run from elsewhere"],
)
def test_what_storage_does_not_show_now_is_looked_for_once_main_has_moved(
    scene: Scene, before: Callable[[Scene], None], is_looked_for: bool
) -> None:
    """Not of a run that has committed nothing: no commit of it would tell."""
    before(scene)
    unseen = NotSeen(source="the checkpoint storage", reason="It timed out.", remedy="Try again.")
    plan = seeing(proven(scene, rehearsed(scene)), checkpoints=unseen)

    view = published(scene, plan)

    started = [type(effect) for effect in view.proposal.effects if isinstance(effect, StartJob | StartFromStop)]
    assert started == [StartFromStop] * is_looked_for
    assert len(scene.alive) == is_looked_for
    assert scene.positions() == list(range(50 if is_looked_for else 30))


def refused(scene: Scene, path: str) -> ProposalView:
    """A backfill commits while the stop takes its savepoint: the branch is not begun, and the job is stopped."""
    stop = scene.flink.stop
    scene.flink.then(scene.backfill_commits)
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

    undone = scene.does(undo_proposal, number=2, undoes=view.proposal.id)

    assert "`/waterline undo` starts it again from the state that the stop left, if that pairs" in view.result.sentence
    assert (JOB, "refused", None) == (stands.job, stands.settled, stands.waits_for)
    assert undone.state is ProposalState.APPLIED
    assert len(scene.alive) == 1
    assert standing_job(scene.store.get(scene.incident)) is None


@pytest.mark.long
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
    assert (None, second.id) == (waits.settled, waits.waits_for.proposal.id)
    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert f"savepoint-{stopped[:6]}" in start.path
    assert "which an earlier stop of this incident took" in said(view.proposal)
    assert view.state is ProposalState.APPLIED, view.result
    assert len(scene.alive) == 1
    assert sorted({*scene.positions()}) == scene.positions()
    assert standing_job(scene.store.get(scene.incident)) is None


@pytest.mark.long
def test_giving_the_later_one_up_starts_it_too(scene: Scene) -> None:
    """Main as it is."""
    plan = rehearsed_then(scene)

    view = scene.carries_out(drop_repair_branch.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result
    assert len(scene.alive) == 1
    assert standing_job(scene.store.get(scene.incident)) is None


@pytest.mark.long
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
    assert stands.settled == "published"


def undone(scene: Scene, publication: ProposalView) -> ProposalView:
    """Proposed, approved and carried out."""
    view = scene.does(undo_proposal, number=3, undoes=publication.proposal.id)
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


def test_what_an_idle_run_began_with_is_right_once_its_publication_is_undone(scene: Scene) -> None:
    """It had committed nothing; main has moved since, so that its own state is not proven."""
    begins_idle(scene)
    publication = published(scene, proven(scene, rehearsed(scene)))

    view = undone(scene, publication)

    [start] = [effect for effect in view.proposal.effects if isinstance(effect, StartJob)]
    assert start.checkpoint_id == 3
    assert scene.positions() == sorted([*range(50), 20])


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
