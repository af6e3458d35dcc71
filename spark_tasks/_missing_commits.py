"""Which checkpoint ids have no snapshot on main: between the commits of a run, and after its last one."""

from collections.abc import Mapping, Sequence
from datetime import timedelta

from bot.domain.evidence import Observation
from bot.domain.flink import CompletedCheckpoint, JobRun
from bot.domain.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.ledger import Sink, SkippedCheckpoint, SkipReason
from bot.domain.table import Snapshot, Window
from spark_tasks._sinks import Sinks
from spark_tasks._why_missing import PER_CHECKPOINT, Known, Reason, Stretch, explained, known_of, nothing_written

_JUST_NOW = timedelta(seconds=30)
_Writer = tuple[JobId, OperatorId | None]


def missing_before(
    world: Observation, sinks: Sinks, commits: Sequence[Snapshot]
) -> dict[SnapshotId, tuple[SkippedCheckpoint, ...]]:
    """Commit on main -> the ids between its run's commit before (listed anywhere on main) and itself.

    Before a run's first commit the ids count from the point that it was restored from, if Flink tells. No ids are
    told where metadata no longer lists what came before, nor next to the id that `drain` leaves.
    """
    wanted = {commit.snapshot_id for commit in commits}
    last: dict[_Writer, CheckpointId] = {}
    carried: dict[OperatorId | None, CheckpointId] = {}
    found: dict[SnapshotId, tuple[SkippedCheckpoint, ...]] = {}
    runs = {run.job_id: run for run in world.jobs.values}
    chain = world.table.chain
    begins_listed = bool(chain) and chain[-1].parent_id is None
    for commit in reversed(chain):
        job, checkpoint = commit.job_id, commit.checkpoint_id  # looked up once: there may be 50,000 commits
        if job is None or checkpoint is None or checkpoint == DRAINED:
            continue
        operator = commit.operator_id
        writer = (job, operator)
        is_first = writer not in last and (begins_listed or any(other != job for other, _ in last))
        if commit.snapshot_id in wanted:
            run = runs.get(job)
            restored = run.restored.checkpoint_id if is_first and run is not None and run.restored else None
            stretch = _stretch(commit, last.get(writer, restored), sinks.of(commit))
            if stretch is not None:
                edge = carried.get(operator) if is_first else None
                stretch = stretch if edge is None else _withholding(stretch, edge)
                found[commit.snapshot_id] = explained(stretch, known_of(world, *writer))
        last[writer] = checkpoint
        carried[operator] = max(checkpoint, carried.get(operator, checkpoint))
    return found


def _stretch(commit: Snapshot, after: CheckpointId | None, sink: Sink) -> Stretch | None:
    """The ids between `after` and the commit, both exclusive; None without any."""
    assert commit.job_id is not None
    assert commit.checkpoint_id is not None
    if after is None or commit.checkpoint_id - after < 2:
        return None
    return Stretch(
        job_id=commit.job_id,
        first=CheckpointId(after + 1),
        last=CheckpointId(commit.checkpoint_id - 1),
        sink=sink,
        closed_by=commit.checkpoint_id,
        is_append=commit.operation == "append",
    )


def _withholding(stretch: Stretch, carried: CheckpointId) -> Stretch:
    """Told that the table carried `carried` when the run began; matters to a sink that keeps the restored job's id."""
    if stretch.sink in PER_CHECKPOINT or carried < stretch.first:
        return stretch
    return Stretch(**{**vars(stretch), "withheld_up_to": carried})


def missing_after(world: Observation, sinks: Sinks, window: Window) -> tuple[SkippedCheckpoint, ...]:
    """What Flink completed and main does not carry, of runs that live or committed in the window; runs as Flink
    lists them, ids rising. Nothing for a window that ends below the head."""
    if window.until != world.table.head:
        return ()
    newest: dict[JobId, Snapshot] = {}
    for snapshot in world.table.chain:
        job = snapshot.job_id
        if job is not None and job not in newest and snapshot.checkpoint_id is not None:
            newest[job] = snapshot
    inside = {snapshot.job_id for snapshot in window.of(world.table)}
    found: list[SkippedCheckpoint] = []
    for run in world.jobs.values:
        if not run.is_terminal or run.job_id in inside:
            found += _after(world, sinks, run, newest)
    return tuple(found)


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
    """Whether it was triggered so shortly before the table was read that its commit may be under way."""
    interval = timedelta(milliseconds=run.checkpoint_interval_ms or 0)
    return checkpoint.triggered_at >= world.table.read_at - max(2 * interval, _JUST_NOW)
