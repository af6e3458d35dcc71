"""Actions that leave the table as it is: every source position is there exactly once afterwards."""

import shutil

import pytest

from bot.actions import (
    free_checkpoint_folder,
    restart_from_stop_savepoint,
    restart_with_new_job_id,
    restore_job_at_head,
    restore_job_only,
)
from bot.incident.execution import ProposalState
from bot.observation.errors import Refused, Superseded
from tests.actions.scene import Scene
from tests.actions.test_other_jobs import commits
from tests.little_flink import JOB
from tests.tables import job

pytestmark = pytest.mark.smoke

FROM_A_PAIR = [restore_job_at_head, restore_job_only, restart_with_new_job_id, free_checkpoint_folder]
FROM_THE_STOP = [restart_from_stop_savepoint, restore_job_only, free_checkpoint_folder]


@pytest.mark.parametrize("guest", [0, 3], ids=["alone", "a guest wrote beside it"])
@pytest.mark.parametrize("action", FROM_A_PAIR, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_job_that_has_ended_goes_on_from_the_point_that_pairs_with_the_head(scene: Scene, action, guest: int) -> None:  # type: ignore[no-untyped-def]
    """No row is lost or doubled, nothing leaves main, and the first commit is the next checkpoint. The job's sink
    passes over what a guest commits, also where that came once more after the job had ended."""
    if guest:
        commits(scene, "e", 9, range(900, 900 + guest), operator="ee" * 16)
        scene.flink.checkpoints(job("a"), 3)
    scene.flink.stop(JOB, job("a"))
    if guest:
        commits(scene, "e", 9, range(900 + guest, 900 + 2 * guest), operator="ee" * 16)
    before = len(scene.calls)

    view = scene.does(action)

    assert view.state is ProposalState.APPLIED
    assert scene.calls[before:] == ["start"]
    assert scene.positions() == [*range(80 if guest else 50), *range(900, 900 + 2 * guest)]
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)
    assert view.proposal.preview.commits == 0


@pytest.mark.parametrize("action", FROM_A_PAIR, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_run_in_a_restart_loop_is_cancelled_first(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """It can take no savepoint; the earlier run's stop-savepoint pairs with the head."""
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3)
    scene.flink.breaks(job("b"))

    view = scene.does(action)

    assert view.state is ProposalState.APPLIED
    assert len(scene.alive) == 1
    assert job("b") not in scene.alive
    assert scene.positions() == list(range(50))


@pytest.mark.parametrize("action", FROM_THE_STOP, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_settled_run_goes_on_from_what_its_stop_leaves(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """The restore point is chosen after the stop; whatever it committed until then is part of it."""
    plan = scene.plan()
    scene.flink.checkpoints(job("a"), 2)

    view = scene.carries_out(action.propose(plan), plan)

    assert view.state is ProposalState.APPLIED
    assert scene.positions() == list(range(70))
    started = next(s for s in view.started.values() if s.job_id)
    assert started.checkpoint_id == 5
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_nothing_is_started_when_the_stop_left_nothing_that_pairs(scene: Scene) -> None:
    """The refusal says that the run has ended, and what was found; a person decides."""
    scene.flink.then(lambda: [shutil.rmtree(each) for each in scene.flink.savepoints.iterdir()])

    view = scene.does(restart_from_stop_savepoint)

    assert view.state is ProposalState.REFUSED
    assert scene.calls == ["stop"]
    assert "none of its states pairs with the table" in view.result.sentence
    assert "Not done: Start from where run aaaaaa stopped" in view.result.sentence


def test_a_commit_between_approval_and_execution_ends_a_restart_from_a_pair(scene: Scene) -> None:
    """The point would no longer pair with the head: nothing was changed, says the answer."""
    scene.flink.stop(JOB, job("a"))
    proposal = scene.proposed(restore_job_at_head)
    scene.backfill_commits()

    with pytest.raises(Superseded, match=r"committed by spark application local-17 .*Nothing was changed"):
        scene.executions.begin(scene.incident, proposal.id, by=proposal.proposed_by)

    assert "start" not in scene.calls


@pytest.mark.parametrize("action", FROM_A_PAIR, ids=lambda a: a.__name__.rpartition(".")[2])
def test_a_run_that_only_came_after_the_pair_may_have_gone_on_from_there(scene: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """Under another uid, on a cluster that forgot it: what it wrote would be read again."""
    scene.flink.stop(JOB, job("a"))
    commits(scene, "e", 9, range(30, 50), operator="ee" * 16)

    with pytest.raises(Refused, match="the newest commit by Flink"):
        action.propose(scene.plan())


def test_without_a_point_that_pairs_the_refusal_names_what_was_looked_at(scene: Scene) -> None:
    """Nobody starts the job from `the newest one`."""
    scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.breaks(job("a"))

    with pytest.raises(Refused, match=r"pairs with .*, the newest commit by Flink; found .*savepoint-aaaaaa"):
        restore_job_at_head.propose(scene.plan())


def test_a_run_that_cannot_take_a_savepoint_is_not_restarted_from_one(scene: Scene) -> None:
    """The refusal says in which state it is."""
    scene.flink.breaks(job("a"))

    with pytest.raises(Refused, match="found run aaaaaa in state RESTARTING"):
        restart_from_stop_savepoint.propose(scene.plan())


def test_nothing_is_stopped_while_the_job_could_not_be_started_again(scene: Scene) -> None:
    """No way to start it is configured, or its jar is gone: that is asked before the stop, not found out after it."""
    made = scene.proposed(restart_from_stop_savepoint)
    scene.flink.refuses = "the cluster has no jar orders-etl.jar"

    with pytest.raises(Superseded, match="can be started; found: the cluster has no jar"):
        scene.executions.begin(scene.incident, made.id, by=made.proposed_by)

    assert scene.calls == []
