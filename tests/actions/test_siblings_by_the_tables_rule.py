"""What a restore point holds of another table of the job is told as of the table itself: by the commits of its start,
not by the time of its file; and what it does there is said as the evidence says it.
"""

import time
from pathlib import Path

import pytest

from bot.actions import restore_job_only, rewind_table_and_job
from bot.actions._completing import completed
from bot.domain.errors import Refused
from bot.domain.ids import short
from tests.actions.scene import Scene
from tests.actions.siblings import ITEMS, items, items_commit, items_move, knowing_items, makes_items
from tests.actions.test_copied_points import copied
from tests.tables import OPERATOR, job


def owes_items(scene: Scene, checkpoint: int) -> None:
    """Run a is down over its savepoint, which holds rows of this checkpoint that the other table has not got."""
    scene.flink.ends(job("a"), "FAILED")
    state = scene.flink.savepoint(job("a")) / "_metadata"
    folder = Path(items(scene).location.removeprefix("file://")) / "metadata"
    manifest = folder / f"{job('a')}-{OPERATOR}-00000-0-{checkpoint}-00001.avro"
    manifest.write_bytes(b"")
    state.write_bytes(state.read_bytes() + b"\0" + str(manifest).encode() + b"\0")


def said_of_items(scene: Scene) -> str:
    """Where the job is started from the savepoint."""
    plan = knowing_items(scene, scene.plan())
    sentences = completed(restore_job_only.propose(plan), plan).preview.sentences
    return next(each for each in sentences if each.startswith(f"{ITEMS}: "))


def test_a_copy_holds_nothing_that_came_after_what_it_is_a_copy_of(scene: Scene) -> None:
    """Run a had brought nothing to the other table; run b went on from its savepoint, and did."""
    makes_items(scene)
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.checkpoints(job("b"), 1)
    items_commit(scene, "b", 4)
    copied(three)
    plan = knowing_items(scene, scene.plan(last_good=scene.snapshot("a", 3), wrong_run=job("b")))

    with pytest.raises(Refused, match=r"would duplicate rows of sales\.items") as refused:
        completed(rewind_table_and_job.propose(plan), plan)

    assert "1 commit, up to" in refused.value.found


def test_the_point_itself_holds_what_other_runs_had_brought_before(scene: Scene) -> None:
    """Run b has brought nothing to the other table: run a's rows are behind its savepoint."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2, 3)
    three = scene.flink.savepoint(job("a"))
    scene.flink.ends(job("a"), "FINISHED")
    scene.flink.submit(job("b"), at_checkpoint=3, restored=three)
    scene.flink.checkpoints(job("b"), 1)
    scene.flink.savepoint(job("b"))
    scene.flink.ends(job("b"), "FAILED")

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
        completed(rewind_table_and_job.propose(plan), plan)

    assert "1 commit, up to" in refused.value.found


def test_a_point_that_goes_on_where_it_ends_is_said_to(scene: Scene) -> None:
    """It commits first what it owes."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2)
    owes_items(scene, 3)

    told = said_of_items(scene)

    assert f"goes on right after its newest commit by Flink, {short(items(scene).head)}" in told
    assert "A job restored from here commits it first" in told


def test_what_it_has_lost_below_such_a_point_is_said_not_to_come_back(scene: Scene) -> None:
    """Somebody has rolled it back, and the state has the lost rows behind it."""
    makes_items(scene)
    items_commit(scene, "a", 1, 2)
    items_move(scene, items(scene).chain[1].snapshot_id)
    owes_items(scene, 3)

    told = said_of_items(scene)

    assert "checkpoint 3 does not go on where its main ends: Run aaaaaa has committed up to checkpoint 2" in told
    assert "main has lost 1 of these commits" in told
    assert "a job started from here does not bring their rows again" in told
