"""Where commits above the head that evidence looked at may have brought further copies, and where they cannot."""

from typing import Any

import pytest

from bot.actions._passed import may_have_come_since
from bot.domain.diagnosis import Case
from bot.domain.ids import SnapshotId
from tests.actions.scene import Scene
from tests.actions.test_copies_still_to_come import planned, restored_below
from tests.little_flink import JOB
from tests.tables import job

A, B, C = job("a"), job("b"), job("c")


@pytest.fixture
def replaying(scene: Scene) -> Scene:
    """Run a had committed positions up to 59; run b has repeated 30 to 39."""
    restored_below(scene).flink.checkpoints(B, 1)
    return scene


def head(scene: Scene) -> SnapshotId:
    """At which the copies are counted."""
    found = scene.table.head
    assert found is not None
    return found


def case(scene: Scene, **known: Any) -> Case:
    """With a ledger of all commits."""
    return planned(scene, **known).case


def test_what_a_run_adds_that_was_below_then_may_repeat_more(replaying: Scene) -> None:
    """Whether it has passed by now or not."""
    counted = head(replaying)
    assert not may_have_come_since(case(replaying), counted)

    replaying.flink.checkpoints(B, 3)

    assert may_have_come_since(case(replaying), counted)
    assert not may_have_come_since(case(replaying), head(replaying))


@pytest.mark.parametrize(("known", "may"), [({}, False), ({"told": False}, True), ({"partition": "p"}, True)])
def test_what_comes_after_it_had_passed_is_new(replaying: Scene, known: dict[str, Any], may: bool) -> None:
    """Where nothing tells that it had, it may repeat more."""
    replaying.flink.checkpoints(B, 2)
    counted = head(replaying)

    replaying.flink.checkpoints(B, 2)

    assert may is may_have_come_since(case(replaying, **known), counted)


def test_a_run_that_was_started_since_may_repeat_more(replaying: Scene) -> None:
    """Also where the one before it had passed, and goes on in between."""
    replaying.flink.checkpoints(B, 2)
    older = replaying.flink.savepoint(B)
    counted = head(replaying)
    replaying.flink.checkpoints(B, 1)
    replaying.flink.stop(JOB, B)
    replaying.flink.submit(C, at_checkpoint=6, restored=older)

    replaying.flink.checkpoints(C, 2)

    assert may_have_come_since(case(replaying), counted)


@pytest.mark.parametrize("told", [True, False])
def test_one_start_alone_repeats_nothing_where_its_positions_rise(scene: Scene, told: bool) -> None:
    """Copies that no commit accounts for may be of a start that ids do not tell (F4)."""
    counted = head(scene)
    scene.flink.checkpoints(A, 2)

    assert told is not may_have_come_since(case(scene, told=told), counted)


def test_where_nobody_found_copies_it_repeats_none(scene: Scene) -> None:
    """No ledger is needed for it."""
    counted = head(scene)
    scene.flink.checkpoints(A, 2)
    looked = case(scene, told=False)
    assert looked.extra_copies is not None
    none = looked.extra_copies.model_copy(update={"keys": 0, "rows": 0, "hidden": 0})

    assert not may_have_come_since(looked.model_copy(update={"extra_copies": none}), counted)


def test_what_others_add_is_not_asked_here(replaying: Scene) -> None:
    """It makes the evidence stale, as a head does that is not on main any more."""
    counted, below = head(replaying), replaying.snapshot("a", 5)
    replaying.backfill_commits()
    assert not may_have_come_since(case(replaying), counted)

    replaying.rolls_back(to=below)

    assert not may_have_come_since(case(replaying), counted)
