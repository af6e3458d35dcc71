"""A healthy run that has committed nothing since its start: its stop leaves a state that is proven, or it goes on."""

from pathlib import Path

import pytest

from bot.actions import restart_from_stop_savepoint, restore_job_only, take_savepoint, undo_proposal
from bot.actions._idle import idle_left
from bot.domain.errors import Refused
from tests.actions.scene import ProposalState, Scene
from tests.little_flink import JOB, open_catalog
from tests.tables import ORDERS, job, with_fields

A, B = job("a"), job("b")


@pytest.fixture
def idle(scene: Scene) -> Scene:
    """Run b was started from a's stop-savepoint 3 and has completed checkpoints 4 to 8 without a row."""
    scene.flink.stop(JOB, A)
    begins(scene, "b", from_savepoint_of("a", 3, scene), at=3, now=8)
    return scene


def begins(scene: Scene, run: str, savepoint: Path, *, at: int, now: int) -> None:
    """A run that commits nothing."""
    scene.flink.submit(job(run), at_checkpoint=at, restored=savepoint)
    scene.flink.stands_at(job(run), now)


def from_savepoint_of(run: str, checkpoint: int, scene: Scene) -> Path:
    """Where the little Flink writes it."""
    return scene.flink.savepoints / f"savepoint-{job(run)[:6]}-{checkpoint:012x}"


@pytest.mark.parametrize("action", [restart_from_stop_savepoint, restore_job_only], ids=lambda a: a.ACTION.name)
def test_an_idle_run_is_restarted_from_its_stop(idle: Scene, action) -> None:  # type: ignore[no-untyped-def]
    """Its rows are those of what it was started from, which pairs with the head; the undo goes back to it, too."""
    plan = idle.plan()
    view = idle.carries_out(action.propose(plan), plan)
    again = idle.plan(undoes=view.proposal.id, number=2)
    undone = undo_proposal.propose(again)

    assert view.state is ProposalState.APPLIED, view.result
    assert "lists no commit of run bbbbbb; it started from a point that pairs with" in " ".join(
        view.proposal.preview.sentences
    )
    assert view.started[len(view.started) - 1].checkpoint_id == 8
    assert idle.carries_out(undone, again).state is ProposalState.APPLIED
    assert len(idle.alive) == 1


def test_so_is_one_that_an_idle_run_has_handed_over_to(idle: Scene) -> None:
    """Through runs without a commit its beginning is still what they began from."""
    idle.flink.stop(JOB, B)
    begins(idle, "c", from_savepoint_of("b", 8, idle), at=8, now=9)
    plan = idle.plan()

    view = idle.carries_out(restart_from_stop_savepoint.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result


def test_one_that_commits_with_its_stop_goes_on_from_that(idle: Scene) -> None:
    """Rows may come between proposal and stop."""
    plan = idle.plan()
    made = idle.approved(restart_from_stop_savepoint.propose(plan), plan)
    idle.flink.checkpoints(B, 1)

    idle.executions.begin(idle.incident, made.id, by=plan.by)
    idle.executions.carry_on(idle.incident, made.id)

    view = idle.view(made.id)
    assert view.state is ProposalState.APPLIED, view.result
    assert view.started[len(view.started) - 1].checkpoint_id == 9


def test_an_idle_run_from_elsewhere_is_not_stopped(scene: Scene) -> None:
    """What it began from does not pair with the head: what it would leave pairs with nothing."""
    scene.flink.stands_at(A, 2)
    two = scene.flink.savepoint(A)
    scene.flink.ends(A, "FAILED")
    begins(scene, "b", two, at=2, now=8)

    with pytest.raises(
        Refused, match=r"started from .*savepoint-aaaaaa-000000000002, which is not proven to pair\. Wait for its"
    ):
        restart_from_stop_savepoint.propose(scene.plan())

    assert scene.alive == [B]


def commits_that_are_gone(scene: Scene, run: str) -> None:
    """Two checkpoints of the run are committed, rolled back by hand, and expire."""
    before = scene.table.head
    assert before is not None
    scene.flink.checkpoints(job(run), 2)
    gone = [each.snapshot_id for each in scene.table.snapshots if each.job_id == job(run)]
    scene.rolls_back(to=before)
    catalog = open_catalog(scene.folder)
    catalog.load_table(ORDERS).maintenance.expire_snapshots().by_ids(gone).commit()
    catalog.close()


@pytest.mark.parametrize("log", [slice(None), slice(-1, None)], ids=["its own lines", "all lines before are dropped"])
def test_a_run_whose_commits_were_rolled_back_and_have_expired_is_not_taken_for_an_idle_one(
    idle: Scene, monkeypatch: pytest.MonkeyPatch, log: slice
) -> None:
    """Its state lies beyond their rows, which would be lost; libraries expire the log in one way or the other."""
    commits_that_are_gone(idle, "b")
    idle.flink.stands_at(B, 12)
    table = idle.table
    shortened = with_fields(table, head_moves=tuple(table.head_moves)[log])
    monkeypatch.setattr(idle.catalog, "load", lambda _name: shortened)

    with pytest.raises(
        Refused, match=r"main only to have moved forward .* rolled back and then expired\. Wait for its"
    ):
        restart_from_stop_savepoint.propose(idle.plan())

    assert idle.alive == [B]
    assert idle_left(idle.plan().case) is None


def test_a_run_whose_commits_are_gone_when_it_stops_is_not_started_again(idle: Scene) -> None:
    """It may happen between proposal and stop."""
    plan = idle.plan()
    made = idle.approved(restart_from_stop_savepoint.propose(plan), plan)
    commits_that_are_gone(idle, "b")

    idle.executions.begin(idle.incident, made.id, by=plan.by)
    idle.executions.carry_on(idle.incident, made.id)

    assert idle.view(made.id).state is not ProposalState.APPLIED
    assert idle.alive == []


def test_what_main_lost_before_an_idle_run_began_is_no_matter(scene: Scene) -> None:
    """As after a rewind, from which it goes on; and others may commit on top."""
    scene.flink.stop(JOB, A)
    begins(scene, "c", from_savepoint_of("a", 3, scene), at=3, now=3)
    commits_that_are_gone(scene, "c")
    scene.flink.ends(job("c"), "FAILED")
    begins(scene, "b", from_savepoint_of("a", 3, scene), at=3, now=8)
    scene.backfill_commits()
    plan = scene.plan()

    view = scene.carries_out(restart_from_stop_savepoint.propose(plan), plan)

    assert view.state is ProposalState.APPLIED, view.result


def test_an_idle_run_that_names_no_beginning_is_not_stopped(scene: Scene) -> None:
    """As after a failover, by which it names a checkpoint of its own."""
    scene.flink.ends(A, "FAILED")
    begins(scene, "b", from_savepoint_of("b", 8, scene), at=8, now=8)

    with pytest.raises(Refused, match=r"Flink does not show from where it started\. Wait for its next commit"):
        restart_from_stop_savepoint.propose(scene.plan())


def test_no_savepoint_is_taken_of_an_idle_run(idle: Scene) -> None:
    """No snapshot could be tagged as its own; said before anything is stopped."""
    with pytest.raises(Refused, match=r"the table lists none of run bbbbbb\. Wait for its"):
        take_savepoint.propose(idle.plan())

    assert idle.alive == [B]


def test_where_a_repair_is_given_up_the_job_goes_on_from_an_idle_run(idle: Scene) -> None:
    """The rehearsal's stop has left it; without a commit that it does not know it goes on there."""
    idle.flink.stop(JOB, B)
    left = idle_left(idle.plan().case)
    idle.flink.submit(job("c"), at_checkpoint=3)
    idle.flink.checkpoints(job("c"), 1)
    after_another_commit = idle_left(idle.plan().case)

    assert left is not None
    assert left.checkpoint_id == 8
    assert after_another_commit is None
