"""Whether the head of main is the one that was approved, or came of it only by what the approved run may do."""

from collections.abc import Mapping

from bot.domain.clock_time import clock_time
from bot.domain.ids import JobId, OperatorId, SnapshotId, short, short_job
from bot.domain.table import Snapshot, TableState


def unforeseen(table: TableState, head: SnapshotId, job_id: JobId | None) -> str | None:
    """Why the head is neither `head` nor descends from it only by commits of run `job_id` with rising ids."""
    newer: list[Snapshot] = []
    for snapshot in table.chain:
        if snapshot.snapshot_id == head:
            break
        newer.append(snapshot)
    else:
        return (
            f"Approved for head {short(head)}; now the head is {short(table.head)}, which does not descend from it: "
            "the table was rolled back or its snapshots expired."
        )
    reached = _reached(table, head, job_id)
    for snapshot in reversed(newer):
        if job_id is None or snapshot.job_id != job_id or not _rises(snapshot, reached):
            allowed = f"the head itself and commits of run {short_job(job_id)}" if job_id else "exactly this head"
            return (
                f"Approved for head {short(head)} ({allowed}); now {short(snapshot.snapshot_id)} was committed by "
                f"{committer(snapshot)} at {clock_time(snapshot.committed_at, table.read_at, seconds=True)}."
            )
        reached[snapshot.operator_id] = snapshot.checkpoint_id or 0
    return None


def _reached(table: TableState, head: SnapshotId, job_id: JobId | None) -> dict[OperatorId | None, int]:
    """Sink -> the checkpoint that it has committed: of the run's sinks that made the head and what lies right below it,
    each with another. Several sinks of one job commit the same checkpoints, one after the other."""
    found: dict[OperatorId | None, int] = {}
    for snapshot in table.ancestors(head):
        if job_id is None or snapshot.job_id != job_id or snapshot.operator_id in found:
            break
        found[snapshot.operator_id] = snapshot.checkpoint_id or 0
    return found


def _rises(snapshot: Snapshot, reached: Mapping[OperatorId | None, int]) -> bool:
    """Whether it goes on above what its sink has committed; one that names no sink may be any."""
    if snapshot.operator_id is None:
        below = max(reached.values(), default=None)
    else:
        below = max((reached[of] for of in (snapshot.operator_id, None) if of in reached), default=None)
    return below is None or (snapshot.checkpoint_id is not None and snapshot.checkpoint_id > below)


def committer(snapshot: Snapshot) -> str:
    """Who wrote a commit, in words: Flink run and checkpoint, or engine and application."""
    if snapshot.job_id:
        return f"Flink run {short_job(snapshot.job_id)} (checkpoint {snapshot.checkpoint_id})"
    app = snapshot.summary.get("spark.app.id") or snapshot.summary.get("app-id")
    return f"{snapshot.engine} app {app}" if app else f"{snapshot.engine} ({snapshot.operation})"
