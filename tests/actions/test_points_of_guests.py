"""A folder of savepoints may be another job's too, which writes the same table: from its points this job never goes
on."""

import pytest

from bot.actions import forward_job, rewind_table_and_job
from bot.actions._foreseen import knowing
from bot.actions._restore_points import goes_on_from, newest_pair, pair_with_head
from bot.domain.action import Plan
from bot.domain.contract_terms import observed_terms
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.findings import PairVerdict
from bot.domain.flink import CheckpointKind
from bot.domain.ids import short_job
from bot.domain.looked import NotSeen
from bot.domain.own_points import pairings_of, points_told_apart
from tests.actions.guests import declared, forgotten, guest, guest_commits
from tests.actions.scene import Scene
from tests.actions.test_guests_above_a_stop import commits
from tests.little_flink import JOB
from tests.tables import CONTRACT, job


def rewound_below_a_guest(scene: Scene) -> None:
    """Run b goes on from an old savepoint above what the guest has committed last."""
    older = scene.flink.savepoint(job("a"))
    guest_commits(scene, 7, 900)
    scene.flink.checkpoints(job("a"), 3)
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 8, 903)
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)


def back_to_the_guest(scene: Scene, *, drops_others: bool = False) -> Plan:
    """As the diagnosis has it: the newest commit before run b's is the guest's."""
    plan = scene.plan(last_good=scene.snapshot("e", 8), wrong_run=job("b"))
    return plan.model_copy(update={"drops_others": drops_others})


@pytest.mark.parametrize("is_declared", [False, True], ids=["undeclared", "declared"])
@pytest.mark.parametrize("is_forgotten", [False, True], ids=["listed", "forgotten"])
def test_a_rewind_goes_on_from_the_jobs_own_state(scene: Scene, *, is_declared: bool, is_forgotten: bool) -> None:
    """The guest's pairs with a newer commit; what the job reads is not in it."""
    rewound_below_a_guest(scene)
    if is_declared:
        declared(scene)
    if is_forgotten:
        forgotten(scene, "a")
    plan = back_to_the_guest(scene, drops_others=True)

    proposal = rewind_table_and_job.propose(plan)
    view = scene.carries_out(proposal, plan)

    assert proposal.title.endswith("back to checkpoint 6")
    assert [(each.writer, each.rows) for each in proposal.preview.others] == [("Flink run eeeeee", 3)]
    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 903)]


def test_a_rewind_below_a_guests_commit_is_asked_for(scene: Scene) -> None:
    """The job does not make its rows again."""
    rewound_below_a_guest(scene)

    with pytest.raises(Refused, match=r"3 rows in 1 commit of Flink run eeeeee .*drop_others=yes"):
        rewind_table_and_job.propose(back_to_the_guest(scene))


@pytest.mark.parametrize("has_declared", [False, True], ids=["undeclared", "declared"])
def test_no_start_from_a_guests_savepoint(scene: Scene, *, has_declared: bool) -> None:
    """It pairs with the newest commit; the refusal names its run, and what the job itself has left."""
    scene.flink.stop(JOB, job("a"))
    guest_commits(scene, 8, 900)
    if has_declared:
        declared(scene)

    with pytest.raises(Refused, match=r"Run eeeeee made that commit.*savepoint-aaaaaa-000000000003, which pairs"):
        forward_job.propose(scene.plan())


def test_the_evidence_calls_such_a_point_foreign(scene: Scene) -> None:
    """It pairs with nothing, and is not said to stay."""
    scene.flink.savepoint(job("a"))
    guest_commits(scene, 8, 900)

    told = {short_job(each.job_id): each for each in pairings_of(scene.plan().case)}

    assert told["aaaaaa"].verdict is PairVerdict.PAIRED
    assert (told["eeeeee"].verdict, told["eeeeee"].snapshot_id) == (PairVerdict.FOREIGN, None)
    assert not told["eeeeee"].is_durable


def test_a_savepoint_of_a_run_that_flink_has_forgotten_stays_the_jobs(scene: Scene) -> None:
    """By its sink, and under another sink where no run of the job was there yet."""
    scene.flink.stop(JOB, job("a"))
    forgotten(scene, "a")
    plan = scene.plan()

    view = scene.carries_out(forward_job.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(50)]


def test_a_savepoint_under_an_earlier_uid_stays_the_jobs(scene: Scene) -> None:
    """The run is forgotten; the one that took over commits by another sink, one after the other."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older, suffix="-2")
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
    """They read one source: what kin has committed beside the job would be read again."""
    older = scene.flink.savepoint(job("a"))
    guest(scene, 3, restored=older)
    commits(scene, "e", 4, range(30, 33), operator="ee" * 16)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 5, range(33, 36), operator="ee" * 16)
    scene.flink.stop(JOB, job("a"))
    declared(scene)

    with pytest.raises(Refused, match="the newest commit by Flink"):
        forward_job.propose(scene.plan())


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

    point = goes_on_from(knowing(scene.plan().case, job("a")))

    assert point is not None
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
    seen = scene.plan().case
    world = seen.observation
    stored = [each.model_copy(update={"kind": CheckpointKind.CHECKPOINT}) for each in world.checkpoints.values]
    unseen = NotSeen(source="Flink", reason="It is down.", remedy="Look again.")
    observed = world.model_copy(
        update={
            "checkpoints": world.checkpoints.model_copy(update={"values": tuple(stored)}),
            "others": world.others if is_seen else unseen,
        }
    )

    told = points_told_apart(seen.model_copy(update={"observation": observed}))

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
    assert written.restore_point is not None
    assert written.restore_point.endswith(own.name)
