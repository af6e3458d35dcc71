"""Checkpoints that take longer than two intervals: what they bring is there when they complete, not when they begin."""

from datetime import timedelta

import pytest

from bot.diagnosis import checkpoints_failed, no_snapshot_advanced, recovered_by_itself
from bot.diagnosis._asked import answers
from bot.domain.diagnosis import HEALTHY, CannotTell, Excluded, Matches
from bot.domain.flink import CheckpointKind, CheckpointSettings, CompletedCheckpoint
from bot.domain.ids import CheckpointId
from bot.service.watch_unnamed import unnamed_signs
from tests.cases import Tale
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.test_asked_for import diagnosed
from tests.diagnosis.test_looks_grow_old import MINUTE, Anew, quiet

SLOW = timedelta(seconds=57)


def takes(tale: Tale, duration: timedelta) -> None:
    """The run's newest checkpoint completed now, and was triggered so long ago."""
    newest, *older = tale.runs["a"].checkpoints
    told = {"triggered_at": tale.now - duration, "took_ms": duration // timedelta(milliseconds=1)}
    tale._change("a", checkpoints=(newest.model_copy(update=told), *older))


def is_taking(tale: Tale, checkpoint: int) -> None:
    """The run's next checkpoint is triggered now, and Flink shows it in progress."""
    begun = CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint),
        kind=CheckpointKind.CHECKPOINT,
        status="IN_PROGRESS",
        triggered_at=tale.now,
        path=None,
        discarded=False,
    )
    tale._change("a", checkpoints=(begun, *tale.runs["a"].checkpoints))


def with_manifest(world: World, age: timedelta) -> None:
    """The manifest of the checkpoint after the newest, so old."""
    world.tale.leaves_manifest("a", world.checkpoint + 1)
    world.tale.now += age


def well() -> tuple[World, Looked]:
    """A job that is well, its newest commit eight seconds old, and a look from before that."""
    world = quiet()
    looked = look(world)
    world.reads(2)
    world.tale.now += timedelta(seconds=8)
    return world, looked


def test_a_look_from_before_a_checkpoint_completed_says_nothing_of_it() -> None:
    """Storage was looked at 45 seconds after the trigger; its rows came later, and their commit went without a trace:
    such a table was called right."""
    world = quiet()
    world.tale.now += timedelta(seconds=55)
    looked = look(world)
    world.reads(2)
    takes(world.tale, SLOW)
    world.erases(world.chain()[-1].snapshot_id)
    world.tale.now += 5 * MINUTE
    world.tale.becomes("a", "FAILED")
    world.tale.now += 5 * MINUTE

    found = no_snapshot_advanced.examine(case_of(world, looked))

    assert world.never_arrived(world.finished)
    assert isinstance(found, CannotTell)
    assert ("orphan_files",) == found.asks


def test_a_manifest_whose_checkpoint_is_in_progress_makes_no_look_old() -> None:
    """It is written at the barrier, and nothing commits it before the checkpoint completes."""
    world, looked = well()
    is_taking(world.tale, world.checkpoint + 1)
    with_manifest(world, timedelta(seconds=25))

    found = recovered_by_itself.examine(case_of(world, looked))

    assert isinstance(found, Matches)


@pytest.mark.parametrize("pace", ["took", "pause"])
def test_a_manifest_may_wait_as_long_as_the_next_checkpoint_takes(pace: str) -> None:
    """As long as the longest has taken, or by Flink's least pause between two, whatever the interval."""
    world, looked = well()
    if pace == "took":
        takes(world.tale, SLOW)
    else:
        world.tale._change("a", settings=CheckpointSettings(min_pause_ms=20_000))
    with_manifest(world, timedelta(seconds=25))

    assert answers(case_of(world, looked), "leaked_manifests")


@pytest.mark.parametrize("dies", [False, True])
def test_manifests_are_looked_at_again_where_a_new_one_lies_there(dies: bool) -> None:
    """It said that they were to be looked at once more, and asked for nothing."""
    world = quiet()
    looked = look(world)
    world.tale.now += timedelta(seconds=10)
    with_manifest(world, timedelta(seconds=25))
    if dies:
        world.tale.becomes("a", "FAILED")
    mode = no_snapshot_advanced if dies else recovered_by_itself

    found = mode.examine(case_of(world, looked))

    assert isinstance(found, CannotTell)
    assert found.missing[0].startswith("leaked_manifests, once more")
    assert ("leaked_manifests",) == found.asks


def test_one_diagnosis_looks_at_them_and_is_done() -> None:
    """The job is well: healthy failed at nearly every diagnosis."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3)
    world = Anew()
    world.case = tale.looked_at()
    world.looks()
    tale.now += MINUTE
    tale.leaves_manifest("a", 4)
    tale.now += timedelta(seconds=25)
    world.case = tale.looked_at(leaked=world.case.leaked)

    diagnosis = diagnosed(world)

    assert ["leaked_manifests"] == world.asked
    assert HEALTHY in diagnosis.codes


def busy(pace: timedelta, checkpoints: int = 6) -> World:
    """Each checkpoint brings rows, takes so long from its trigger, and is committed."""
    world = World()
    for _ in range(checkpoints):
        world.tale.now += pace
        world.reads(5)
        takes(world.tale, pace)
    return world


def told_of(world: World) -> list[str]:
    """What the watch would tell that no failure mode names."""
    return [sign.code for sign in unnamed_signs(case_of(world, look(world)), MINUTE)]


@pytest.mark.parametrize(
    ("pace", "interval", "since"),
    [(90, 5, 70), (420, 60, 300)],
    ids=["90 s, one each 5 s", "7 min, one each minute"],
)
def test_a_job_whose_checkpoints_take_long_is_well_until_the_next_is_due(pace: int, interval: int, since: int) -> None:
    """Silence was counted from the trigger, and held against the time between two that complete."""
    world = busy(timedelta(seconds=pace))
    world.tale._change("a", checkpoint_interval_ms=1000 * interval)
    world.tale.now += timedelta(seconds=since)
    case = case_of(world, look(world))

    assert isinstance(recovered_by_itself.examine(case), Matches)
    assert isinstance(checkpoints_failed.examine(case), Excluded)
    assert told_of(world) == []


def test_the_watch_knows_the_least_pause_between_two() -> None:
    """A commit each five minutes, though the interval is ten seconds."""
    world = busy(timedelta(seconds=3))
    world.tale._change("a", checkpoint_interval_ms=10_000)
    world.tale.now += timedelta(seconds=200)
    assert told_of(world) == ["no-commit"]

    world.tale._change("a", settings=CheckpointSettings(min_pause_ms=300_000))
    assert told_of(world) == []


def test_the_watch_expects_nothing_of_a_dynamic_sink_without_rows() -> None:
    """It leaves out what is empty; a promise of commits holds for it, too."""
    world = busy(timedelta(seconds=3))
    vertices = tuple(
        v.model_copy(update={"name": "DynamicIcebergSink pre commit topology"}) for v in world.tale.runs["a"].vertices
    )
    world.tale._change("a", vertices=vertices)
    for _ in range(25):
        world.reads(0)
    case = case_of(world, look(world))
    promised = case.contract.model_copy(update={"commit_every": timedelta(seconds=20)})

    (sign,) = unnamed_signs(case.model_copy(update={"contract": promised}), MINUTE)

    assert told_of(world) == []
    assert sign.code == "no-commit"
    assert "a commit would have come" not in str(sign.reasons)


@pytest.mark.parametrize("completed", [3, 9])
def test_one_slow_checkpoint_puts_the_watch_off_by_its_length_only(completed: int) -> None:
    """Half an hour, as the first after a restart may take, and not that for each that may pass."""
    world = busy(timedelta(seconds=1), completed)
    slowest, *others = world.tale.runs["a"].checkpoints
    told = slowest.model_copy(update={"took_ms": 1_800_000})
    world.tale._change("a", checkpoints=(told, *others), checkpoint_interval_ms=60_000)

    world.tale.now += timedelta(minutes=35)
    assert told_of(world) == []

    world.tale.now += timedelta(minutes=15)
    assert told_of(world) == ["no-commit"]


def test_the_least_pause_begins_when_a_checkpoint_has_completed() -> None:
    """Of a minute each: a quiet sink commits the tenth, after twenty minutes."""
    world = busy(timedelta(seconds=60), 9)
    world.tale._change("a", checkpoint_interval_ms=60_000, settings=CheckpointSettings(min_pause_ms=60_000))

    world.tale.now += timedelta(minutes=21)
    assert told_of(world) == []

    world.tale.now += timedelta(minutes=6)
    assert told_of(world) == ["no-commit"]
