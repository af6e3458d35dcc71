"""A stop-savepoint whose commit never reached the table: it owes files that lie on storage."""

from pathlib import Path

from bot.history.ranking import recovering
from bot.incident.action import Plan
from bot.observation.evidence import Ask
from bot.observation.findings import RecoveryExtentFinding
from spark_tasks.recovery_extent import reach_of_point
from tests.actions.plans import answering
from tests.actions.scene import Scene
from tests.tables import CONTRACT, OPERATOR, job


def owes_the_next_checkpoint(scene: Scene, run: str, checkpoint: int) -> Path:
    """The run ends with a savepoint of this checkpoint, which the table does not get; returns the savepoint."""
    scene.flink.stands_at(job(run), checkpoint)
    scene.flink.ends(job(run), "FAILED")
    savepoint = scene.flink.savepoint(job(run))
    manifest = manifest_of(scene, run, checkpoint)
    manifest.write_bytes(b"")
    state = savepoint / "_metadata"
    lists(state, manifest)
    return savepoint


_BEFORE_OPERATORS = 32


def lists(state: Path, manifest: Path) -> None:
    """The state in this `_metadata` still has the manifest to commit."""
    content = state.read_bytes()
    pending = b"\0" + str(manifest).encode() + b"\0"
    state.write_bytes(content[:_BEFORE_OPERATORS] + pending + content[_BEFORE_OPERATORS:])


def manifest_of(scene: Scene, run: str, checkpoint: int) -> Path:
    """Where Flink's sink keeps what it owes for the checkpoint."""
    metadata = Path(scene.table.location.removeprefix("file://")) / "metadata"
    return metadata / f"{job(run)}-{OPERATOR}-00000-0-{checkpoint}-00001.avro"


def extent(plan: Plan) -> RecoveryExtentFinding:
    """What the evidence recovery_extent says at the time of the plan."""
    case = plan.case
    ask = Ask(observation=case.observation, window=case.window, contract=CONTRACT)
    return RecoveryExtentFinding(points=tuple(reach_of_point(ask, each, {}) for each in recovering(ask)))


def with_extent(plan: Plan, found: RecoveryExtentFinding) -> Plan:
    """The plan with this as the newest answer, however old it is."""
    return answering(plan, recovery_extent=found)
