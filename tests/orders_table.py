"""The table of the tests: `sales.orders`, written by three runs of one Flink job.

Run A commits checkpoints 5 to 10 and stops with savepoint 10. Run B is started from the older savepoint 6 and
writes 7 to 9 again: the duplicates. After the rewind, run C goes on from savepoint 10 with 11.
"""

from datetime import UTC, datetime, timedelta

from bot.observation.contract import TableContract
from bot.observation.evidence import Observation
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun, Restored, StoredCheckpoint, Vertex
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName
from bot.observation.ledger import Ledger, Sink, row_of
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import ReadRun
from bot.observation.table import Column, HeadMove, Ref, Snapshot, TableState

TABLE = TableName("sales.orders")
JOB = "orders-to-iceberg"
UUID = "7d7f4d0e-1c0a-4b58-9c1f-0b6a5f0e9a11"
METADATA_LOCATION = "file:///lake/sales/orders/metadata/00012-5f0c.metadata.json"
RUN_A = JobId("a3f1c29d5e6b4f708192a3b4c5d6e7f8")
RUN_B = JobId("b92e04f7a1c84d3f9e55d60718293a4b")
RUN_C = JobId("c5d0aa1734e94b6f8d20b1e2f3a4c5d6")
OPERATOR = OperatorId("b0c4849fdea766ab199107cc0073124e")
NINE = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)
"""When the responders' day of the tests begins."""
GOOD = SnapshotId(5130840912223377421)
"""Run A's last commit, checkpoint 10: the newest snapshot before the fault."""
HEAD = SnapshotId(6609137544918209903)
"""Run B's last commit: the head when the incident opens."""
SAVEPOINT_6 = "file:///state/savepoints/savepoint-a3f1c2-06"
SAVEPOINT_10 = "file:///state/savepoints/savepoint-a3f1c2-10"

_A = [(c, SnapshotId(GOOD - 1000 * (10 - c)), RUN_A, NINE - timedelta(minutes=20 - c)) for c in range(5, 11)]
_B = [(c, SnapshotId(HEAD - 1000 * (9 - c)), RUN_B, NINE - timedelta(minutes=11 - c)) for c in range(7, 10)]
COMMITS = [*_A, *_B]
"""(checkpoint, snapshot, run, committed at), oldest first."""


def snapshots() -> tuple[Snapshot, ...]:
    """Every commit of runs A and B, each 100 rows in 2 files."""
    made: list[Snapshot] = []
    for sequence, (checkpoint, snapshot_id, run, at) in enumerate(COMMITS, start=1):
        made.append(
            Snapshot(
                snapshot_id=snapshot_id,
                parent_id=made[-1].snapshot_id if made else None,
                sequence_number=sequence,
                committed_at=at,
                operation="append",
                manifest_list=f"file:///lake/sales/orders/metadata/snap-{snapshot_id}.avro",
                schema_id=0,
                summary={
                    "flink.job-id": run,
                    "flink.operator-id": OPERATOR,
                    "flink.max-committed-checkpoint-id": str(checkpoint),
                    "added-records": "100",
                    "added-data-files": "2",
                },
            )
        )
    return tuple(made)


def table_state() -> TableState:
    """The table when the incident opens."""
    return TableState(
        name=TABLE,
        uuid=UUID,
        location="file:///lake/sales/orders",
        metadata_location=METADATA_LOCATION,
        format_version=2,
        head=HEAD,
        snapshots=snapshots(),
        refs=(Ref(name="waterline", kind="tag", snapshot_id=GOOD),),
        head_moves=tuple(HeadMove(at=at, snapshot_id=snapshot) for _, snapshot, _, at in COMMITS),
        columns=(Column(field_id=1, name="order_id", type="long"), Column(field_id=2, name="pos", type="long")),
        read_at=NINE,
    )


def ledger(readers: tuple[ReadRun, ...] = (), *, readers_known: bool = True) -> Ledger:
    """One row per commit, run A's and run B's."""
    rows = tuple(
        row_of(table_state(), s).model_copy(
            update={
                "checkpoint_kind": CheckpointKind.STOP_SAVEPOINT
                if s.snapshot_id == GOOD
                else CheckpointKind.CHECKPOINT,
                "sink": Sink.OTHER,
                "refs": (),
                "attempts": (0,),
                "added_files": 2,
                "added_rows": 100,
                "code_version": "9f1c2ab",
                "readers": tuple(r for r in readers if r.snapshot_id == s.snapshot_id),
            }
        )
        for s in snapshots()
    )
    return Ledger(rows=rows, readers_known=readers_known)


def contract() -> TableContract:
    """What `sales.orders` promises."""
    return TableContract(key=("order_id",), position="pos", commit_every=timedelta(minutes=1))


def run_b(**changes: object) -> JobRun:
    """The run that was started from the wrong savepoint, still running."""
    run = JobRun(
        job_id=RUN_B,
        name=JOB,
        state="RUNNING",
        started_at=NINE - timedelta(minutes=5),
        checkpoint_interval_ms=60_000,
        checkpoints=tuple(
            CompletedCheckpoint(
                checkpoint_id=CheckpointId(c),
                kind=CheckpointKind.CHECKPOINT,
                status="COMPLETED",
                triggered_at=NINE - timedelta(minutes=11 - c),
                path=f"file:///state/{RUN_B}/chk-{c}",
            )
            for c in (9, 8, 7)
        ),
        completed_count=3,
        restored_count=1,
        restored=Restored(
            checkpoint_id=CheckpointId(6), at=NINE - timedelta(minutes=5), is_savepoint=True, path=SAVEPOINT_6
        ),
        vertices=(Vertex(vertex_id=OPERATOR, name="Sink", parallelism=1, status="RUNNING", attempt=0),),
        code_version="9f1c2ab",
    )
    return run.model_copy(update=changes)


def savepoint(path: str = SAVEPOINT_10, checkpoint: int = 10) -> StoredCheckpoint:
    """A stop-with-savepoint of run A on storage."""
    return StoredCheckpoint(
        path=path,
        kind=CheckpointKind.STOP_SAVEPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=RUN_A,
        written_at=NINE - timedelta(minutes=10),
        operator_ids=(OPERATOR,),
        digest="e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855",
    )


def observation(
    jobs: Seen[JobRun] | NotSeen | None = None, checkpoints: Seen[StoredCheckpoint] | NotSeen | None = None
) -> Observation:
    """The world when the incident opens, as far as everything could be asked."""
    return Observation(
        table=table_state(),
        jobs=jobs or Seen(source="Flink REST", values=(run_b(),)),
        checkpoints=checkpoints or Seen(source="savepoint folder", values=(savepoint(), savepoint(SAVEPOINT_6, 6))),
        reads=Seen(source="lineage events", values=()),
    )


def not_seen(source: str) -> NotSeen:
    """A source that is down."""
    return NotSeen(source=source, reason=f"{source} refused the connection.", remedy="Start it and look again.")
