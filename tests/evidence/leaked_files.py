"""What is asked about manifests that lie on storage, and what was answered."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta

from bot.domain.evidence import Answer, Ask
from bot.domain.findings import LeakedManifest, LeakedManifestsFinding, LeakStanding
from bot.domain.flink import CheckpointKind, JobRun, Restored, StoredCheckpoint
from bot.domain.ids import CheckpointId, SnapshotId
from bot.domain.looked import NotSeen
from tests.evidence.test_ledger import run_of
from tests.tables import OPERATOR, OrdersTable, job

NOON = datetime(2026, 11, 3, 12, tzinfo=UTC)


def finding_of(answer: Answer) -> LeakedManifestsFinding:
    """The finding that the answer carries."""
    assert isinstance(answer.finding, LeakedManifestsFinding)
    return answer.finding


def told(answer: Answer) -> list[tuple[int, LeakStanding, int | None, int | None]]:
    """Checkpoint, standing, files and rows of each manifest."""
    return [(m.checkpoint_id, m.standing, m.files, m.rows) for m in finding_of(answer).manifests]


def only(answer: Answer) -> LeakedManifest:
    """The one manifest."""
    (found,) = finding_of(answer).manifests
    return found


def ask_about(
    orders: OrdersTable, since: SnapshotId | None, *runs: JobRun, checkpoints: Iterable[StoredCheckpoint] | NotSeen = ()
) -> Ask:
    """What is asked, with the manifests that lie on storage."""
    return orders.ask(since, jobs=runs, checkpoints=checkpoints, flink_manifests=orders.flink_manifests())


def ended(name: str) -> JobRun:
    """A run that is over."""
    return run_of(name).model_copy(update={"state": "CANCELED"})


def later(name: str) -> JobRun:
    """A run that was started after everything that the table has."""
    return run_of(name).model_copy(update={"started_at": datetime.now(UTC) + timedelta(hours=1)})


def behind(name: str, of: str, checkpoint: int) -> JobRun:
    """A later run that was restored from that checkpoint of another, by a sink that does not know what it owed."""
    run = later(name)
    path = f"file:/state/{job(of)}/chk-{checkpoint}"
    point = Restored(checkpoint_id=CheckpointId(checkpoint), at=run.started_at, is_savepoint=False, path=path)
    return run.model_copy(update={"restored": point, "restored_count": 1})


def restored_from(name: str, path: str) -> JobRun:
    """A settled run that came up from a restore point."""
    restored = Restored(checkpoint_id=CheckpointId(3), at=NOON, is_savepoint=True, path=path)
    return run_of(name).model_copy(update={"restored": restored})


def owing(name: str, checkpoint: int) -> StoredCheckpoint:
    """A savepoint whose committer state lists the manifest of its own checkpoint."""
    return StoredCheckpoint(
        path="file:/state/savepoint-1",
        kind=CheckpointKind.STOP_SAVEPOINT,
        checkpoint_id=CheckpointId(checkpoint),
        job_id=job(name),
        written_at=NOON,
        pending_manifests=(f"{job(name)}-{OPERATOR}-00000-0-{checkpoint}-00001.avro",),
        is_committer_read=True,
    )
