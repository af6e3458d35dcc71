"""Which checkpoint ids have no snapshot on main after the last commit of a run."""

from collections.abc import Mapping, Set
from datetime import timedelta

from bot.domain.checkpoint_pace import completed_at, time_to_commit
from bot.domain.evidence import Observation
from bot.domain.flink import CompletedCheckpoint, JobRun
from bot.domain.gone_commits import Sinks
from bot.domain.ids import DRAINED, CheckpointId, JobId
from bot.domain.ledger import Sink, SkippedCheckpoint, SkipReason
from bot.domain.table import Snapshot, TableState, Window
from spark_tasks._why_missing import PER_CHECKPOINT, Known, Reason, known_of, nothing_written

_JUST_NOW = timedelta(seconds=30)


def missing_after(world: Observation, sinks: Sinks, window: Window) -> tuple[SkippedCheckpoint, ...]:
    """What Flink completed and main does not carry, of runs that live or committed in the window; runs as Flink
    lists them, ids rising. Nothing for a window that ends below the head."""
    if window.until != world.table.head:
        return ()
    inside = {snapshot.job_id for snapshot in window.of(world.table)}
    runs = [run for run in world.jobs.values if not run.is_terminal or run.job_id in inside]
    newest = _newest(world.table, {run.job_id for run in runs})
    found: list[SkippedCheckpoint] = []
    for run in runs:
        found += _after(world, sinks, run, newest)
    return tuple(found)


def _newest(table: TableState, jobs: Set[JobId]) -> dict[JobId, Snapshot]:
    """Run -> its newest commit on main: of these runs, and where one of them has none, of every run."""
    found: dict[JobId, Snapshot] = {}
    left = set(jobs)
    for snapshot in table.chain:
        if not left:
            break
        job = snapshot.job_id
        if job is not None and job not in found and snapshot.checkpoint_id is not None:
            found[job] = snapshot
            left.discard(job)
    return found


def _after(world: Observation, sinks: Sinks, run: JobRun, newest: Mapping[JobId, Snapshot]) -> list[SkippedCheckpoint]:
    own = newest.get(run.job_id)
    carried = own.checkpoint_id if own is not None else None
    late = [c for c in run.checkpoints if c.status == "COMPLETED" and _is_beyond(c, own)]
    known = known_of(world, run.job_id, own.operator_id if own is not None else None)
    sink = sinks.of_run(run.job_id, own.operator_id if own is not None else None)
    if own is None and sink not in PER_CHECKPOINT and run.restored is not None:
        carried = max((s.checkpoint_id for s in newest.values() if s.checkpoint_id is not None), default=None)
    found: list[SkippedCheckpoint] = []
    untold = sum(1 for c in late if c.checkpoint_id not in {*known.rolled_back, *known.manifests})
    for checkpoint in sorted(late, key=lambda c: c.checkpoint_id):
        i = checkpoint.checkpoint_id
        refused = carried if carried is not None and i <= carried else None
        reason, detail = _reason(world, run, checkpoint, known, sink, refused, untold)
        before = found[-1] if found else None
        if before is not None and (before.last + 1, before.reason, before.detail) == (i, reason, detail):
            found[-1] = before.model_copy(update={"last": i})
        else:
            found.append(SkippedCheckpoint(first=i, last=i, reason=reason, detail=detail, job_id=run.job_id))
    return found


def _is_beyond(checkpoint: CompletedCheckpoint, own: Snapshot | None) -> bool:
    """Above the run's newest commit; or below it and yet later, as when its counter began anew (F4)."""
    if own is None or own.checkpoint_id is None:
        return True
    return checkpoint.checkpoint_id > own.checkpoint_id or (
        checkpoint.checkpoint_id < own.checkpoint_id and checkpoint.triggered_at > own.committed_at
    )


def _reason(
    world: Observation,
    run: JobRun,
    checkpoint: CompletedCheckpoint,
    known: Known,
    sink: Sink,
    refused: CheckpointId | None,
    untold: int,
) -> Reason:
    """`refused`: the id on the table that makes the sink take this one for committed; None when it is above it."""
    i = checkpoint.checkpoint_id
    if i in known.rolled_back:
        return SkipReason.ROLLED_BACK, "its snapshot is not on main"
    if refused is not None:
        over = "the id that drain leaves" if refused == DRAINED else f"checkpoint {refused}"
        return SkipReason.SKIPPED, f"the table carries {over}: the sink takes it for committed"
    if not run.is_terminal and (_is_fresh(world, run, checkpoint) or i in known.manifests):
        return SkipReason.PENDING, "Flink has completed it and the sink commits it next"
    if i in known.manifests:
        return SkipReason.LEAKED, "its Flink manifest is still on storage and the run has ended"
    if i in known.savepoints and sink not in PER_CHECKPOINT:
        return SkipReason.SAVEPOINT, "an intermediate savepoint commits nothing by itself"
    return nothing_written(known, untold, sink)


def _is_fresh(world: Observation, run: JobRun, checkpoint: CompletedCheckpoint) -> bool:
    """Whether it completed so shortly before the table was read that its commit may be under way."""
    return completed_at(checkpoint) >= world.table.read_at - max(time_to_commit(run), _JUST_NOW)
