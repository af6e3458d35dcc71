"""The short form of `python -m tests.chaos.racing`, and evidence without Spark beside Spark's."""

import random

import pytest

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.evidence import find_tasks
from bot.observation.evidence import Ask
from bot.service.evidence_service import ask_of
from tests.chaos.cluster import commit_newest_again
from tests.chaos.racing import Raced, lost, race, stage
from tests.repairs.conftest import scene
from tests.repairs.scene import RUN, RepairScene
from tests.slack.looking import ArrowRunner
from tests.tables import ORDERS, job

__all__ = ["scene"]

pytestmark = pytest.mark.slow

_RACES = 3


def test_an_approval_that_races_against_commits_loses_none() -> None:
    """A run commits all the time and a stranger at any moment; afterwards everything committed is there, once."""
    raced, chance = Raced(), random.Random(7)  # noqa: S311 - a seed that can be given again

    with stage() as (here, prepared):
        for _ in range(_RACES):
            race(here, prepared, chance, raced)
        invented = list(lost(here, "refused", of_run=[1], of_strangers=[2], has_moved=False))

    assert raced.lost == []
    assert sum(raced.ended.values()) == _RACES
    assert invented == ["a stranger's commit 2 is not in main", "the run's commit 1 is nowhere"]


ASKED = ("duplicate_commits", "duplicate_files")


def test_both_find_the_same(scene: RepairScene, runner: SparkEvidenceRunner) -> None:
    """The very files again, a checkpoint again in other files, another run's replay; and what a repair has left."""
    scene.flink.checkpoints(RUN, 3)
    scene.commits_again(3)
    commit_newest_again(scene.folder)
    older = scene.flink.savepoint(RUN)
    scene.flink.checkpoints(RUN, 2)
    scene.opens("ledger", *ASKED, "duplicate_rows")

    rehearsal = scene.carries_out(scene.proposes("drop_duplicated_commit"))

    branch = rehearsal.proposal.rehearses_on
    assert branch is not None
    assert 2 == len(_same(scene, runner, "duplicate_commits", None).repeated)
    assert 1 == _same(scene, runner, "duplicate_files", None).count
    assert 0 == _same(scene, runner, "duplicate_files", branch).count
    _same(scene, runner, "duplicate_commits", branch)

    scene.flink.submit(job("b"), at_checkpoint=3, restored=older)
    scene.flink.checkpoints(job("b"), 2)
    assert 4 == len(_same(scene, runner, "duplicate_commits", None).repeated)


def _same(scene: RepairScene, runner: SparkEvidenceRunner, task: str, branch: str | None):  # type: ignore[no-untyped-def]
    """What both find, once it is the same."""
    ask: Ask = ask_of(scene.observer, ORDERS, scene.store.get(scene.incident).window, None, branch)
    known = find_tasks(spark_tasks)[task].task
    by_spark, _ = runner.run(known, ask, tag=f"spark-{task}-{branch}", on_progress=lambda _progress: None)
    here, _ = ArrowRunner().run(known, ask, tag="here", on_progress=lambda _progress: None)
    assert (by_spark.verdict, by_spark.finding) == (here.verdict, here.finding)
    return here.finding
