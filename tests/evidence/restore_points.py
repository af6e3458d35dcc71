"""Restore points of tables that Flink wrote, and how the rule judges them."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.history.restore import pairing
from bot.observation.findings import Pairing
from bot.observation.flink import CheckpointKind, JobRun, StoredCheckpoint
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.looked import Seen
from bot.observation.table import TableState
from tests.tables import OPERATOR, ORDERS

FIXTURES = Path(__file__).with_name("fixtures")
NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)
V1D_STOPPED = JobId("4588180333ca4b09abdecd44f5c9d32c")
"""Run of `v1d`: commits 1, 2, 3, 5, 6, 7 and its stop-with-savepoint 8; 4 was an intermediate savepoint."""


def recorded(name: str) -> TableState:
    """A table that real Flink jobs wrote."""
    metadata = TableMetadataUtil.parse_raw((FIXTURES / f"{name}.metadata.json").read_text(encoding="utf-8"))
    return table_state(ORDERS, metadata, f"{name}.metadata.json", NOON)


def stored(
    job_id: JobId | None,
    checkpoint: int | None,
    kind: CheckpointKind = CheckpointKind.STOP_SAVEPOINT,
    *,
    owes: tuple[int, ...] | None = None,
    operators: tuple[OperatorId, ...] = (),
    problem: str | None = None,
    age: timedelta = timedelta(0),
    **told: object,
) -> StoredCheckpoint:
    """A restore point on storage; `owes` are the checkpoints of its pending manifests, None: not readable. `told`: what
    else differs."""
    usual = StoredCheckpoint(
        path=f"file:/state/{checkpoint}",
        kind=kind,
        checkpoint_id=None if checkpoint is None else CheckpointId(checkpoint),
        job_id=job_id,
        written_at=NOON - age,
        pending_manifests=tuple(f"{job_id}-{OPERATOR}-00000-0-{owed}-00001.avro" for owed in owes or ()),
        is_committer_read=owes is not None,
        operator_ids=operators,
        digest="d" * 64,
        problem=problem,
    )
    return usual.model_copy(update=told)


def judged(point: StoredCheckpoint, table: TableState, *runs: JobRun) -> Pairing:
    """The rule's word, with Flink remembering these runs."""
    return pairing(point, table, Seen(source="Flink", values=runs))


def committed(table: TableState, job_id: JobId, checkpoint: int) -> SnapshotId:
    """The snapshot with this checkpoint."""
    (found,) = [s.snapshot_id for s in table.snapshots if (s.job_id, s.checkpoint_id) == (job_id, checkpoint)]
    return found
