"""A job that writes several tables: no action doubles or loses a row of another one.

A second table that the job of the scene writes.
"""

import time
from contextlib import closing
from pathlib import Path
from types import ModuleType

import pytest

from bot.actions import (
    drop_repair_branch,
    publish_repair,
    restart_from_stop_savepoint,
    restore_job_only,
    roll_back_table_and_restore_job,
    take_savepoint,
    undo_proposal,
)
from bot.actions._support.completing import completed
from bot.incident.action import Plan
from bot.incident.effects import StartJob
from bot.incident.entries import ExecutionEnded
from bot.incident.execution import ProposalState
from bot.incident.proposal import Proposal
from bot.observation.errors import Refused, Superseded
from bot.observation.flink import RememberedStart
from bot.observation.ids import IncidentId, ProposalId, SnapshotId, TableName, short
from bot.observation.table import TableState
from bot.service.observing import siblings_of
from tests.actions.other_jobs import guest_commits
from tests.actions.owing import lists
from tests.actions.plans import seeing
from tests.actions.scene import Scene, savepoint_of
from tests.actions.test_publications import A, B, begins_idle, proven, rehearsed, said, without_runs
from tests.actions.test_rows_of_repairs import copied
from tests.little_flink import JOB, by_hand, open_catalog
from tests.rewound import ANA, begins
from tests.tables import OPERATOR, ORDERS, job, of_flink, rows

ITEMS = TableName("sales.items")


def makes_items(scene: Scene, *, job: str | None = JOB) -> None:
    """The table, empty, and configured with this job."""
    with closing(open_catalog(scene.folder)) as catalog:
        catalog.create_table(ITEMS, schema=rows([]).schema)
    setup = scene.observer.setup(ORDERS)
    scene.observer.tables = {ORDERS: setup, ITEMS: setup.model_copy(update={"name": ITEMS, "job": job})}


def items_commit(scene: Scene, run: str, *checkpoints: int) -> None:
    """These checkpoints of a run reach it."""
    with by_hand(scene.folder, ITEMS) as table:
        for number in checkpoints:
            first = (number - 1) * 10
            table.append(rows(range(first, first + 10)), snapshot_properties=of_flink(run, number))


def items_move(scene: Scene, to: SnapshotId) -> None:
    """Somebody rolls it back."""
    with by_hand(scene.folder, ITEMS) as table:
        table.manage_snapshots().rollback_to_snapshot(to).commit()


def items(scene: Scene) -> TableState:
    """As the catalog tells it now."""
    return scene.catalog.load(ITEMS)


def knowing_items(scene: Scene, plan: Plan) -> Plan:
    """As the service fills it in."""
    observed = plan.case.observation
    return plan.model_copy(
        update={"siblings": lambda: siblings_of(scene.observer, scene.observer.setup(ORDERS), observed)}
    )


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
        completed(roll_back_table_and_restore_job.propose(plan), plan)

    assert "of 2 commits, checkpoints" in refused.value.found
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

    view = scene.carries_out(roll_back_table_and_restore_job.propose(plan), plan)

    told = " ".join(view.proposal.preview.sentences)
    assert view.state is ProposalState.APPLIED
    assert f"{JOB} writes sales.items as well" in told
    assert f"{ITEMS} goes on right. Snapshot {short(paired)}" in told


def test_it_is_asked_again_when_it_is_carried_out(scene: Scene) -> None:
    """What run b commits to it between the approval and its stop ends the proposal before the start."""
    damaged(scene)
    plan = rewinding(scene)
    made = scene.approved(roll_back_table_and_restore_job.propose(plan), plan)
    items_commit(scene, "b", 5)

    with pytest.raises(Superseded, match=r"duplicate rows of sales\.items"):
        scene.executions.begin(scene.incident, made.id, by=ANA)

    assert len(scene.calls) == 1


def test_what_it_lacks_is_said(scene: Scene) -> None:
    """Somebody has rolled it back below the restore point: people know before they approve."""
    damaged(scene)
    items_move(scene, items(scene).chain[1].snapshot_id)
    plan = rewinding(scene)

    told = " ".join(completed(roll_back_table_and_restore_job.propose(plan), plan).preview.sentences)

    assert f"{ITEMS} does not go on right." in told


@pytest.mark.parametrize(
    ("action", "committed", "state", "says"),
    [
        pytest.param(restart_from_stop_savepoint, 3, ProposalState.APPLIED, "", id="compared once the state is there"),
        pytest.param(restore_job_only, 4, ProposalState.REFUSED, "", id="its newest commit is not in the savepoint"),
        pytest.param(
            take_savepoint,
            4,
            ProposalState.REFUSED,
            "duplicate rows of sales.items",
            id="whoever started would trust it",
        ),
    ],
)
def test_what_a_stop_leaves_is_bound_to_the_other_table(  # type: ignore[no-untyped-def]
    scene: Scene, action, committed: int, state: ProposalState, says: str
) -> None:
    """A savepoint that would double its rows is not kept, and nothing is started from it."""
    makes_items(scene)
    items_commit(scene, "a", *range(1, committed + 1))
    plan = knowing_items(scene, scene.plan())

    view = scene.carries_out(action.propose(plan), plan)

    assert view.state is state
    assert "sibling-spared" in {each.kind for each in view.proposal.requirements}
    assert scene.calls == (["stop", "start"] if state is ProposalState.APPLIED else ["stop"])
    assert says in view.result.sentence


def test_a_table_that_the_catalog_does_not_know_is_in_nobodys_way(scene: Scene) -> None:
    """Neither when it is proposed nor when somebody drops it between the approval and the start."""
    makes_items(scene)
    plan = knowing_items(scene, scene.plan())
    made = scene.approved(restart_from_stop_savepoint.propose(plan), plan)
    scene.drops(ITEMS)

    scene.executes(made.id)

    assert scene.view(made.id).state is ProposalState.APPLIED
    assert knowing_items(scene, scene.plan()).siblings() == ()


@pytest.mark.parametrize(("configured", "run", "named"), [(JOB, "a", True), (None, "a", True), (None, "e", False)])
def test_a_table_without_a_job_is_the_jobs_where_its_run_wrote_it_last(
    scene: Scene, configured: str | None, run: str, named: bool
) -> None:
    """Else it is nobody's that is known. A stop names the job's: no row comes to it either."""
    makes_items(scene, job=configured)
    if configured is None:
        items_commit(scene, run, 1)
    plan = knowing_items(scene, scene.plan())

    proposal = completed(take_savepoint.propose(plan), plan)

    says = "sales.items as well. This does not freeze, move, tag or repair it"
    assert any(says in each for each in proposal.preview.sentences) is named


def guest_commits_to_both(scene: Scene, checkpoint: int, first: int) -> None:
    """Another job writes both tables, and keeps its savepoint beside the job's."""
    guest_commits(scene, checkpoint, first)
    with by_hand(scene.folder, ITEMS) as table:
        told = of_flink("e", checkpoint, {"flink.operator-id": "ee" * 16})
        table.append(rows(range(first, first + 3)), snapshot_properties=told)


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

    def propose(plan: Plan) -> Proposal:
        found.extend(table.name for table in plan.siblings())
        return take_savepoint.propose(plan)

    proposals = scene.proposing(take_savepoint, propose)
    made = proposals.propose(scene.incident, take_savepoint.ACTION.name, step=None, by=ANA)

    assert found == [ITEMS]
    assert any(ITEMS in sentence for sentence in scene.view(made).proposal.preview.sentences)


def test_a_table_to_which_no_row_has_come_for_long_pairs_all_the_same(scene: Scene) -> None:
    """A dynamic sink commits only where it has files: the checkpoints between carried none for it."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    scene.flink.sink = "items Pre Commit"
    scene.flink.checkpoints(job("a"), 18)
    scene.flink.ends_with_savepoint(job("a"))
    plan = knowing_items(scene, scene.plan())

    proposal = completed(restore_job_only.propose(plan), plan)

    assert any(f"{ITEMS} goes on right." in said for said in proposal.preview.sentences)


def owes_items(scene: Scene, checkpoint: int) -> None:
    """Run a is down over its savepoint, which holds rows of this checkpoint that the other table has not got."""
    scene.flink.ends(job("a"), "FAILED")
    state = scene.flink.savepoint(job("a")) / "_metadata"
    folder = Path(items(scene).location.removeprefix("file://")) / "metadata"
    manifest = folder / f"{job('a')}-{OPERATOR}-00000-0-{checkpoint}-00001.avro"
    manifest.write_bytes(b"")
    lists(state, manifest)


def said_of_items(scene: Scene) -> str:
    """Where the job is started from the savepoint."""
    plan = knowing_items(scene, scene.plan())
    sentences = completed(restore_job_only.propose(plan), plan).preview.sentences
    return next(each for each in sentences if each.startswith(f"{ITEMS} "))


def test_a_copy_holds_nothing_that_came_after_what_it_is_a_copy_of(scene: Scene) -> None:
    """Run a had brought nothing to the other table; run b went on from its savepoint, and did."""
    makes_items(scene)
    three = scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.checkpoints(job("b"), 1)
    items_commit(scene, "b", 4)
    copied(three)
    plan = knowing_items(scene, scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("b")))

    with pytest.raises(Refused, match=r"would duplicate rows of sales\.items") as refused:
        completed(roll_back_table_and_restore_job.propose(plan), plan)

    assert "of 1 commit, checkpoint" in refused.value.found


def test_the_point_itself_holds_what_other_runs_had_brought_before(scene: Scene) -> None:
    """Run b has brought nothing to the other table: run a's rows are behind its savepoint."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    three = scene.flink.ends_with_savepoint(job("a"), "FINISHED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.checkpoints(job("b"), 1)
    scene.flink.ends_with_savepoint(job("b"))

    assert said_of_items(scene)


def test_of_starts_under_one_job_id_it_is_of_the_one_that_came_so_far(scene: Scene) -> None:
    """The second start, without state, brought its first rows to the other table sooner after the savepoint than the
    first start had brought its last ones before."""
    makes_items(scene)
    items_commit(scene, "a", 2)
    time.sleep(1.2)
    scene.flink.checkpoints(job("a"), 2)
    scene.flink.savepoint(job("a"))
    good = scene.table.head
    scene.flink.ends(job("a"), "FAILED")
    scene.flink.submit(job("a"), at_checkpoint=0)
    items_commit(scene, "a", 1)
    scene.flink.checkpoints(job("a"), 1)
    plan = knowing_items(scene, scene.plan(last_good=good, wrong_run=job("a")))

    with pytest.raises(Refused, match=r"would duplicate rows of sales\.items") as refused:
        completed(roll_back_table_and_restore_job.propose(plan), plan)

    assert "of 1 commit, checkpoint" in refused.value.found


def test_a_point_that_goes_on_where_it_ends_is_said_to(scene: Scene) -> None:
    """It commits first what it owes."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2)
    owes_items(scene, 3)

    told = said_of_items(scene)

    assert f"{ITEMS} may not go on right. Run aaaaaa has committed up to checkpoint 2" in told
    assert "A job restored from here commits it first" in told


def test_what_it_has_lost_below_such_a_point_is_said_not_to_come_back(scene: Scene) -> None:
    """Somebody has rolled it back, and the state has the lost rows behind it."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2)
    items_move(scene, items(scene).chain[1].snapshot_id)
    owes_items(scene, 3)

    told = said_of_items(scene)

    assert f"{ITEMS} does not go on right. Run aaaaaa has committed up to checkpoint 2" in told
    assert "main has lost 1 of these commits" in told
    assert "a job started from here does not bring their rows again" in told


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
    assert "rows of 5 commits" in said(proposal)
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


def remembering(plan: Plan) -> Plan:
    """The same where Flink has forgotten the runs that have ended, and Waterline has seen how they began."""
    starts = tuple(
        RememberedStart(
            job=JOB, job_id=run.job_id, name=run.name, started_at=run.started_at, restored=run.restored,
            first_count=run.restored_count, last_count=run.restored_count, last_at=None, operator_ids=(), ended_at=None,
            first_seen=run.started_at
        )
        for run in plan.case.runs
    )  # fmt: skip
    return seeing(without_runs(plan), remembered=starts)


@ENDS
@pytest.mark.parametrize(
    ("seen_by", "points"),
    [(lambda plan: plan, [8]), (remembering, [8]), (without_runs, [])],
    ids=["Flink lists it", "Waterline remembers it", "nobody knows it"],
)
def test_what_an_idle_run_left_comes_before_what_it_began_from(  # type: ignore[no-untyped-def]
    scene: Scene, ends: ModuleType, seen_by, points: list[int]
) -> None:
    """It pairs by what the run began with, and doubles nothing; what that began with would double items."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    begins_idle(scene)
    items_commit(scene, "b", 4, 5, 6, 7, 8)
    plan = knowing_items(scene, seen_by(proven(scene, rehearsed(scene))))

    proposal = proposed(scene, ends, plan)

    assert starts(proposal) == points
    assert (str(savepoint_of(scene, "b", 8)) in said(proposal)) is bool(points)
    assert len(scene.alive) == len(points)


def begins_elsewhere(scene: Scene, *, private: bool) -> IncidentId:
    """The same restart is being carried out for another incident."""
    first = scene.store.get(scene.incident)
    other = scene.store.open(first.opened.model_copy(update={"private": private, "table": "sales.items"}), by=ANA)
    plan = scene.plan(number=9)
    new = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")
    again = restart_from_stop_savepoint.propose(plan).model_copy(update={"id": new})
    begins(scene.store, other.id, again)
    return other.id


@pytest.mark.parametrize("private", [False, True])
def test_while_another_incident_works_on_the_job_nothing_is_begun(scene: Scene, private: bool) -> None:
    """It stays approved; a private incident is not named."""
    made = scene.proposed(restart_from_stop_savepoint)
    other = begins_elsewhere(scene, private=private)

    with pytest.raises(Refused, match="Another proposal is running on job") as refused:
        scene.executions.begin(scene.incident, made.id, by=ANA)

    assert (other in refused.value.found) is not private
    assert scene.view(made.id).state is ProposalState.APPROVED
    assert scene.calls == []


def test_of_two_that_begin_at_the_same_moment_the_one_that_sees_the_other_does_nothing(scene: Scene) -> None:
    """Another replica began for the other table after this one had looked and before it did anything."""
    made = scene.proposed(restart_from_stop_savepoint)
    scene.executions.begin(scene.incident, made.id, by=ANA)
    begins_elsewhere(scene, private=False)

    scene.executions.carry_on(scene.incident, made.id)

    assert scene.view(made.id).state is ProposalState.REFUSED
    assert scene.calls == []
    ended = next(
        e.body for e in reversed(scene.store.get(scene.incident).entries) if isinstance(e.body, ExecutionEnded)
    )
    assert "Another proposal is running on job" in ended.sentence
