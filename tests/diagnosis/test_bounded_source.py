"""A source that has an end leaves its operator FINISHED for as long as the job runs: nothing is being recovered."""

from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions._effects._started import run_check, standing
from bot.bootstrap import failure_modes
from bot.diagnosis._examine import diagnose
from bot.domain.effects import StartJob
from bot.domain.flink import CheckpointKind, Vertex
from bot.domain.ids import CheckpointId, OperatorId
from bot.service.watch_unnamed import silent_for
from tests.cases import Tale
from tests.job_tale import JOB, JobTale, job_id

READ = Vertex(vertex_id=OperatorId("e" * 32), name="Source: countries", parallelism=1, status="FINISHED", attempt=0)


def with_vertices(tale: JobTale, run: str, *vertices: Vertex) -> None:
    """The run has these operators, too, before its own."""
    told = tale.runs[run]
    tale.runs[run] = told.model_copy(update={"vertices": (*vertices, *told.vertices)})


def running() -> Tale:
    """A job that commits, and has read a table of countries to its end."""
    tale = Tale().flink_runs("a").commits("a", *range(1, 6))
    with_vertices(tale, "a", READ)
    return tale


def test_a_run_whose_bounded_source_has_ended_is_settled() -> None:
    """With its scale; one that has nothing left to do, or waits for a slot as well, is not."""
    tale = running()
    run = tale.runs["a"]
    waits = READ.model_copy(update={"status": "SCHEDULED", "vertex_id": OperatorId("d" * 32)})

    assert run.is_settled
    assert len(run.parallelism) == 3
    assert run.waiting == ()
    assert not run.model_copy(update={"vertices": (READ,)}).is_settled
    assert not run.model_copy(update={"vertices": (*run.vertices, waits)}).is_settled


@pytest.mark.parametrize(("status", "is_settled"), [("IN_PROGRESS", False), ("COMPLETED", False), ("FAILED", True)])
def test_a_run_halfway_through_a_stop_is_not_settled(status: str, is_settled: bool) -> None:
    """Its operators end one by one once the savepoint is complete; after a failed one it goes on."""
    tale = running().completes("a", 6)
    run = tale.runs["a"]
    stop = run.checkpoints[0].model_copy(update={"kind": CheckpointKind.STOP_SAVEPOINT, "status": status})

    assert run.model_copy(update={"checkpoints": (stop,)}).is_settled is is_settled


def test_such_a_job_is_not_waited_for() -> None:
    """What is found is what is found of a job without such a source."""
    plain = diagnose(Tale().flink_runs("a").commits("a", *range(1, 6)).looked_at(), failure_modes())

    found = diagnose(running().looked_at(), failure_modes())

    assert ["healthy"] == [mode.code for mode, _ in plain.matches]
    assert ["healthy"] == [mode.code for mode, _ in found.matches]


def test_the_silence_of_such_a_job_is_told() -> None:
    """It runs and commits nothing."""
    tale = running()
    tale.now += timedelta(hours=6)

    assert silent_for(tale.looked_at()) is not None


def test_a_start_of_such_a_job_is_proven() -> None:
    """It runs from the point that was approved; what is still waited for is named by its own name."""
    tale = Tale().flink_runs("b", restored=3)
    with_vertices(tale, "b", READ)
    run = tale.runs["b"]
    later = tuple(each.model_copy(update={"status": "INITIALIZING"}) for each in run.vertices[1:])
    flink: Any = SimpleNamespace(run=lambda _: run)
    world: Any = SimpleNamespace(jobs={JOB: SimpleNamespace(flink=flink)})
    effect = StartJob(job=JOB, path="s3://state/3", checkpoint_id=CheckpointId(3))

    check = run_check(effect, job_id("b"), world)

    assert check.passed
    assert "operator Source is INITIALIZING" in standing(run.model_copy(update={"vertices": (READ, *later)}))
