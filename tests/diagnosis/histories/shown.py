"""What Flink, storage and the metadata show of a history at this moment."""

from datetime import timedelta

from bot.history.case import Case
from bot.observation.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.observation.ids import CheckpointId, OperatorId, SnapshotId
from bot.observation.kafka import KafkaPartition
from bot.observation.looked import NotSeen, Seen
from tests.cases import JOB, job_id
from tests.diagnosis.histories.history import History
from tests.diagnosis.histories.neighbours import GUEST
from tests.diagnosis.histories.reading import RestorePoint

_RETAINED = 3
"""So many checkpoints of a run stay on storage (`execution.checkpointing.num-retained`)."""
_DETAILS = {"from_history": True, "vertices": (), "checkpoints": (), "completed_count": 0, "failed_count": 0}


def jobs_shown(history: History) -> Seen[JobRun] | NotSeen:
    """Flink's list, newest run first."""
    told = history.tale.jobs
    if isinstance(told, NotSeen):
        return told
    runs = [_shown(run, history) for run in told.values if _is_listed(run, history) and run.name == JOB]
    return told.model_copy(update={"values": tuple(runs)})


def case_shown(history: History, since: SnapshotId | None) -> Case:
    """The case without any evidence."""
    history.tale.manifests = [written.listed() for written in history.sink.manifests.values()]
    case = history.tale.case(since=since, ledger=False)
    told: dict[str, object] = {"jobs": jobs_shown(history)}
    if history.half is not None:
        told["others"] = _halves_shown(history)
    if history.setting.shows_points:
        told["checkpoints"] = Seen[StoredCheckpoint](source="s3://state", values=_points(history))
    if history.setting.shows_broker:
        held = enumerate(zip(history.source.begins, history.source.furthest, strict=True))
        parts = tuple(KafkaPartition(topic="t", partition=n, earliest=at, latest=end) for n, (at, end) in held)
        told["kafka"] = Seen[KafkaPartition](source="Kafka", values=parts)
    observation = case.observation.model_copy(update=told)
    named = "of" if history.setting.partitions > 1 else None
    told_of = {"position_partition": named, "position_is_dense": not history.setting.tells_of_holes}
    without = {"position": None, "position_partition": None, "position_is_dense": None}
    contract = case.contract.model_copy(update=told_of if history.setting.has_positions else without)
    return case.model_copy(update={"observation": observation, "contract": contract})


def _is_half(run: JobRun, history: History) -> bool:
    """Whether it is a job of another name, on the same table."""
    return history.half is not None and run.job_id == job_id(history.half.run) and run.name != JOB


def _halves_shown(history: History) -> Seen[JobRun] | NotSeen:
    told = history.tale.jobs
    if isinstance(told, NotSeen):
        return told
    return told.model_copy(update={"values": tuple(run for run in told.values if _is_half(run, history))})


def _points(history: History) -> tuple[StoredCheckpoint, ...]:
    """The restore points on storage, newest first."""
    kept = list[RestorePoint]()
    for point in reversed(history.job.points):
        same = [each for each in kept if each.run == point.run and each.kind is CheckpointKind.CHECKPOINT]
        if point.kind is not CheckpointKind.CHECKPOINT or len(same) < _RETAINED:
            kept.append(point)
    return tuple(_stored(point) for point in kept)


def _stored(point: RestorePoint) -> StoredCheckpoint:
    is_checkpoint = point.kind is CheckpointKind.CHECKPOINT
    return StoredCheckpoint(
        path=point.path,
        kind=CheckpointKind.CHECKPOINT if is_checkpoint else CheckpointKind.SAVEPOINT,
        checkpoint_id=CheckpointId(point.checkpoint),
        job_id=job_id(point.run),
        written_at=point.at,
        pending_manifests=tuple(each.manifest for each in point.pending),
        is_committer_read=True,
        operator_ids=(OperatorId("aa" * 16), point.operator),
        is_drained=point.is_drained,
        problem="It was taken with drain." if point.is_drained else None,
    )


def _is_listed(run: JobRun, history: History) -> bool:
    if history.setting.lists != "the living run":
        return True
    half = history.half.run if history.half is not None else GUEST
    return run.job_id in {job_id(history.job.run), job_id(half), job_id(GUEST)}


def _by_its_clock(run: JobRun, ahead: timedelta) -> JobRun:
    told: dict[str, object] = {
        "started_at": run.started_at + ahead,
        "ended_at": run.ended_at and run.ended_at + ahead,
        "checkpoints": tuple(c.model_copy(update={"triggered_at": c.triggered_at + ahead}) for c in run.checkpoints),
        "failures": tuple(f.model_copy(update={"at": f.at + ahead}) for f in run.failures),
        "restored": run.restored and run.restored.model_copy(update={"at": run.restored.at + ahead}),
    }
    return run.model_copy(update=told)


def _shown(run: JobRun, history: History) -> JobRun:
    changes: dict[str, object] = {}
    if history.setting.lists == "ended runs without details" and run.is_terminal:
        changes |= _DETAILS
    if run.restored is not None and not history.setting.shows_paths:
        changes["restored"] = run.restored.model_copy(update={"path": None})
    if history.setting.clock_s:
        run = _by_its_clock(run, timedelta(seconds=history.setting.clock_s))
        if "restored" in changes and run.restored:
            changes["restored"] = run.restored.model_copy(update={"path": None})
    if history.setting.sink == "dynamic":
        names = {"Sink pre-commit aggregator": "orders Pre Commit"}
        kept = changes.get("vertices", run.vertices)
        changes["vertices"] = kept and tuple(
            v.model_copy(update={"name": names.get(v.name, v.name)}) for v in run.vertices
        )
    return run.model_copy(update=changes)
