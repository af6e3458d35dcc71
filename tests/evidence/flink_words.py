"""What Flink says, in the words of a test: runs, checkpoints and manifests that were never committed."""

from datetime import UTC, datetime, timedelta

from bot.observation.flink import CheckpointKind, CompletedCheckpoint, FlinkManifest, JobRun, Restored, Vertex
from bot.observation.ids import CheckpointId, OperatorId
from tests.tables import OPERATOR, job

V1 = "orders-IcebergFilesCommitter -> orders-IcebergSink lake.sales.orders: Writer"
V2 = "lake.sales.orders: Sink pre-commit aggregator: lake.sales.orders"
LONG_AGO = datetime(2026, 11, 3, 12, tzinfo=UTC)


def run(
    name: str,
    *checkpoints: CompletedCheckpoint,
    sink: str | None = V2,
    restored: int | None = None,
    state: str = "RUNNING",
    operator: OperatorId = OPERATOR,
) -> JobRun:
    """A run that Flink remembers, with the operator that commits; `sink` None: its graph is forgotten."""
    committer = Vertex(vertex_id=operator, name=sink or "", parallelism=1, status="RUNNING", attempt=0)
    point = Restored(checkpoint_id=CheckpointId(restored or 0), at=LONG_AGO, is_savepoint=True, path=None)
    return JobRun(
        job_id=job(name),
        name="orders",
        state=state,
        started_at=LONG_AGO,
        checkpoint_interval_ms=3000,
        checkpoints=checkpoints,
        completed_count=len(checkpoints),
        restored_count=int(restored is not None),
        restored=point if restored is not None else None,
        vertices=(committer,) if sink is not None else (),
    )


def done(
    checkpoint: int, kind: CheckpointKind = CheckpointKind.CHECKPOINT, *, status: str = "COMPLETED", ago_s: float = 3600
) -> CompletedCheckpoint:
    """An entry of Flink's history, triggered so long ago."""
    return CompletedCheckpoint(
        checkpoint_id=CheckpointId(checkpoint),
        kind=kind,
        status=status,
        triggered_at=datetime.now(UTC) - timedelta(seconds=ago_s),
    )


def manifest(name: str, checkpoint: int) -> FlinkManifest:
    """A Flink manifest of that run and checkpoint, still on storage."""
    path = f"file:///lake/metadata/{job(name)}-{OPERATOR}-00000-0-{checkpoint}-00001.avro"
    return FlinkManifest(
        path=path, job_id=job(name), operator_id=OPERATOR, subtask=0, attempt=0,
        checkpoint_id=CheckpointId(checkpoint), number=1, bytes=4096, written_at=None,
    )  # fmt: skip
