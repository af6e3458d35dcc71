"""Another Flink job that writes the table, on a cluster of its own, with its savepoints in the folder of both."""

from pathlib import Path

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.ports import JobPorts
from tests.actions.scene import Scene
from tests.actions.test_other_jobs import commits
from tests.little_flink import LittleFlink
from tests.tables import ORDERS, job

GUEST = "backfill-to-iceberg"


def guest_commits(scene: Scene, checkpoint: int, first: int) -> Path:
    """Three rows of a living job, and its savepoint of them in the folder of both."""
    commits(scene, "e", checkpoint, range(first, first + 3), operator="ee" * 16)
    return guest(scene, checkpoint).savepoint(job("e"))


def guest(scene: Scene, checkpoint: int, restored: Path | None = None) -> LittleFlink:
    """Its cluster, which the table's job does not know."""
    other = LittleFlink(scene.folder, GUEST)
    other.submit(job("e"), at_checkpoint=checkpoint, restored=restored)
    return other


def declared(scene: Scene) -> None:
    """The configuration names the other job."""
    other = LittleFlink(scene.folder, GUEST)
    setup = scene.observer.tables[ORDERS].model_copy(update={"other_jobs": (GUEST,)})
    scene.observer.jobs[GUEST] = JobPorts(other, CheckpointFiles(None, str(other.savepoints)))  # type: ignore[index]
    scene.observer.tables[ORDERS] = setup  # type: ignore[index]


def forgotten(scene: Scene, *runs: str) -> None:
    """Flink lists these no more, as a cluster for one job does not once that has ended."""
    for run in runs:
        scene.flink.forgets(job(run))
