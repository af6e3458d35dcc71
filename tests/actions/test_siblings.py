"""A job that writes several tables: what moves the job names the others, and doubles none of them."""

from contextlib import closing

import pytest

from bot.actions import restart_from_stop_savepoint, restore_job_only, rewind_table_and_job, take_savepoint
from bot.actions._completing import completed
from bot.actions._scan import ActionModule
from bot.adapters.clock import SystemClock
from bot.domain.action import Plan
from bot.domain.diagnosis import Case
from bot.domain.errors import Refused, Superseded
from bot.domain.evidence import Observation
from bot.domain.execution import ProposalState
from bot.domain.ids import short
from bot.domain.proposal import Proposal
from bot.service.proposing import Proposals
from tests.actions.guests import guest_commits
from tests.actions.scene import Scene
from tests.actions.siblings import ITEMS, items, items_commit, items_move, knowing_items, makes_items
from tests.little_flink import JOB, open_catalog
from tests.rewound import ANA
from tests.tables import job, of_flink, rows


def damaged(scene: Scene) -> None:
    """Run b goes on from the older savepoint, and commits rows to orders that run a had committed."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    items_commit(scene, "a", 4)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)


def rewinding(scene: Scene) -> Plan:
    """Back to the last commit of run a."""
    return knowing_items(scene, scene.plan(last_good=scene.snapshot("a", 4), wrong_run=job("b")))


def test_a_rewind_that_would_double_another_table_is_refused(scene: Scene) -> None:
    """It holds what run b has committed after the restore point; the refusal says where to go back to."""
    damaged(scene)
    paired = items(scene).head
    items_commit(scene, "b", 4, 5)
    plan = rewinding(scene)

    with pytest.raises(Refused, match=r"duplicate rows of sales\.items") as refused:
        completed(rewind_table_and_job.propose(plan), plan)

    assert "2 commits, up to" in refused.value.found
    assert f"back to {short(paired)} ({paired})" in refused.value.remedy


def test_once_it_is_moved_back_too_the_rewind_is_carried_out(scene: Scene) -> None:
    """By people, with the job stopped: then it pairs."""
    damaged(scene)
    paired = items(scene).head
    assert paired is not None
    items_commit(scene, "b", 4, 5)
    scene.flink.stop(JOB, job("b"))
    items_move(scene, paired)
    plan = rewinding(scene)

    view = scene.carries_out(rewind_table_and_job.propose(plan), plan)

    told = " ".join(view.proposal.preview.sentences)
    assert view.state is ProposalState.APPLIED
    assert f"{JOB} writes sales.items as well" in told
    assert f"checkpoint 4 pairs with its newest commit by Flink, {short(paired)}" in told


def test_it_is_asked_again_when_it_is_carried_out(scene: Scene) -> None:
    """What run b commits to it between the approval and its stop ends the proposal before the start."""
    damaged(scene)
    plan = rewinding(scene)
    made = scene.approved(rewind_table_and_job.propose(plan), plan)
    items_commit(scene, "b", 5)

    with pytest.raises(Superseded, match=r"duplicate rows of sales\.items"):
        scene.executions.begin(scene.incident, made.id, by=ANA)

    assert len(scene.calls) == 1


def test_what_it_lacks_is_said(scene: Scene) -> None:
    """Somebody has rolled it back below the restore point: people know before they approve."""
    damaged(scene)
    items_move(scene, items(scene).chain[1].snapshot_id)
    plan = rewinding(scene)

    told = " ".join(completed(rewind_table_and_job.propose(plan), plan).preview.sentences)

    assert "sales.items: it lacks rows of checkpoint 4 that the job does not read again" in told


def test_a_restart_from_the_stop_is_bound_to_it(scene: Scene) -> None:
    """The state is not there yet: what it holds is compared once it is."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    plan = knowing_items(scene, scene.plan())

    view = scene.carries_out(restart_from_stop_savepoint.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert "sibling-spared" in {each.kind for each in view.proposal.requirements}


def test_a_restart_from_a_stop_that_left_it_ahead_starts_nothing(scene: Scene) -> None:
    """Its newest commit is of a checkpoint that the savepoint does not hold."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3, 4)
    plan = knowing_items(scene, scene.plan())

    view = scene.carries_out(restore_job_only.propose(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]


def test_a_savepoint_that_would_double_it_is_not_kept(scene: Scene) -> None:
    """Whoever started from it would trust it."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3, 4)
    plan = knowing_items(scene, scene.plan())

    view = scene.carries_out(take_savepoint.propose(plan), plan)

    assert view.state is ProposalState.REFUSED
    assert view.result is not None
    assert "duplicate rows of sales.items" in view.result.sentence


def test_a_stop_names_it(scene: Scene) -> None:
    """No row comes to it either."""
    makes_items(scene)
    plan = knowing_items(scene, scene.plan())

    told = " ".join(completed(take_savepoint.propose(plan), plan).preview.sentences)

    assert "sales.items as well. This does not freeze, move, tag or repair it" in told


def test_a_table_that_the_catalog_does_not_know_is_in_nobodys_way(scene: Scene) -> None:
    """Neither when it is proposed nor when somebody drops it between the approval and the start."""
    makes_items(scene)
    plan = knowing_items(scene, scene.plan())
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    catalog = open_catalog(scene.folder)
    catalog.drop_table(ITEMS)
    catalog.close()

    scene.executions.begin(scene.incident, made.id, by=ANA)
    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.APPLIED
    assert knowing_items(scene, scene.plan()).siblings() == ()


@pytest.mark.parametrize(("run", "named"), [("a", True), ("e", False)])
def test_a_table_without_a_job_is_the_jobs_where_its_run_wrote_it_last(scene: Scene, run: str, named: bool) -> None:
    """Else it is nobody's that is known."""
    makes_items(scene, job=None)
    items_commit(scene, run, 1)
    plan = knowing_items(scene, scene.plan())

    proposal = completed(take_savepoint.propose(plan), plan)

    assert any(ITEMS in each for each in proposal.preview.sentences) is named


def guest_commits_to_both(scene: Scene, checkpoint: int, first: int) -> None:
    """Another job writes both tables, and keeps its savepoint beside the job's."""
    guest_commits(scene, checkpoint, first)
    with closing(open_catalog(scene.folder)) as catalog:
        told = of_flink("e", checkpoint, {"flink.operator-id": "ee" * 16})
        catalog.load_table(ITEMS).append(rows(range(first, first + 3)), snapshot_properties=told)


def test_what_a_guest_of_both_tables_wrote_is_in_nobodys_way(scene: Scene) -> None:
    """A restore of the job makes none of its commits again."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    guest_commits_to_both(scene, 8, 900)
    scene.flink.checkpoints(job("a"), 3)
    items_commit(scene, "a", 4, 5, 6)
    scene.flink.stop(JOB, job("a"))
    guest_commits_to_both(scene, 9, 903)
    plan = knowing_items(scene, scene.plan())

    proposal = completed(restore_job_only.propose(plan), plan)

    assert any(ITEMS in each for each in proposal.preview.sentences)


def test_the_service_looks_for_them(scene: Scene) -> None:
    """Whatever is proposed knows of them, by configuration alone."""
    makes_items(scene)
    found: list[str] = []

    class Knowing:
        def case(self, _incident: object, observation: Observation) -> Case:
            return scene.plan().case.model_copy(update={"observation": observation})

    def propose(plan: Plan) -> Proposal:
        found.extend(table.name for table in plan.siblings())
        return take_savepoint.propose(plan)

    action = take_savepoint.ACTION.model_copy(update={"needs": ()})
    modules = {action.name: ActionModule(action=action, propose=propose)}
    proposals = Proposals(scene.store, scene.observer, Knowing(), modules, SystemClock())  # type: ignore[arg-type]

    made = proposals.propose(scene.incident, action.name, step=None, by=ANA)

    assert found == [ITEMS]
    assert any(ITEMS in sentence for sentence in scene.view(made).proposal.preview.sentences)


def test_a_table_to_which_no_row_has_come_for_long_pairs_all_the_same(scene: Scene) -> None:
    """A dynamic sink commits only where it has files: the checkpoints between carried none for it."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    scene.flink.sink = "items Pre Commit"
    scene.flink.checkpoints(job("a"), 18)
    scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FAILED")
    plan = knowing_items(scene, scene.plan())

    proposal = completed(restore_job_only.propose(plan), plan)

    assert any("sales.items: checkpoint 21 pairs" in said for said in proposal.preview.sentences)
