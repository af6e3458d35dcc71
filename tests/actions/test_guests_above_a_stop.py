"""A stop leaves the state from which the job goes on, also where a guest of the table, or a second copy of the job's
own commit, lies above the one that it pairs with."""

from contextlib import closing
from pathlib import Path

import pytest

from bot.actions import restart_from_stop_savepoint, take_savepoint, undo_proposal
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.domain.execution import ProposalState, ProposalView
from bot.ports import JobPorts
from tests.actions.scene import Scene
from tests.little_flink import LittleFlink, open_catalog
from tests.tables import ORDERS, job, of_flink, rows

OTHER = "orders-to-iceberg-by-hand"


def commits(scene: Scene, run: str, checkpoint: int, positions: range, *, operator: str | None = None) -> None:
    """One commit as a Flink sink makes it; another job's sink has another id."""
    with closing(open_catalog(scene.folder)) as catalog:
        told = of_flink(run, checkpoint, {"flink.operator-id": operator} if operator else {})
        catalog.load_table(ORDERS).append(rows(positions), snapshot_properties=told)


def guest_above(scene: Scene) -> None:
    """It has written before three checkpoints of the job, and after them."""
    commits(scene, "e", 8, range(900, 903), operator="ee" * 16)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 9, range(903, 906), operator="ee" * 16)


def restarted(scene: Scene) -> ProposalView:
    """The run is stopped, and started from what it left."""
    plan = scene.plan()
    return scene.carries_out(restart_from_stop_savepoint.propose(plan), plan)


def test_the_job_goes_on_under_a_guest(scene: Scene) -> None:
    """No row is lost or doubled."""
    guest_above(scene)

    view = restarted(scene)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 906)]
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_the_job_goes_on_under_a_guest_also_where_flink_has_forgotten_its_run(scene: Scene) -> None:
    """A cluster for one job ends with it."""
    guest_above(scene)
    listed = scene.flink.runs
    scene.flink.runs = lambda name: tuple(r for r in listed(name) if not r.is_terminal)  # type: ignore[method-assign]

    assert restarted(scene).state is ProposalState.APPLIED
    assert scene.positions() == [*range(80), *range(900, 906)]


def test_a_savepoint_is_kept_under_a_guest(scene: Scene) -> None:
    """The tag is on the job's own commit, with which the savepoint pairs."""
    guest_above(scene)
    plan = scene.plan()

    view = scene.carries_out(take_savepoint.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result
    assert view.done[2].result["snapshot"] == str(scene.snapshot("a", 6))
    assert all(check.passed for check in scene.checked(view)), scene.checked(view)


def test_the_job_goes_on_above_a_second_copy_of_its_own_commit(scene: Scene) -> None:
    """What is there twice stays so: a restart reads nothing again (F1)."""
    commits(scene, "a", 3, range(20, 30))

    view = restarted(scene)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == sorted([*range(50), *range(20, 30)])


def test_a_run_that_only_came_after_the_job_may_have_gone_on_from_there(scene: Scene) -> None:
    """It has committed once, nobody knows it, and the job has written nothing since: the rows would come twice."""
    commits(scene, "e", 4, range(30, 40), operator="ee" * 16)

    view = restarted(scene)

    assert view.state is ProposalState.REFUSED
    assert "none of its states pairs with the table" in view.result.sentence  # type: ignore[union-attr]
    assert "start" not in scene.calls


def test_a_run_that_began_from_the_jobs_state_is_no_guest(scene: Scene, tmp_path: Path) -> None:
    """It writes beside the job by a sink of another id, and reads what it reads: above its rows nothing starts."""
    other = LittleFlink(tmp_path, OTHER)
    other.submit(job("e"), at_checkpoint=3, restored=scene.flink.savepoint(job("a")))
    scene.observer.jobs[OTHER] = JobPorts(other, CheckpointFiles(None, str(other.savepoints)))  # type: ignore[index]
    guest_above(scene)

    view = restarted(scene)

    assert view.state is ProposalState.REFUSED
    assert "start" not in scene.calls


def test_a_restart_under_a_guest_is_undone(scene: Scene) -> None:
    """Its state is that of the job's own commit below the guest's."""
    guest_above(scene)
    done = restarted(scene)
    plan = scene.plan(undoes=done.proposal.id, number=2)

    view = scene.carries_out(undo_proposal.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result
    assert scene.positions() == [*range(80), *range(900, 906)]
    assert len(scene.alive) == 1


@pytest.mark.parametrize("operator", [None, "ee" * 16], ids=["by the job's sink", "by another"])
def test_what_came_between_the_jobs_last_commits_is_told_apart(scene: Scene, operator: str | None) -> None:
    """A run that the job's Flink does not list binds, where its sink is the job's own."""
    commits(scene, "e", 8, range(900, 903), operator=operator)
    scene.flink.checkpoints(job("a"), 3)
    commits(scene, "e", 9, range(903, 906), operator=operator)

    view = restarted(scene)

    assert view.state is (ProposalState.REFUSED if operator is None else ProposalState.APPLIED)
