"""An empty commit of Flink's brings no position by which evidence could miss what is gone below it."""

from datetime import timedelta

import pytest

from bot.diagnosis import no_snapshot_advanced, recovered_by_itself
from bot.diagnosis._arrivals import unaccounted
from bot.domain.diagnosis import CannotTell, Matches
from bot.domain.flink import CheckpointSettings
from tests.cases import NOON, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_silences import commits_nothing
from tests.diagnosis.little_world import World
from tests.found import orphans


def erased_below_an_empty_commit(*, reads: int) -> World:
    """The newest of so many commits with rows goes without a trace; above it lies an empty one."""
    world = World(keeps_keys=False)
    for _ in range(reads):
        world.reads(2)
    commits_nothing(world)
    world.erases(world.chain()[-2].snapshot_id)
    return world


@pytest.mark.parametrize("reads", [1, 2], ids=["all", "the newest"])
@pytest.mark.parametrize("dead", [False, True], ids=["alive", "dead"])
def test_it_vouches_for_no_checkpoint_below_it(reads: int, *, dead: bool) -> None:
    """Flink completed the checkpoint, no commit carries it, and a file that nothing names lies on storage."""
    world = erased_below_an_empty_commit(reads=reads)
    if dead:
        world.tale.becomes(world.run, "FAILED")
    looked = look(world)

    found = (no_snapshot_advanced if dead else recovered_by_itself).examine(case_of(world, looked))

    assert world.lost(looked.finished)
    assert isinstance(found, CannotTell)
    assert "1 orphan files" in found.missing[0]


@pytest.mark.parametrize("dead", [False, True], ids=["alive", "dead"])
def test_an_idle_job_is_asked_for_its_files_and_found_well(*, dead: bool) -> None:
    """No file is left over, so the checkpoints without a commit held no row."""
    world = World()
    world.reads(2)
    for _ in range(2):
        world.reads(0)
        world.reads(0)
        commits_nothing(world)
    if dead:
        world.tale.becomes(world.run, "FAILED")
    looked = look(world)
    examine = (no_snapshot_advanced if dead else recovered_by_itself).examine

    unlisted = examine(case_of(world, looked, ["orphans"]))

    assert isinstance(unlisted, CannotTell)
    assert "orphan_files" in unlisted.asks
    assert isinstance(examine(case_of(world, looked)), Matches)


def test_it_shows_nothing_of_rows_that_main_lost_above_all_that_live() -> None:
    """Found by the histories of `test_never_healthy`: no file tells any more what the commit had brought."""
    world = World(keeps_keys=False)
    world.reads(2)
    world.reads(1)
    world.rolls_back_to(world.chain()[0].snapshot_id)
    commits_nothing(world)
    case = case_of(world, look(world))
    assert case.gaps is not None
    case = case.model_copy(update={"gaps": case.gaps.model_copy(update={"to_come": 0})})

    found = recovered_by_itself.examine(case)

    assert {2} == world.taken_off()
    assert not isinstance(found, Matches)


def idle_then_redeployed(*, goes_on_from: int, reads: int) -> World:
    """A failover leaves a file, rows come, then hours without any; the next run has read on since."""
    world = World()
    world.reads(2)
    world.fails_over()
    world.reads(2)
    for _ in range(6):
        world.reads(0)
    commits_nothing(world)
    world.restarts(world.points[goes_on_from])
    for _ in range(reads):
        world.reads(2)
    return world


@pytest.mark.parametrize("partition", [None, "source_partition"])
@pytest.mark.parametrize(("from_newest", "reads"), [(True, 5), (True, 0), (False, 5)])
def test_rows_of_the_run_that_went_on_vouch_for_what_it_was_restored_from(
    partition: str | None, reads: int, *, from_newest: bool
) -> None:
    """They lie above what the idle checkpoints could have lost; from below these they would only come again."""
    world = idle_then_redeployed(goes_on_from=-1 if from_newest else 2, reads=reads)
    looked = look(world)
    looked.found["orphans"] = orphans(1)
    case = case_of(world, looked)
    contract = case.contract.model_copy(update={"position_partition": partition})

    found = unaccounted(case.model_copy(update={"contract": contract}), case.observation.table.head)

    assert (found is None) is (from_newest and reads > 0)


@pytest.mark.parametrize(("partition", "expected"), [(None, type(None)), ("source_partition", CannotTell)])
def test_of_a_source_in_partitions_several_commits_vouch(partition: str | None, expected: type) -> None:
    """A partition may be silent over some."""
    world = idle_then_redeployed(goes_on_from=-1, reads=4)
    looked = look(world)
    looked.found["orphans"] = orphans(1)
    case = case_of(world, looked)
    contract = case.contract.model_copy(update={"position_partition": partition})

    found = unaccounted(case.model_copy(update={"contract": contract}), case.observation.table.head)

    assert isinstance(found, expected)


@pytest.mark.parametrize("path", ["chk-9", f"{job_id('a')}/chk-9", f"{job_id('b')}/chk-9"])
def test_the_path_of_the_restore_tells_whose_rows_they_vouch_for(path: str) -> None:
    """Where it names another run, what that one had read tells nothing of this one."""
    world = idle_then_redeployed(goes_on_from=-1, reads=5)
    now = world.tale.runs[world.run]
    assert now.restored is not None
    restored = now.restored.model_copy(update={"path": f"s3://lake/checkpoints/{path}"})
    world.tale.runs[world.run] = now.model_copy(update={"restored": restored})
    looked = look(world)
    looked.found["orphans"] = orphans(1)
    case = case_of(world, looked)

    found = unaccounted(case, case.observation.table.head)

    assert (found is None) is (job_id("a") in path)


def idle_at_night(*, then: int = 0) -> World:
    """A failover leaves a file, rows come for a while, then only checkpoints without any."""
    world = World()
    world.reads(2)
    world.fails_over()
    world.reads(2)
    world.tale.now += timedelta(minutes=30)
    world.reads(2)
    stays_idle(world)
    for _ in range(then):
        stays_idle(world)
    return world


def stays_idle(world: World) -> None:
    """Checkpoints without rows, up to the commit that the sink makes all the same."""
    for _ in range(3):
        world.reads(0)
    commits_nothing(world)


@pytest.mark.parametrize("then", [0, 5], ids=["evening", "night"])
@pytest.mark.parametrize("dead", [False, True], ids=["alive", "dead"])
@pytest.mark.parametrize(
    ("written_at", "expected"),
    [
        (timedelta(0), Matches),
        (timedelta(minutes=28), CannotTell),
        (timedelta(minutes=31), CannotTell),
        (None, CannotTell),
    ],
    ids=["by the failover", "too close for two clocks", "since the last rows", "not told"],
)
def test_a_file_from_before_the_last_rows_holds_none_of_later_checkpoints(
    written_at: timedelta | None, expected: type, then: int, *, dead: bool
) -> None:
    """Each failover leaves one, and nothing is lost with it: its rows have come again."""
    world = idle_at_night(then=then)
    if dead:
        world.tale.becomes(world.run, "FAILED")
    looked = look(world)
    failed_at = world.tale.runs["a"].restored
    assert failed_at is not None
    at = failed_at.at + written_at if written_at is not None else None
    looked.found["orphans"] = orphans(1, newest_at=at)

    found = (no_snapshot_advanced if dead else recovered_by_itself).examine(case_of(world, looked))

    assert isinstance(found, expected)


def test_a_commit_that_a_restore_may_have_delayed_dates_no_file() -> None:
    """What Flink completed in the meantime may have been written long before; Flink lists its checkpoint no longer."""
    world = idle_at_night()
    world.fails_over()
    for _ in range(5):
        stays_idle(world)
    looked = look(world)
    looked.found["orphans"] = orphans(1, newest_at=NOON)

    found = recovered_by_itself.examine(case_of(world, looked))

    assert isinstance(found, CannotTell)


@pytest.mark.parametrize(("tolerable", "expected"), [(0, Matches), (3, CannotTell), (None, CannotTell)])
def test_nor_does_one_that_a_catalog_may_have_held_while_checkpoints_failed(
    tolerable: int | None, expected: type
) -> None:
    """Where the job tolerates none, it would have failed over."""
    world = idle_at_night()
    for _ in range(5):
        stays_idle(world)
    run = world.tale.runs["a"]
    settings = CheckpointSettings(timeout_ms=60_000, tolerable_failures=tolerable)
    world.tale.runs["a"] = run.model_copy(update={"failed_count": 2, "settings": settings})
    looked = look(world)
    looked.found["orphans"] = orphans(1, newest_at=NOON)

    assert isinstance(recovered_by_itself.examine(case_of(world, looked)), expected)
