"""Real metadata of Flink 1.20 runs, read into the little world: each commit holds the next rows of its source."""

from datetime import timedelta
from pathlib import Path

from pyiceberg.table.metadata import TableMetadataUtil

from bot.adapters.iceberg.streaming_metadata import table_state
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, JobRun
from bot.domain.ids import CheckpointId, JobId, SnapshotId, TableName
from tests.cases import NOON
from tests.diagnosis.little_world import LISTED, World

FOLDER = Path(__file__).parent.parent / "data" / "table_metadata"


def real_world(name: str) -> World:
    """The world of one saved table, without a job yet. A first checkpoint id means that the source began anew."""
    metadata = TableMetadataUtil.parse_raw((FOLDER / f"{name}.metadata.json").read_text())
    table = table_state(TableName("sales.orders"), metadata, f"s3://lake/{name}.metadata.json", NOON)
    world = World()
    tale = world.tale
    tale.runs.clear()
    tale.snapshots, tale.moves, tale.head = list(table.snapshots), list(table.head_moves), table.head
    tale.written = max(s.sequence_number for s in table.snapshots)
    tale.properties, tale.refs = dict(table.properties), list(table.refs)
    tale.now = max(m.at for m in table.head_moves) + timedelta(minutes=1)
    for snapshot in table.snapshots:
        source = snapshot.summary.get("source-snapshot-id")
        if source is not None:
            world.holds[snapshot.snapshot_id] = world.holds[SnapshotId(int(source))]
        elif snapshot.job_id is not None:
            begin = 0 if snapshot.checkpoint_id == 1 else world.position
            world.position = begin + snapshot.counted("added-records")
            world.holds[snapshot.snapshot_id] = tuple(range(begin, world.position))
            world.finished |= dict.fromkeys(world.holds[snapshot.snapshot_id], snapshot.committed_at)
    return world


def with_run(world: World, *, restored: int | None = None, state: str = "RUNNING", since: int | None = None) -> World:
    """The newest writer's run as Flink would show it; `since`: it was started after that many commits on main."""
    tale = world.tale
    commits = [s for s in world.chain() if s.job_id]
    job = JobId(commits[-1].job_id or "")
    mine = [s for s in commits if s.job_id == job]
    first_at = mine[0].committed_at - timedelta(seconds=5)
    started_at = first_at if since is None else commits[since - 1].committed_at + timedelta(seconds=1)
    later, tale.now = tale.now, started_at
    tale.flink_runs("a", restored=restored, state=state)
    run: JobRun = tale.runs.pop("a").model_copy(update={"job_id": job, "started_at": started_at})
    if run.restored is not None:
        run = run.model_copy(update={"restored": run.restored.model_copy(update={"at": started_at})})
    done = [
        CompletedCheckpoint(
            checkpoint_id=s.checkpoint_id,
            kind=CheckpointKind.CHECKPOINT,
            status="COMPLETED",
            triggered_at=s.committed_at - timedelta(milliseconds=200),
            path=None,
            discarded=False,
        )
        for s in mine
        if s.checkpoint_id is not None and s.committed_at > started_at
    ]
    tale.runs[job[0]] = run.model_copy(update={"checkpoints": tuple(reversed(done[-LISTED:]))})
    world.run, world.checkpoint, tale.now = job[0], CheckpointId(mine[-1].checkpoint_id or 0), later
    return world
