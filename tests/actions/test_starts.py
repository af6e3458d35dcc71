"""What a start may begin from, and what it would bring or leave."""

from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bot.actions import (
    restart_from_stop_savepoint,
    restore_job_at_head,
    restore_job_only,
    roll_back_table_and_restore_job,
    take_savepoint,
    undo_proposal,
)
from bot.actions._effects import checks
from bot.history.restore import Restores, pairings
from bot.incident.action import Plan
from bot.incident.proposal import Proposal, RunIsCurrent, StartPossible, requirement_sentence
from bot.observation.errors import CouldNotLook, Refused, Superseded
from bot.observation.evidence import Observation
from bot.observation.findings import PairingFinding
from bot.observation.flink import CheckpointKind
from bot.observation.ids import JobId
from bot.observation.looked import NotSeen
from tests.actions.owing import extent, manifest_of, owes_the_next_checkpoint, with_extent
from tests.actions.plans import answering
from tests.actions.scene import ProposalState, Scene, starts_from
from tests.little_flink import open_catalog
from tests.tables import ORDERS, job, of_flink, rows


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
    six = scene.flink.ends_with_savepoint(job("b"))
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

    undone = scene.does(undo_proposal, undoes=view.proposal.id, number=2)

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


A = job("a")
SILENT = NotSeen(source="Flink", reason="Connection refused.", remedy="Wait.")
ON_HEAD = [restore_job_only.propose, restore_job_at_head.propose]
ALL = [*ON_HEAD, roll_back_table_and_restore_job.propose]
AGAIN = "`/waterline run checkpoint_pairing`"


def seen(scene: Scene) -> Observation:
    """The world now; what storage shows are checkpoints that Flink retains."""
    world = scene.plan().case.observation
    kind = {"kind": CheckpointKind.CHECKPOINT}
    stored = tuple(each.model_copy(update=kind) for each in world.checkpoints.values)
    return world.model_copy(update={"checkpoints": world.checkpoints.model_copy(update={"values": stored})})


def looked(world: Observation) -> PairingFinding:
    """The answer of `checkpoint_pairing` of this world."""
    return PairingFinding(pairings=pairings(world.checkpoints.values, world.table, world.jobs))


def planned(scene: Scene, world: Observation, known: PairingFinding) -> Plan:
    """By this world and this evidence; the head is right."""
    return answering(scene.plan(last_good=world.table.head), observation=world, pairing=known)


@pytest.mark.parametrize("propose", ALL)
@pytest.mark.parametrize("was_silent", [False, True])
def test_that_of_a_run_which_has_failed_since_is_started_from(
    scene: Scene, propose: Callable[[Plan], Proposal], was_silent: bool
) -> None:
    """It was RESTARTING then, or Flink did not answer. Without a commit nobody asks the evidence anew."""
    scene.flink.savepoint(A)
    then = seen(scene)
    known = looked(then.model_copy(update={"jobs": SILENT}) if was_silent else then)
    scene.flink.ends(A, "FAILED")

    made = propose(planned(scene, seen(scene), known))

    assert made.title.endswith((" from checkpoint 3", " to checkpoint 3"))


@pytest.mark.parametrize("propose", ALL)
def test_that_of_a_run_which_is_alive_again_is_not(scene: Scene, propose: Callable[[Plan], Proposal]) -> None:
    """A run of a fixed job id had ended when evidence looked: Flink drops its checkpoint as it goes on."""
    scene.flink.ends_with_savepoint(A)
    known = looked(seen(scene))
    assert [each.is_durable for each in known.pairings] == [True]
    scene.flink.submit(A, at_checkpoint=3)
    plan = planned(scene, seen(scene), known)
    jobs = plan.case.observation.jobs
    runs = tuple(run.model_copy(update={"state": "RESTARTING"}) for run in jobs.values)
    restarting = plan.case.observation.model_copy(update={"jobs": jobs.model_copy(update={"values": runs})})

    assert [each.is_durable for each in Restores(plan.case).in_evidence] == [False]
    with pytest.raises(Refused):
        propose(planned(scene, restarting, known))


@pytest.mark.parametrize("propose", ALL)
def test_nor_is_what_flink_has_deleted_as_the_run_ended(scene: Scene, propose: Callable[[Plan], Proposal]) -> None:
    """Storage does not show it any more: no action names it, and none says that its run is alive."""
    scene.flink.savepoint(A)
    known = looked(seen(scene))
    scene.flink.ends(A, "CANCELED")
    world = seen(scene)
    gone = world.model_copy(update={"checkpoints": world.checkpoints.model_copy(update={"values": ()})})

    with pytest.raises(Refused) as refused:
        propose(planned(scene, gone, known))

    assert "alive" not in str(refused.value)
    if propose in ON_HEAD:
        assert "Flink may delete it" in refused.value.found
        assert AGAIN in refused.value.remedy


@pytest.mark.parametrize("propose", ON_HEAD)
def test_a_point_that_came_since_the_evidence_is_named(scene: Scene, propose: Callable[[Plan], Proposal]) -> None:
    """The job went on for two checkpoints and died: what pairs is on storage, and nobody searches for it elsewhere."""
    scene.flink.savepoint(A)
    known = looked(seen(scene))
    scene.flink.checkpoints(A, 2)
    newest = scene.flink.ends_with_savepoint(A)

    with pytest.raises(Refused, match="cannot be restarted on the table as it is") as refused:
        propose(planned(scene, seen(scene), known))

    assert f"{newest.name}, which pairs" in refused.value.remedy
    assert AGAIN in refused.value.remedy
    assert "from checkpoint 5" in propose(planned(scene, seen(scene), looked(seen(scene)))).title


def test_a_rewind_names_one_that_came_since(scene: Scene) -> None:
    """None was there when evidence looked."""
    known = looked(seen(scene))
    scene.flink.ends_with_savepoint(A)

    with pytest.raises(Refused, match="Table and job cannot be rolled back") as refused:
        roll_back_table_and_restore_job.propose(planned(scene, seen(scene), known))

    assert AGAIN in refused.value.remedy


def loses_for_good(scene: Scene, *checkpoints: int) -> None:
    """Main goes back to 3, and maintenance expires what it has lost."""
    lost = [scene.snapshot("a", each) for each in checkpoints]
    scene.rolls_back(to=scene.snapshot("a", 3))
    scene.expires(lost)


@pytest.mark.parametrize("newest", [7, 18])
def test_an_empty_savepoint_above_them_is_not_started_from(tmp_path: Path, newest: int) -> None:
    """The job would go on after rows that the table does not have any more."""
    scene = Scene.made_in(tmp_path, newest)
    scene.flink.stands_at(job("a"), newest + 2)
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.savepoint(job("a"))
    loses_for_good(scene, *range(4, newest + 1))

    with pytest.raises(Refused, match="may have been lost and expired"):
        restore_job_only.propose(scene.plan())


@pytest.mark.parametrize("newest", [7, 18])
def test_nor_is_a_point_that_owes_only_what_came_after_them(tmp_path: Path, newest: int) -> None:
    """It brings its own checkpoint, and none of what was lost below."""
    scene = Scene.made_in(tmp_path, newest)
    owes_the_next_checkpoint(scene, "a", newest + 1)
    loses_for_good(scene, *range(4, newest + 1))
    plan = scene.plan()

    with pytest.raises(Refused):
        restore_job_only.propose(with_extent(plan, extent(plan)))


def test_nor_is_any_after_the_catalog_was_set_back(tmp_path: Path) -> None:
    """The older metadata file has the older sequence number, and no line of what came after it."""
    scene = Scene.made_in(tmp_path)
    older = scene.table.metadata_location
    scene.flink.checkpoints(job("a"), 17)
    scene.flink.stands_at(job("a"), 21)
    scene.flink.ends_with_savepoint(job("a"))
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.drop_table(ORDERS)
        catalog.register_table(ORDERS, older)

    with pytest.raises(Refused, match="gone as the catalog was set back"):
        restore_job_only.propose(scene.plan())


def test_the_savepoint_of_a_sink_that_may_be_silent_for_long_is_kept(tmp_path: Path) -> None:
    """DynamicIcebergSink commits nothing while no row comes; the proof afterwards knows it too."""
    scene = Scene.made_in(tmp_path)
    scene.flink.sink = "orders Pre Commit"
    scene.flink.stands_at(job("a"), 21)

    view = scene.does(take_savepoint)

    assert view.state is ProposalState.APPLIED, view.result
    assert all(check.passed for check in checks(scene.observer.clients, view))


APPROVED, DEPLOYED = "a" * 64, "b" * 64


def test_another_declaration_starts_nothing_and_stops_nothing(scene: Scene) -> None:
    """Seen before the first effect; the approver was told which declaration it is."""
    scene.flink.declared = APPROVED
    made = scene.proposed(restart_from_stop_savepoint)
    [asked] = [each for each in made.requirements if isinstance(each, StartPossible)]
    scene.flink.declared = DEPLOYED

    with pytest.raises(Superseded, match=f"when this was proposed \\({'a' * 12}\\).*changed \\({'b' * 12}\\)"):
        scene.executions.begin(scene.incident, made.id, by=made.proposed_by)

    assert f"Its start settings are unchanged ({'a' * 12})." in requirement_sentence(asked)
    assert scene.calls == []


def test_a_deployment_between_stop_and_start_starts_nothing(scene: Scene) -> None:
    """It is asked for again right before the start, whoever goes on with the execution."""
    scene.flink.declared = APPROVED
    scene.flink.then(lambda: setattr(scene.flink, "declared", DEPLOYED))

    view = scene.does(restart_from_stop_savepoint)

    assert view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]


def test_a_declaration_that_was_not_told_is_not_asked_for(scene: Scene) -> None:
    """It is carried out as it was approved."""
    made = scene.proposed(restart_from_stop_savepoint)
    [asked] = [each for each in made.requirements if isinstance(each, StartPossible)]
    scene.flink.declared = DEPLOYED

    scene.executions.begin(scene.incident, made.id, by=made.proposed_by)
    scene.executions.carry_on(scene.incident, made.id)

    assert asked.declaration is None
    assert scene.calls == ["stop", "start"]


STOPS_IT = [restart_from_stop_savepoint, take_savepoint]


@pytest.mark.parametrize("action", STOPS_IT, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_run_that_was_rescaled_after_the_approval_supersedes(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """By an autoscaler, or by hand: the job id stays, so only the parallelism tells."""
    proposal = scene.proposed(action)
    scene.flink.rescales(job("a"), 4)

    with pytest.raises(Superseded, match="somebody has rescaled it: Sink from 1 to 4"):
        scene.executions.begin(scene.incident, proposal.id, by=proposal.proposed_by)

    assert scene.view(proposal.id).state is ProposalState.SUPERSEDED
    assert scene.calls == []
    [said] = [requirement_sentence(each) for each in proposal.requirements if isinstance(each, RunIsCurrent)]
    assert said.endswith("is alive, and nobody has rescaled it.")


def test_a_rescale_between_two_steps_refuses_the_next_one(scene: Scene) -> None:
    """Maintenance is frozen by then; the job is left as it is, and the sentence says so."""
    proposal = scene.proposed(restart_from_stop_savepoint)
    scene.executions.begin(scene.incident, proposal.id, by=proposal.proposed_by)
    commit = scene.catalog.commit

    def commit_then_rescale(*change: object) -> object:
        after = commit(*change)  # type: ignore[arg-type]
        scene.flink.rescales(job("a"), 2)
        return after

    scene.catalog.commit = commit_then_rescale  # type: ignore[method-assign, assignment]
    scene.executions.carry_on(scene.incident, proposal.id)

    view = scene.view(proposal.id)
    assert view.state is ProposalState.REFUSED
    assert "rescaled it: Sink from 1 to 2. This step was not done." in view.result.sentence
    assert scene.calls == []


def test_a_run_that_is_being_recovered_has_no_scale_to_compare(scene: Scene) -> None:
    """It is cancelled anyway; a proposal from then does not wait for a parallelism."""
    scene.flink.breaks(job("a"))

    run = scene.flink.run(job("a"))

    assert run.parallelism == {}
