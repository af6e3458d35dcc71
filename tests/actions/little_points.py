"""What storage has to restore from in the little world, and what evidence says of it: by the real rules, from records
alone."""

from bot.history.case import Case
from bot.history.ranking import recovering
from bot.history.restore import pairings
from bot.history.uncommitted import standing
from bot.observation.evidence import Ask, Observation
from bot.observation.findings import LeakedManifest, LeakStanding, PairingFinding, RecoveryExtentFinding
from bot.observation.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.observation.ids import CheckpointId
from bot.observation.looked import Seen
from spark_tasks.recovery_extent import reach_of_point
from tests.actions.little_files import live_files, name_of
from tests.cases import OPERATOR, job_id
from tests.diagnosis.little_evidence import case_of, look
from tests.diagnosis.little_world import Point, World

FOLDER = "s3://lake/sales/orders/metadata"


def stored(world: World, *, savepoints: bool) -> tuple[StoredCheckpoint, ...]:
    """Every point from which the job could ever go on: all as savepoints, or all as checkpoints that Flink retains."""
    told = [_stored(point, savepoints=savepoints) for point in world.points if point.checkpoint]
    return tuple({each.path: each for each in told}.values())


def _stored(point: Point, *, savepoints: bool) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=_path(point, savepoints=savepoints),
        kind=CheckpointKind.STOP_SAVEPOINT if savepoints else CheckpointKind.CHECKPOINT,
        checkpoint_id=CheckpointId(point.checkpoint),
        job_id=job_id(point.run),
        written_at=point.at,
        pending_manifests=point.pending,
        manifest_folders=dict.fromkeys(point.pending, (FOLDER,)),
        is_committer_read=True,
        operator_ids=(OPERATOR,),
        digest="d" * 64,
        state_bytes={OPERATOR: 512},
    )


def _path(point: Point, *, savepoints: bool) -> str:
    job = job_id(point.run)
    if savepoints:
        return f"s3://lake/savepoints/savepoint-{job[:6]}-{round(point.at.timestamp()):012x}"
    return f"s3://lake/checkpoints/{job}/chk-{point.checkpoint}"


def point_at(world: World, path: str, *, savepoints: bool) -> Point:
    """The newest that was written there."""
    return next(each for each in reversed(world.points) if _path(each, savepoints=savepoints) == path)


def case_with_points(world: World, since: int | None, *, savepoints: bool) -> Case:
    """The case as the bot would build it now, all evidence answered, restore points and leaks judged."""
    case = case_of(world, look(world, since))
    points = Seen[StoredCheckpoint](source="s3://lake/savepoints", values=stored(world, savepoints=savepoints))
    runs = tuple(_shown(world, run, savepoints=savepoints) for run in case.observation.jobs.values)
    jobs = case.observation.jobs.model_copy(update={"values": runs})
    seen = case.observation.model_copy(update={"checkpoints": points, "jobs": jobs})
    ask = Ask(observation=seen, window=case.window, contract=case.contract)
    reach = tuple(reach_of_point(ask, each, {}) for each in recovering(ask))
    leaks = tuple(_judged(world, leak, seen) for leak in case.leaked.manifests)
    return case.model_copy(
        update={
            "observation": seen,
            "pairing": PairingFinding(pairings=pairings(points.values, seen.table, jobs)),
            "leaked": case.leaked.model_copy(update={"manifests": leaks}),
            "recovery_extent": RecoveryExtentFinding(points=reach),
        }
    )


def _shown(world: World, run: JobRun, *, savepoints: bool) -> JobRun:
    """Flink shows the path of the point that a run was started from, until it fails over."""
    point = world.began.get(run.job_id[0])
    if point is None or run.restored is None or run.restored_count != 1 or not point.checkpoint:
        return run
    there = run.restored.model_copy(update={"path": _path(point, savepoints=savepoints)})
    return run.model_copy(update={"restored": there})


def _judged(world: World, leak: LeakedManifest, seen: Observation) -> LeakedManifest:
    manifest = next(each for each in world.tale.manifests if each.path == leak.path)
    is_there = leak.path in live_files(world)
    held = world.wrote.get(name_of(leak.path), ())
    told: dict[str, object] = {
        "standing": LeakStanding.LEFT_OVER if is_there else standing(manifest, seen)[0],
        "rows": len(held),
        "files": int(bool(held)),
    }
    return leak.model_copy(update=told | ({"position_from": min(held), "position_until": max(held)} if held else {}))
