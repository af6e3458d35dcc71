"""`wait` and F11: commits and rows that are still to come, slow checkpoints and silent sources."""

from collections.abc import Collection
from datetime import timedelta
from types import SimpleNamespace
from typing import Any

import pytest

from bot.actions._effects.job import Began, standing
from bot.bootstrap import failure_modes
from bot.diagnosis import checkpoints_failed, flink_is_recovering, healthy, no_snapshot_advanced
from bot.diagnosis import commit_not_made_yet as mode
from bot.diagnosis._support.asked import answers
from bot.diagnosis._support.examine import diagnose
from bot.history.case import Case
from bot.incident.diagnosis import CannotTell, Excluded, Matches, Remedy
from bot.incident.effects import StartJob
from bot.observation.flink import CheckpointKind, CheckpointSettings, CompletedCheckpoint, Vertex
from bot.observation.ids import DRAINED, CheckpointId, OperatorId
from bot.service.watching.unnamed import silent_for, unnamed_signs
from tests.cases import Tale
from tests.diagnosis.answers import Asks, LastGood, Unsaid, WrongRun, answer_table, check
from tests.diagnosis.little_evidence import Looked, case_of, look
from tests.diagnosis.little_world import World
from tests.diagnosis.test_asked_for import MINUTE, quiet
from tests.found import hole, leaks, points
from tests.job_tale import JOB, JobTale, job_id


def waiting(upto: int) -> Tale:
    """2 is committed; Flink completed the rest, and their manifests are on storage."""
    tale = Tale().flink_runs("a").commits("a", 1, 2).completes("a", *range(3, upto + 1))
    return tale.leaves_manifest("a", *range(3, upto + 1))


def not_up(state: str, **later: float) -> Tale:
    """A run that was restored, and stands so long in this state, or with its operators in it."""
    tale = Tale().flink_runs("a").commits("a", 1, 2, 3).becomes("a", "FINISHED")
    tale.flink_runs("b", restored=3, state="CREATED" if state == "CREATED" else "RUNNING")
    run = tale.runs["b"]
    told = tuple(each.model_copy(update={"status": state}) for each in run.vertices)
    tale.runs["b"] = run.model_copy(update={"vertices": told})
    tale.now += timedelta(**later)
    return tale


def takes(tale: Tale, duration: timedelta) -> None:
    """The run's newest checkpoint completed now, and was triggered so long ago."""
    newest, *older = tale.runs["a"].checkpoints
    told = {"triggered_at": tale.now - duration, "took_ms": duration // timedelta(milliseconds=1)}
    tale.shows("a", checkpoints=(newest.model_copy(update=told), *older))


def with_manifest(world: World, age: timedelta) -> None:
    """The manifest of the checkpoint after the newest, so old."""
    world.tale.leaves_manifest("a", world.checkpoint + 1)
    world.tale.now += age


def is_taking(tale: Tale, checkpoint: int) -> None:
    """The run's next checkpoint is triggered now, and Flink shows it in progress."""
    begun = CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint),
        kind=CheckpointKind.CHECKPOINT,
        status="IN_PROGRESS",
        triggered_at=tale.now,
    )
    tale.shows("a", checkpoints=(begun, *tale.runs["a"].checkpoints))


def well() -> tuple[World, Looked]:
    """A job that is well, its newest commit eight seconds old, and a look from before that."""
    world = quiet()
    looked = look(world)
    world.reads(2)
    world.tale.now += timedelta(seconds=8)
    return world, looked


def test_a_manifest_whose_checkpoint_is_in_progress_makes_no_look_old() -> None:
    """It is written at the barrier, and nothing commits it before the checkpoint completes."""
    world, looked = well()
    is_taking(world.tale, world.checkpoint + 1)
    with_manifest(world, timedelta(seconds=25))

    found = healthy.examine(case_of(world, looked))

    assert isinstance(found, Matches) or "leaked_manifests" not in (found.asks if isinstance(found, CannotTell) else ())


SLOW = timedelta(seconds=57)


@pytest.mark.parametrize("pace", ["took", "pause"])
def test_a_manifest_may_wait_as_long_as_the_next_checkpoint_takes(pace: str) -> None:
    """As long as the longest has taken, or by Flink's least pause between two, whatever the interval."""
    world, looked = well()
    if pace == "took":
        takes(world.tale, SLOW)
    else:
        world.tale.shows("a", settings=CheckpointSettings(min_pause_ms=20_000))
    with_manifest(world, timedelta(seconds=25))

    assert answers(case_of(world, looked), "leaked_manifests")


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
    ("pace", "interval", "since"), [(90, 5, 70), (420, 60, 300)], ids=["90 s, one each 5 s", "7 min, one each minute"]
)
def test_a_job_whose_checkpoints_take_long_is_well_until_the_next_is_due(pace: int, interval: int, since: int) -> None:
    """Silence was counted from the trigger, and held against the time between two that complete."""
    world = busy(timedelta(seconds=pace))
    world.tale.shows("a", checkpoint_interval_ms=1000 * interval)
    world.tale.now += timedelta(seconds=since)
    case = case_of(world, look(world))

    assert isinstance(healthy.examine(case), Matches)
    assert isinstance(checkpoints_failed.examine(case), Excluded)
    assert told_of(world) == []


def test_the_watch_expects_nothing_of_a_dynamic_sink_without_rows() -> None:
    """It leaves out what is empty; a promise of commits holds for it, too."""
    world = busy(timedelta(seconds=3))
    vertices = tuple(
        v.model_copy(update={"name": "DynamicIcebergSink pre commit topology"}) for v in world.tale.runs["a"].vertices
    )
    world.tale.shows("a", vertices=vertices)
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
    world.tale.shows("a", checkpoints=(told, *others), checkpoint_interval_ms=60_000)

    world.tale.now += timedelta(minutes=35)
    assert told_of(world) == []

    world.tale.now += timedelta(minutes=15)
    assert told_of(world) == ["no-commit"]


def test_the_least_pause_begins_when_a_checkpoint_has_completed() -> None:
    """Of a minute each: a quiet sink commits the tenth, after twenty minutes."""
    world = busy(timedelta(seconds=60), 9)
    world.tale.shows("a", checkpoint_interval_ms=60_000, settings=CheckpointSettings(min_pause_ms=60_000))

    world.tale.now += timedelta(minutes=21)
    assert told_of(world) == []

    world.tale.now += timedelta(minutes=6)
    assert told_of(world) == ["no-commit"]


SOME = (2, 5, 8, 11)
EARLY = (0, 1, 2, 3, 4)


def busy_nights(*, v1: bool = False) -> World:
    """Two commits with rows; then the night begins."""
    world = World()
    if v1:
        world.tale.flink_runs("a", v1=True)
        world.tale.shows("a", restored=None, restored_count=0)
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
        world.tale.shows(world.run, checkpoints=(newest, *older), failed_count=count)
        if each in failovers:
            world.fails_over()
    world.tale.now += timedelta(seconds=40)
    return world


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
    run = running().runs["a"]
    waits = READ.model_copy(update={"status": "SCHEDULED", "vertex_id": OperatorId("d" * 32)})

    assert run.is_settled
    assert len(run.parallelism) == 3
    assert run.waiting == ()
    assert not run.model_copy(update={"vertices": (READ,)}).is_settled
    assert not run.model_copy(update={"vertices": (*run.vertices, waits)}).is_settled


@pytest.mark.parametrize(("status", "is_settled"), [("IN_PROGRESS", False), ("COMPLETED", False), ("FAILED", True)])
def test_a_run_halfway_through_a_stop_is_not_settled(status: str, is_settled: bool) -> None:
    """Its operators end one by one once the savepoint is complete; after a failed one it goes on."""
    run = running().completes("a", 6).runs["a"]
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
    world: Any = SimpleNamespace(table=None, jobs={JOB: SimpleNamespace(flink=flink)})
    effect = StartJob(job=JOB, path="s3://state/3", checkpoint_id=CheckpointId(3))

    assert Began(effect, job_id("b"), world).came_up().passed
    assert "operator Source is INITIALIZING" in standing(run.model_copy(update={"vertices": (READ, *later)}))


def failed_long_ago(failed: int, *, v1: bool = False) -> Case:
    """Flink counts failures for the run's whole life, and lists the newest ten checkpoints."""
    tale = Tale().flink_runs("a", v1=v1).commits("a", 1, 2).completes("a", *range(3, 31))
    tale.leaves_manifest("a", *range(3, 31))
    tale.shows("a", checkpoints=tale.runs["a"].checkpoints[:10], failed_count=failed)
    return tale.looked_at()


def overdue() -> Case:
    """A busy source may complete few checkpoints; evidence knows how long the manifest has waited."""
    found = leaks(*waiting(4).manifests)
    late = found.manifests[0].model_copy(update={"is_overdue": True})
    return waiting(4).looked_at(leaked=found.model_copy(update={"manifests": (late,)}))


def never(tale: Tale) -> Case:
    """Checkpoints complete, their manifests stay, and waiting cures it not."""
    return tale.completes("a", 5, 6, 7, 8).leaves_manifest("a", 5, 6, 7, 8).looked_at()


def unlisted() -> Case:
    """Only the manifests on storage tell whether a silence is waiting or quiet."""
    tale = waiting(6)
    tale.storage_down = True
    return tale.looked_at()


def below(*above: int) -> Case:
    """A rollback under a run that goes on, perhaps with a commit, is a hole (F6)."""
    tale = Tale().flink_runs("a", restored=0).commits("a", *range(1, 6)).rolls_back_to("a", 2)
    tale = tale.commits("a", *above) if above else tale
    return tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 20}))


def died_since() -> Case:
    """A manifest came after all was looked at, and the job died."""
    world = quiet()
    looked = look(world)
    world.tale.now += timedelta(seconds=10)
    with_manifest(world, timedelta(seconds=25))
    world.tale.becomes("a", "FAILED")
    return case_of(world, looked)


def night(checkpoints: int, *, v1: bool = False, **happens: Collection[int]) -> Case:
    """So many checkpoints without rows, of which some failed, were savepoints, or were followed by a failover."""
    world = idles(busy_nights(v1=v1), checkpoints, **happens)
    return case_of(world, look(world))


def followed(*, is_listed: bool) -> Case:
    """The run of the night has a successor; how often it was restored, and what failed, Flink may have forgotten."""
    world = idles(busy_nights(), 14)
    world.restarts(world.points[-1])
    if not is_listed:
        world.forgets_runs()
    idles(world, 3)
    return case_of(world, look(world))


F11, WAIT, IDLE, RESTART = mode, flink_is_recovering, no_snapshot_advanced, Remedy.RESTORE_JOB_ONLY
KEEP, STUCK = "Do not remove orphan files", "and none of them was committed"


def of_another() -> Case:
    """Main has lost what a run brought that Flink does not list, while run a was there: of several partitions."""
    tale = Tale().flink_runs("a", restored=0).commits("a", 1, 2).commits("c", 3).rolls_back_to("a", 2)
    case = tale.looked_at(gaps=hole(0).model_copy(update={"to_come": 10}))
    return case.model_copy(update={"contract": case.contract.model_copy(update={"position_partition": "split"})})


DOWN, NO_POINT = waiting(14).becomes("a", "RESTARTING"), "find a restore point elsewhere"
BACK = Tale().flink_runs("a").commits("a", *range(1, 11)).flink_runs("a", restored=4)
ANEW = Tale().flink_runs("a").commits("a", 1, 2).becomes("a", "CANCELED").starts_again("a")
AFTER_DRAIN = Tale().flink_runs("a", v1=True).commits("a", DRAINED).flink_runs("a", restored=1, v1=True)


@answer_table(
    {
        "the next checkpoint commits what waits": (
            F11, waiting(5).looked_at(), Remedy.WAIT, LastGood("head"), WrongRun(None), KEEP,
        ),
        "as long as a quiet source explains it": (
            F11, waiting(13).looked_at(), Remedy.WAIT, LastGood("head"), WrongRun(None), KEEP,
        ),
        "beyond that waiting no longer helps": (
            F11, waiting(14).looked_at(), RESTART, LastGood("head"), WrongRun(None), KEEP,
        ),
        "a run with all its operators running takes a savepoint": (
            F11, waiting(14).looked_at(pairing=points()), "stop the job with a savepoint",
        ),
        "one that is down needs a point, and nobody looked": (
            F11, DOWN.looked_at(), "look which restore point", Unsaid(NO_POINT),
        ),
        "one that is down has no point, and gives up nothing": (
            F11, DOWN.looked_at(pairing=points()), NO_POINT, "do not start without state",
        ),
        **{
            f"{failed} failures of long ago, {'V1' if v1 else 'V2'}": (F11, failed_long_ago(failed, v1=v1), RESTART)
            for failed in (0, 5, 60, 300) for v1 in (False, True)
        },
        "a few checkpoints": (F11, waiting(4).looked_at(), Excluded),
        "one of them waits for too long": (F11, overdue(), Matches),
        "restored from below (F3)": (F11, never(BACK), Excluded, "restored from below"),
        "started without state (F4)": (F11, never(ANEW), Excluded, "without state"),
        "after a drain (F5)": (F11, never(AFTER_DRAIN), Excluded, "F5"),
        "nobody could list the folder": (F11, unlisted(), CannotTell, "It timed out"),
        "waiting fills no hole": (WAIT, below(), Excluded | CannotTell),
        "waiting fills no hole that the job has left": (WAIT, below(6), Excluded | CannotTell),
        "waiting fills no hole that another run has left": (WAIT, of_another(), Excluded | CannotTell),
        **{
            f"six hours in state {state}": row
            for state in ("CREATED", "SCHEDULED")
            for row in [(IDLE, not_up(state, hours=6).looked_at(), Matches, "come up since 12:00:50", "free slots")]
        },
        **{
            f"six hours in state {state} are not waited out": (WAIT, not_up(state, hours=6).looked_at(), Excluded)
            for state in ("CREATED", "SCHEDULED")
        },
        "a new manifest lies there of a job that died": (
            IDLE, died_since(), CannotTell, Asks("leaked_manifests"), "leaked_manifests, once more",
        ),
        "a night with a failover": (healthy, night(18, failovers=[8]), Matches),
        "a night with failed checkpoints": (healthy, night(14, failed=SOME), Matches),
        "a night with savepoints, V1": (healthy, night(14, v1=True, savepoints=SOME), Matches),
        **{
            f"Flink tells no more of {what}": (healthy, case, CannotTell, "its next commit decides")
            for what, case in {
                "two failovers": night(19, failovers=[6, 13]),
                "what failed": night(25, failed=range(14)),
                "savepoints under V1": night(15, v1=True, savepoints=EARLY),
            }.items()
        },
        "a run that Flink has forgotten may explain it": (healthy, followed(is_listed=False), CannotTell),
        "one that it lists does not": (healthy, followed(is_listed=True), Excluded),
        **{
            f"stuck, {what}": (healthy, case, Excluded, f"since {since}, {STUCK}")
            for what, since, case in (
                ("short", 2, night(12)),
                ("long", 2, night(40)),
                ("since a failover", 10, night(20, failovers=[7])),
                ("before a failover", 2, night(20, failovers=[15])),
                ("with two failovers", 2, night(40, failovers=[5, 35])),
                ("with failed ones", 2, night(20, failed=SOME)),
                ("with savepoints, V2", 2, night(14, savepoints=SOME)),
                ("with savepoints, V1", 2, night(60, v1=True, savepoints=SOME)),
            )
        },
    }
)  # fmt: skip
def test_a_silence(mode: Any, case: Case, expected: list[Any]) -> None:
    """Rows wait, come no more, or there are none: by manifests, and by how many checkpoints an idle sink leaves out."""
    check(mode, case, expected)
