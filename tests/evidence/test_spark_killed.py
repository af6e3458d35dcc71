"""Spark is killed under a run: the server comes back by itself, and the run, too, once."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import SparkSession

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark
from bot.evidence import find_tasks
from bot.incident.entries import EvidenceRunAgain
from bot.observation.errors import Refused
from bot.observation.evidence import Answer, Ask
from bot.ports import Post
from bot.slack.render import render
from tests.repairs.scene import ANA, RUN, RepairScene
from tests.slack.people import eventually

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED"), pytest.mark.timeout(300)]
PATIENCE_S = 250
"""Spark starts twice, and a busy machine may need minutes for that."""


class Killed:
    """Spark's server is killed with -9 under the first so many runs of `duplicate_rows`."""

    def __init__(self, embedded: EmbeddedSpark) -> None:
        tasks = find_tasks(spark_tasks)
        real = tasks["duplicate_rows"]
        self._answer: Callable[[SparkSession, Ask], Answer] = real.answer
        self.runner = SparkEvidenceRunner({**tasks, "duplicate_rows": replace(real, answer=self._run)}, embedded)
        self.times = 1
        self.begun = 0

    def _run(self, spark: SparkSession, ask: Ask) -> Answer:
        self.begun += 1
        if self.begun > self.times:
            return self._answer(spark, ask)
        threading.Timer(1, self._kill).start()
        spark.range(0, 20_000_000_000, numPartitions=64).selectExpr("sum(cast(hash(id) as bigint))").collect()
        raise AssertionError("Spark was not killed")

    def _kill(self) -> None:
        assert self.runner.pid is not None
        os.kill(self.runner.pid, signal.SIGKILL)


@pytest.fixture
def killed(embedded: EmbeddedSpark) -> Iterator[Killed]:
    """A Spark of its own, for it is killed."""
    made = Killed(embedded)
    yield made
    made.runner.close()


@pytest.fixture
def scene(tmp_path: Path, killed: Killed) -> Iterator[RepairScene]:
    """A table that run A writes, and an incident."""
    made = RepairScene(tmp_path, killed.runner)
    made.flink.checkpoints(RUN, 2)
    made.opens(remedy="nothing")
    yield made
    made.close()


def again(scene: RepairScene) -> list[Any]:
    """What the record says of runs that were begun again."""
    entries = scene.store.get(scene.incident).entries
    return [entry.body for entry in entries if isinstance(entry.body, EvidenceRunAgain)]


def test_a_run_under_which_spark_was_killed_is_run_again_by_itself(scene: RepairScene, killed: Killed) -> None:
    """Nobody clicks; the answer says that it is the second run's."""
    run = scene.services.evidence.request(scene.incident, "duplicate_rows", by=ANA)
    eventually(lambda: not scene.store.get(scene.incident).runs[run].is_running, PATIENCE_S)

    answered = scene.store.get(scene.incident).runs[run]

    assert answered.evidence is not None, answered.ended
    assert killed.begun == 2
    assert [body.run for body in again(scene)] == [run]
    post = Post(key=f"{scene.incident}/evidence/{run}", incident=scene.incident, channel="C0ORDERS01")
    told = str([block.to_dict() for block in render(post, scene.services)[1]])
    assert "Spark stopped; Waterline ran it again" in told


def test_a_proof_is_run_again_once_and_not_for_ever(scene: RepairScene, killed: Killed) -> None:
    """A task that kills Spark each time is told to people after the second."""
    killed.times = 2

    with pytest.raises(Refused, match="Spark ended"):
        scene.services.evidence.run_now(scene.incident, "duplicate_rows")

    [noted] = again(scene)
    ended = scene.store.get(scene.incident).runs[noted.run].ended
    assert ended is not None
    assert killed.begun == 2
