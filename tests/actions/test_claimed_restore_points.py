"""A run that was restored in CLAIM mode takes its restore point along when it ends: the table is not moved then.

Flink does not tell the mode, and deletes a moment after it has told that the run ended.
"""

from pathlib import Path

import pytest

from bot.actions import forward_job, rewind_table_and_job, undo_proposal
from bot.domain.action import Plan
from bot.domain.effects import StopJob
from bot.domain.execution import ProposalState
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.domain.ids import CheckpointId, JobId
from bot.domain.proposal import Proposal
from tests.actions.scene import Scene
from tests.little_flink import JOB
from tests.tables import job


@pytest.fixture
def older(scene: Scene) -> Path:
    """Run b was restored from it in CLAIM mode, repeats checkpoint 4, and has dropped no checkpoint yet."""
    older = scene.flink.savepoint(job("a"))
    scene.flink.checkpoints(job("a"), 1)
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)
    scene.flink.claims = frozenset({job("b")})
    return older


def planned(scene: Scene) -> tuple[Proposal, Plan]:
    """The rewind to checkpoint 3, from which run b was restored."""
    plan = scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("b"))
    return rewind_table_and_job.propose(plan), plan


def test_the_table_stays_where_the_stop_has_deleted_the_way_back(scene: Scene, older: Path) -> None:
    """The run stands still, main and rows are as they were, and the way out is told and works."""
    head = scene.table.head
    made, plan = planned(scene)

    view = scene.carries_out(made, plan)

    assert not older.exists()
    assert view.state is ProposalState.REFUSED
    assert scene.table.head == head
    assert scene.calls == ["stop", "stop"]
    assert view.result is not None
    assert "no longer as it was approved" in view.result.sentence
    assert "/waterline undo" in view.result.sentence
    again = scene.plan(undoes=view.proposal.id, number=2)
    undone = scene.carries_out(undo_proposal.propose(again), again)
    assert undone.state is ProposalState.APPLIED
    assert len(scene.alive) == 1


def test_who_approves_is_told_before(scene: Scene, older: Path) -> None:
    """What to look up, and what to do where it is so."""
    made, _plan = planned(scene)
    [stop] = [each for each in made.effects if isinstance(each, StopJob)]

    assert stop.may_delete == older.as_uri().replace("///", "/")
    assert f"may own {stop.may_delete}" in made.preview.sentences[0]
    assert "first copy the savepoint's folder next to it" in made.preview.sentences[0]


def test_what_the_run_cannot_own_any_more_is_not_spoken_of(scene: Scene, older: Path) -> None:
    """It has dropped a checkpoint of its own: whatever it was restored from went before that, if it was its own."""
    scene.flink.claims = frozenset()
    made, plan = planned(scene)

    view = scene.carries_out(made, plan)

    assert "may own" not in " ".join(made.preview.sentences)
    assert older.exists()
    assert view.state is ProposalState.APPLIED


def test_a_start_on_the_head_looks_once_more_as_well(scene: Scene) -> None:
    """A run that was restored from the very point that pairs with the head, and has committed nothing since."""
    point = scene.flink.savepoint(job("a"))
    scene.flink.stop(JOB, job("a"))
    scene.flink.submit(job("b"), at_checkpoint=3, restored=point)
    scene.flink.claims = frozenset({job("b")})
    scene.flink.breaks(job("b"))
    plan = scene.plan()
    made = forward_job.propose(plan)

    assert [each.may_delete for each in made.effects if isinstance(each, StopJob)] == [f"file:{point}"]


@pytest.mark.parametrize(
    ("restored", "dropped", "owns"),
    [
        ("file:/s/savepoint-1", False, True),
        ("file:/s/savepoint-2", False, False),
        ("file:/s/savepoint-1", True, False),
        (f"file:/c/{job('b')}/chk-9", False, True),
        (None, False, True),
    ],
    ids=["itself", "another", "dropped one since", "failed over since", "path not told"],
)
def test_what_a_run_may_own(scene: Scene, older: Path, restored: str | None, dropped: bool, owns: bool) -> None:
    """After a failover Flink tells no more what the run was restored from at first."""
    run = _run(scene, job("b"))
    assert run.restored is not None
    checkpoint = CompletedCheckpoint(
        checkpoint_id=CheckpointId(4), kind=CheckpointKind.CHECKPOINT, status="COMPLETED",
        triggered_at=run.started_at, path=None, discarded=dropped,
    )  # fmt: skip
    point = run.restored.model_copy(update={"path": restored})
    told = run.model_copy(update={"restored": point, "checkpoints": (checkpoint,)})

    assert told.may_own("/s/savepoint-1/") is owns
    assert _run(scene, job("a")).may_own("/s/savepoint-1") is False


def test_an_old_record_reads_and_digests_as_it_did() -> None:
    """The field came later."""
    told = {"kind": "stop-job", "job": "orders", "job_id": job("a")}

    assert StopJob.model_validate(told).model_dump(mode="json") == told


def _run(scene: Scene, job_id: JobId) -> JobRun:
    run = scene.flink.run(job_id)
    assert run is not None
    return run
