"""A source that is silent for long: what the sink leaves out is counted as the sink counts it."""

from collections.abc import Collection
from datetime import timedelta

import pytest

from bot.diagnosis import recovered_by_itself
from bot.domain.diagnosis import CannotTell, Excluded, Matches
from bot.domain.flink import CheckpointKind
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import World

SOME = (2, 5, 8, 11)
EARLY = (0, 1, 2, 3, 4)


def busy(*, v1: bool = False) -> World:
    """Two commits with rows; then the night begins."""
    world = World()
    if v1:
        world.tale.flink_runs("a", v1=True)
        world.tale._change("a", restored=None, restored_count=0)
    world.reads(2)
    world.reads(2)
    return world


def idles(
    world: World,
    checkpoints: int,
    *,
    failovers: Collection[int] = (),
    failed: Collection[int] = (),
    savepoints: Collection[int] = (),
) -> World:
    """So many checkpoints without rows, of which these failed or were savepoints, and after these the run failed
    over; Flink lists the newest ten."""
    for each in range(checkpoints):
        world.reads(0)
        newest, *older = world.tale.runs[world.run].checkpoints
        if each in failed:
            newest = newest.model_copy(update={"status": "FAILED"})
        if each in savepoints:
            newest = newest.model_copy(update={"kind": CheckpointKind.SAVEPOINT})
        count = world.tale.runs[world.run].failed_count + (each in failed)
        world.tale._change(world.run, checkpoints=(newest, *older), failed_count=count)
        if each in failovers:
            world.fails_over()
    world.tale.now += timedelta(seconds=40)
    return world


def health(world: World) -> object:
    return recovered_by_itself.examine(case_of(world, look(world)))


@pytest.mark.parametrize(
    "world",
    [
        idles(busy(), 18, failovers=[8]),
        idles(busy(), 14, failed=SOME),
        idles(busy(v1=True), 14, savepoints=SOME),
    ],
    ids=["failover", "failed checkpoints", "savepoints under V1"],
)
def test_a_night_without_rows_is_healthy(world: World) -> None:
    """It was said of it that one of the checkpoints would have been committed even without rows: the sink counts anew
    from a restore on, and what failed, or a savepoint under V1, is none to it."""
    assert isinstance(health(world), Matches)


@pytest.mark.parametrize(
    "world",
    [
        idles(busy(), 19, failovers=[6, 13]),
        idles(busy(), 25, failed=range(14)),
        idles(busy(v1=True), 15, savepoints=EARLY),
    ],
    ids=["two failovers", "failed checkpoints", "savepoints under V1"],
)
def test_what_flink_tells_no_more_may_explain_the_silence(world: World) -> None:
    """Of a run it tells the newest restore, and of checkpoints the newest ten."""
    found = health(world)

    assert isinstance(found, CannotTell)
    assert "its next commit settles it" in found.missing[0]


@pytest.mark.parametrize("is_listed", [True, False])
def test_a_run_that_flink_has_forgotten_may_explain_it_too(is_listed: bool) -> None:
    """How often it was restored, and what failed, nobody knows any more."""
    world = idles(busy(), 14)
    world.restarts(world.points[-1])
    if not is_listed:
        world.forgets_runs()
    idles(world, 3)

    assert isinstance(health(world), Excluded if is_listed else CannotTell)


def test_what_failed_of_the_run_before_explains_nothing_of_the_present_one() -> None:
    """Their ids may be the same: it had gone on from where the present one was restored."""
    world = busy()
    point = world.points[-1]
    idles(world, 9, failed=range(9))
    world.restarts(point)

    found = health(idles(world, 13))

    assert isinstance(found, Excluded)
    assert "13 checkpoints of run bbbbbb since 2, and none of them was committed" in found.reason


@pytest.mark.parametrize(
    ("world", "since"),
    [
        (idles(busy(), 12), 2),
        (idles(busy(), 40), 2),
        (idles(busy(), 20, failovers=[7]), 10),
        (idles(busy(), 20, failovers=[15]), 2),
        (idles(busy(), 40, failovers=[5, 35]), 2),
        (idles(busy(), 20, failed=SOME), 2),
        (idles(busy(), 14, savepoints=SOME), 2),
        (idles(busy(v1=True), 60, savepoints=SOME), 2),
    ],
    ids=["short", "long", "since", "before", "two failovers", "failed", "savepoints under V2", "V1"],
)
def test_a_sink_that_is_stuck_is_not_healthy(world: World, since: int) -> None:
    """More were completed than all that is told explains."""
    found = health(world)

    assert isinstance(found, Excluded)
    assert f"since {since}, and none of them was committed" in found.reason
