"""Repairs and restore points beside another job that commits to the table."""

from dataclasses import replace

import pytest

from bot.actions import drop_repair_branch, publish_repair, restore_job_at_head, roll_back_table_and_restore_job
from bot.actions._support.completing import completed
from bot.actions._support.foreseen import knowing
from bot.actions._support.requirements import check_all
from bot.actions._support.restore_points import newest_pair, pair_with_head
from bot.actions._support.staging import branch_for, rehearsal_of
from bot.actions.deduplicate_rows import ACTION
from bot.history.ranking import for_start
from bot.history.restore import Restores
from bot.incident.action import Plan
from bot.incident.contract_terms import observed_terms
from bot.incident.effects import DeleteRows
from bot.incident.execution import ProposalState
from bot.incident.proposal import HeadDescends, Proposal, requirement_sentence
from bot.observation.errors import Refused, Superseded
from bot.observation.file_changes import RowsOfFile
from bot.observation.findings import PairVerdict
from bot.observation.flink import CheckpointKind
from bot.observation.ids import OperatorId, short_job
from bot.observation.looked import NotSeen
from bot.observation.table import TableState
from tests.actions.other_jobs import GUEST, declared, forgotten, guest, guest_commits
from tests.actions.plans import seeing
from tests.actions.scene import Scene, refusal
from tests.actions.test_other_jobs import commits
from tests.actions.test_publications import proven, published, rehearsed, said
from tests.little_flink import JOB, LittleFlink
from tests.tables import CONTRACT, ORDERS, job

PAUSE = "Before you approve, stop run eeeeee of backfill-to-iceberg, which may write the table as well."


def commits_beside(scene: Scene, checkpoint: int) -> None:
    """Three rows of the other job."""
    commits(scene, "e", checkpoint, range(870 + 3 * checkpoint, 873 + 3 * checkpoint), operator="ee" * 16)


@pytest.fixture
def beside(scene: Scene) -> LittleFlink:
    """The other job has committed below three checkpoints of the job, and goes on."""
    commits_beside(scene, 8)
    cluster = guest(scene, 8)
    declared(scene)
    scene.flink.checkpoints(job("a"), 3)
    return cluster


def repair(plan: Plan) -> Proposal:
    """One that would take out a row."""

    only = (RowsOfFile(path="x", spans=((0, 0),)),)
    delete = DeleteRows(table=ORDERS, branch=branch_for(plan), incident=plan.incident, why="Delete", rows=only)

    return completed(rehearsal_of(plan, ACTION, delete, title="Repair", sentences=(), proof="nothing"), plan)


@pytest.mark.usefixtures("beside")
def test_a_guests_commit_before_the_approval_leaves_the_rehearsal_as_it_is(scene: Scene) -> None:
    """The branch begins at the head that is there then; the other job may commit a last time while it is stopped."""
    proposal = repair(scene.plan())
    commits_beside(scene, 9)

    check_all(proposal.requirements, scene.observer.clients.world(ORDERS))


@pytest.mark.usefixtures("beside")
def test_a_compaction_before_the_approval_supersedes_the_rehearsal(scene: Scene) -> None:
    """It names files, which are not live any more then: it is refused before the job is stopped."""
    proposal = repair(scene.plan())
    world = scene.observer.clients.world(ORDERS)
    scene.backfill_commits()
    table = scene.table
    told = {"operation": "replace", "summary": {"deleted-records": "3", "added-records": "3"}}
    snapshots = tuple(s.model_copy(update=told) if s.snapshot_id == table.head else s for s in table.snapshots)
    compacted = TableState.model_validate({**table.model_dump(), "snapshots": snapshots})

    with pytest.raises(Superseded, match="has changed since this was proposed"):
        check_all(proposal.requirements, replace(world, table=compacted))
    [held] = [each for each in proposal.requirements if isinstance(each, HeadDescends)]
    assert "compactions" not in requirement_sentence(held)


@pytest.mark.usefixtures("beside")
def test_who_approves_a_rehearsal_or_a_rewind_is_told_what_to_pause(scene: Scene) -> None:
    """And until when."""
    scene.flink.savepoint(job("a"))
    plan = scene.plan(last_good=scene.snapshot("a", 6)).model_copy(update={"drops_others": True})

    assert f"{PAUSE} Start it again when the repair is published or dropped" in said(repair(plan))
    assert f"{PAUSE} Start it again when main has moved" in said(roll_back_table_and_restore_job.propose(plan))


def test_who_approves_is_told_where_nobody_knows_whether_the_guest_runs(scene: Scene, beside: LittleFlink) -> None:
    """Its cluster cannot be asked."""
    unseen = NotSeen(source="Flink of the guest", reason="It timed out.", remedy="Try again.")

    told = said(repair(seeing(scene.plan(), others=unseen)))

    assert "It is not known whether another job of the table runs (Flink of the guest: It timed out)." in told
    assert PAUSE not in told


def test_nobody_is_asked_to_pause_what_has_ended(scene: Scene, beside: LittleFlink) -> None:
    """Its run is listed still."""
    beside.stop(GUEST, job("e"))

    assert "Before you approve, stop run" not in said(repair(scene.plan()))


def test_a_publication_that_the_guest_ends_says_who_must_pause_and_succeeds_then(
    scene: Scene, beside: LittleFlink
) -> None:
    """Given up, with the other job stopped, and proposed anew."""
    first = rehearsed(scene)
    commits_beside(scene, 9)

    refused = refusal(publish_repair, proven(scene, first))
    plan = proven(scene, first)
    dropped = scene.carries_out(drop_repair_branch.propose(plan), plan)
    beside.stop(GUEST, job("e"))

    assert "committed by Flink run eeeeee (checkpoint 9). Stop that writer first, or it ends the next repair" in str(
        refused
    )
    assert "`/waterline propose drop_repair_branch`" in str(refused)
    assert dropped.state is ProposalState.APPLIED, dropped.result
    assert "Before you approve, stop run" not in said(repair(scene.plan()))


@pytest.mark.usefixtures("beside")
def test_a_publication_names_what_must_stay_paused(scene: Scene) -> None:
    """Until main has moved."""
    view = published(scene, proven(scene, rehearsed(scene)))

    assert f"{PAUSE} Start it again when main has moved" in said(view.proposal)


def rewound_below_a_guest(scene: Scene) -> None:
    """Run b goes on from an old savepoint above what the other job has committed last."""
    older = scene.flink.savepoint(job("a"))
    guest_commits(scene, 7, 900)
    scene.flink.checkpoints(job("a"), 3)
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 8, 903)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)


def back_to_the_guest(scene: Scene, *, drops_others: bool = False) -> Plan:
    """As the diagnosis has it: the newest commit before run b's is the other job's."""
    plan = scene.plan(last_good=scene.snapshot("e", 8), wrong_run=job("b"))
    return plan.model_copy(update={"drops_others": drops_others})


@pytest.mark.parametrize("is_declared", [False, True], ids=["undeclared", "declared"])
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["listed", "forgotten"])
def test_a_rewind_goes_on_from_the_jobs_own_state(scene: Scene, *, is_declared: bool, is_forgotten: bool) -> None:
    """The other job's pairs with a newer commit; what the job reads is not in it."""
    rewound_below_a_guest(scene)
    if is_declared:
        declared(scene)
    if is_forgotten:
        forgotten(scene, "a")
    plan = back_to_the_guest(scene, drops_others=True)

    proposal = roll_back_table_and_restore_job.propose(plan)
    view = scene.carries_out(proposal, plan)

    assert proposal.title.endswith("to checkpoint 6")
    assert [(each.writer, each.rows) for each in proposal.preview.others] == [("Flink run eeeeee", 3)]
    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 903)]


def test_a_rewind_below_a_guests_commit_is_asked_for(scene: Scene) -> None:
    """The job does not make its rows again."""
    rewound_below_a_guest(scene)

    with pytest.raises(Refused, match=r"3 rows in 1 commit of Flink run eeeeee .*drop_others=yes"):
        roll_back_table_and_restore_job.propose(back_to_the_guest(scene))


@pytest.mark.parametrize("has_declared", [False, True], ids=["undeclared", "declared"])
def test_no_start_from_a_guests_savepoint(scene: Scene, *, has_declared: bool) -> None:
    """It pairs with the newest commit; the refusal names its run, and what the job itself has left."""
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 8, 900)
    if has_declared:
        declared(scene)

    with pytest.raises(
        Refused, match=r"Run eeeeee seems to belong to another job.*savepoint-aaaaaa-000000000003, which pairs"
    ):
        restore_job_at_head.propose(scene.plan())


def test_the_evidence_calls_such_a_point_foreign(scene: Scene) -> None:
    """It pairs with nothing, and is not said to stay."""
    scene.flink.savepoint(job("a"))
    guest_commits(scene, 8, 900)

    told = {short_job(each.job_id): each for each in Restores(scene.plan().case).in_evidence}

    assert told["aaaaaa"].verdict is PairVerdict.PAIRED
    assert (told["eeeeee"].verdict, told["eeeeee"].snapshot_id) == (PairVerdict.FOREIGN, None)
    assert not told["eeeeee"].is_durable


def test_a_savepoint_of_a_run_that_flink_has_forgotten_stays_the_jobs(scene: Scene) -> None:
    """By its sink, and under another sink where no run of the job was there yet."""
    scene.flink.stop(JOB, job("a"))
    forgotten(scene, "a")

    view = scene.does(restore_job_at_head)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(50)]


def test_a_savepoint_under_an_earlier_uid_stays_the_jobs(scene: Scene) -> None:
    """The run is forgotten; the one that took over commits by another sink, one after the other."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older, operator=OperatorId("d" * 32))
    scene.flink.checkpoints(job("b"), 3)
    forgotten(scene, "a")

    assert newest_pair(scene.plan().case, scene.snapshot("a", 3)).checkpoint_id == 3


def test_a_savepoint_of_the_job_that_handed_over_stays_usable(scene: Scene) -> None:
    """Blue/green: the declared job began from the state of this one, and reads what it reads."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    other = guest(scene, 3, restored=older)
    other.checkpoints(job("e"), 2)
    other.savepoint(job("e"))
    declared(scene)

    assert pair_with_head(scene.plan().case, None).snapshot_id == scene.snapshot("e", 5)


def test_above_the_rows_of_kin_by_another_sink_the_job_does_not_start(scene: Scene) -> None:
    """They read one source: what related jobs has committed beside the job would be read again."""
    older = scene.flink.savepoint(job("a"))
    guest(scene, 3, restored=older)
    commits(scene, "e", 4, range(30, 33), operator="ee" * 16)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 5, range(33, 36), operator="ee" * 16)
    scene.flink.stop(JOB, job("a"))
    declared(scene)

    with pytest.raises(Refused, match="the newest commit by Flink"):
        restore_job_at_head.propose(scene.plan())


def test_where_no_run_is_known_and_two_jobs_wrote_beside_each_other_nothing_is_chosen(scene: Scene) -> None:
    """Which of the two is the job, nothing tells; where the other is declared, that does."""
    guest_commits(scene, 8, 900)
    scene.flink.checkpoints(job("a"), 3)
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 9, 903)
    forgotten(scene, "a")
    plan = scene.plan()

    with pytest.raises(Refused, match="not known which restore points belong to the job"):
        pair_with_head(plan.case, None)
    with pytest.raises(Refused, match="not known which restore points belong to the job"):
        newest_pair(plan.case, scene.snapshot("e", 9))
    declared(scene)
    assert newest_pair(scene.plan().case, scene.snapshot("e", 9)).snapshot_id == scene.snapshot("a", 6)


def test_what_a_repair_that_is_given_up_goes_on_from_is_the_stopped_runs(scene: Scene) -> None:
    """The run that the rehearsal stopped is known, also where its cluster is gone."""
    guest_commits(scene, 8, 900)
    scene.flink.checkpoints(job("a"), 3)
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 9, 903)
    forgotten(scene, "a")

    point = for_start(knowing(scene.plan().case, job("a"))).best

    assert point.snapshot_id == scene.snapshot("a", 6)


@pytest.mark.parametrize("is_seen", [False, True], ids=["cluster down", "alive"])
def test_a_retained_checkpoint_of_a_living_kin_does_not_stay(scene: Scene, *, is_seen: bool) -> None:
    """Flink drops it while people decide."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    other = guest(scene, 3, restored=older)
    other.checkpoints(job("e"), 2)
    other.savepoint(job("e"))
    declared(scene)
    plan = scene.plan()
    points = plan.case.observation.checkpoints
    stored = [each.model_copy(update={"kind": CheckpointKind.CHECKPOINT}) for each in points.values]
    plan = seeing(plan, checkpoints=points.model_copy(update={"values": tuple(stored)}))
    unseen = NotSeen(source="Flink", reason="It is down.", remedy="Look again.")

    told = Restores((plan if is_seen else seeing(plan, others=unseen)).case).shown

    assert {short_job(each.job_id): each.is_durable for _, each in told} == {"aaaaaa": True, "eeeeee": False}


def test_the_terms_of_the_jobs_savepoints_are_not_told_by_a_guests(scene: Scene) -> None:
    """It was made while that job ran; the job's own were made by a stop."""
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 8, 900)
    world = scene.plan().case.observation
    points = tuple(
        each.model_copy(
            update={"kind": CheckpointKind.STOP_SAVEPOINT if each.job_id == job("a") else CheckpointKind.SAVEPOINT}
        )
        for each in world.checkpoints.values
    )
    world = world.model_copy(update={"checkpoints": world.checkpoints.model_copy(update={"values": points})})

    told = [each.observed for each in observed_terms(world, CONTRACT, None)]

    assert len(points) == 2
    assert "On storage: 1 made by a stop, 0 made while the job ran, 0 of unknown kind." in told
    assert "None of 1 restore points outlived its snapshot." in told


def test_the_jobs_columns_are_not_told_by_a_guests_savepoint(scene: Scene) -> None:
    """The newest that is the job's own is asked."""
    own = scene.flink.savepoint(job("a"))
    guest_commits(scene, 8, 900)

    [written] = scene.plan().case.observation.written.values

    assert written.job_id == job("a")
    assert written.restore_point.endswith(own.name)
