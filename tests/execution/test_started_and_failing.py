"""A run that was started is proven once it has gone on, and not by having been accepted."""

from pathlib import Path

import pytest

from bot.actions import restore_job_only
from bot.actions._support.recipes import started_on_head
from bot.history.restore import RestorePoint
from bot.incident.entries import Check
from bot.incident.execution import ProposalView
from bot.observation.flink import Failure
from bot.observation.ids import CheckpointId, JobId
from tests.actions.scene import Scene
from tests.little_flink import JOB, ROWS_A_CHECKPOINT
from tests.tables import job

LOST = "File does not exist: metadata/aaaaaa-00000-0-3-00001.avro"


@pytest.fixture
def scene(tmp_path: Path) -> Scene:
    """Run a has committed two checkpoints; its last state, checkpoint 3, holds ten rows that never arrived."""
    made = Scene.made_in(tmp_path, checkpoints=2)
    runs = made.flink._read()
    runs[job("a")]["checkpoint"] = 3
    made.flink._write(runs)
    made.flink.stop(JOB, job("a"))
    return made


def restored(scene: Scene) -> ProposalView:
    """The job is started from what owes them."""
    [path] = scene.flink.savepoints.iterdir()
    stored, head = scene.checkpoints.read(str(path)), scene.table.head
    assert stored.digest is not None
    assert head is not None
    three = CheckpointId(3)
    point = RestorePoint(path=str(path), checkpoint_id=three, snapshot_id=head, digest=stored.digest, owes=three)
    plan = scene.plan()
    return scene.carries_out(started_on_head(plan, restore_job_only.ACTION, point, None), plan)


def starts(scene: Scene, *, owed: bool, goes_on: int, breaks: bool = False) -> None:
    """What comes of the next start: the sink brings what was owed, then so many checkpoints of the run itself."""
    start, commits = scene.flink.start, scene.flink.checkpoints

    def does(name: str, path: str, job_id: JobId, **how: bool) -> None:
        scene.flink.checkpoints = lambda _job, _count=1: None  # type: ignore[method-assign]
        start(name, path, job_id, **how)  # type: ignore[arg-type]
        if owed:
            scene.flink._commit(job("a"), 3, range(2 * ROWS_A_CHECKPOINT, 3 * ROWS_A_CHECKPOINT))
        commits(job_id, goes_on)
        if breaks:
            scene.flink.breaks(job_id)

    scene.flink.start = does  # type: ignore[method-assign]


def found(scene: Scene, view: ProposalView) -> dict[str, Check]:
    return {check.name: check for check in scene.checked(view)}


def test_a_run_that_brings_what_was_owed_and_goes_on_is_proven(scene: Scene) -> None:
    """Nothing is awaited any more."""
    starts(scene, owed=True, goes_on=1)

    view = restored(scene)

    assert scene.awaited(view) == ()
    assert [check.passed for check in found(scene, view).values()] == [True, True, True]
    assert scene.positions() == list(range(40))


def test_a_run_that_fails_on_its_restore_is_not_proven(scene: Scene) -> None:
    """Flink had accepted it: the rows that it owes never arrive, and its cause is told."""
    starts(scene, owed=False, goes_on=0, breaks=True)

    view = restored(scene)
    run = scene.flink.run(scene.alive[0])
    cause = Failure(at=run.started_at, exception="NotFoundException", message=LOST, task=None, attempt=1)
    scene.flink.run = lambda _id: run.model_copy(update={"failures": (cause,)})  # type: ignore[method-assign]
    checks = found(scene, view)
    [awaited] = scene.awaited(view)

    assert [check.passed for check in checks.values()] == [False, False, False]
    assert f"is RESTARTING. Flink says: NotFoundException: {LOST}." in checks["The job runs from checkpoint 3"].sentence
    assert awaited.is_needed
    assert LOST in awaited.sentence


@pytest.mark.parametrize(("owed", "goes_on", "lacks"), [(False, 1, "pending files"), (True, 0, "has continued")])
def test_each_half_alone_is_waited_for(scene: Scene, owed: bool, goes_on: int, lacks: str) -> None:
    """Rows that are owed are no gap and no duplicate: no other proof misses them."""
    starts(scene, owed=owed, goes_on=goes_on)

    view = restored(scene)
    [missing] = [name for name, check in found(scene, view).items() if not check.passed]

    assert lacks in missing
    assert [each.is_needed for each in scene.awaited(view)] == [True]


def test_a_run_that_has_failed_for_good_is_waited_for_no_more(scene: Scene) -> None:
    """It is told as it is."""
    starts(scene, owed=True, goes_on=0)
    view = restored(scene)
    runs = scene.flink._read()
    runs[scene.alive[0]]["state"] = "FAILED"
    scene.flink._write(runs)

    assert scene.awaited(view) == ()
    assert found(scene, view)["The job runs from checkpoint 3"].passed is False
