"""Which checkpoint ids of a run have no commit of their own on main, and why: between its commits, and after the last.

Nothing is read: metadata, Flink's history, the list of Flink manifests and the stored checkpoints are in hand.
"""

from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field

from bot.history.checkpoint_pace import completed_at, empty_commits_allowed, time_to_commit
from bot.history.rollbacks import Sinks
from bot.history.staleness import JUST_NOW
from bot.observation.evidence import Observation
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, FlinkManifest, JobRun
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId, short
from bot.observation.ledger import Sink, SkippedCheckpoint, SkipReason
from bot.observation.listed import Writer, highest_of, marks_of
from bot.observation.looked import NotSeen
from bot.observation.table import Snapshot, TableState, Window

_PER_CHECKPOINT = frozenset({Sink.FLINK_V2, Sink.FLINK_DYNAMIC})
"""Sinks that commit each checkpoint by itself, savepoints too (facts 1.2, 1.3)."""
_Reason = tuple[SkipReason, str]


@dataclass(frozen=True)
class _Known:
    """What the sources say of the checkpoints of one (run, operator)."""

    rolled_back: Mapping[CheckpointId, SnapshotId]
    manifests: Mapping[CheckpointId, FlinkManifest]
    manifests_seen: bool
    history: Mapping[CheckpointId, CompletedCheckpoint]
    savepoints: frozenset[CheckpointId]
    """Intermediate ones, by Flink's history or by their file."""
    empty_allowed: int

    @property
    def ids(self) -> set[CheckpointId]:
        """Every id that any source names."""
        return {*self.rolled_back, *self.manifests, *self.history, *self.savepoints}


def _known_of(world: Observation, job_id: JobId, operator_id: OperatorId | None) -> _Known:
    """`operator_id` None: of whatever operator."""

    def is_ours(other_job: JobId | None, other_operator: OperatorId | None) -> bool:
        return other_job == job_id and (operator_id is None or other_operator in (operator_id, None))

    runs = [run for run in world.jobs.values if run.job_id == job_id]
    history = {c.checkpoint_id: c for run in runs for c in run.checkpoints}
    stored = {
        s.checkpoint_id
        for s in world.checkpoints.values
        if s.job_id == job_id and s.checkpoint_id is not None and s.kind is CheckpointKind.SAVEPOINT
    }
    return _Known(
        rolled_back={
            s.checkpoint_id: s.snapshot_id
            for s in world.table.rolled_back
            if s.checkpoint_id is not None and is_ours(s.job_id, s.operator_id)
        },
        manifests={m.checkpoint_id: m for m in world.flink_manifests.values if is_ours(m.job_id, m.operator_id)},
        manifests_seen=not isinstance(world.flink_manifests, NotSeen),
        history=history,
        savepoints=frozenset(stored | {i for i, c in history.items() if c.kind is CheckpointKind.SAVEPOINT}),
        empty_allowed=empty_commits_allowed(world.table.properties),
    )


@dataclass(frozen=True)
class _Stretch:
    """Ids of one run between two of its commits on main."""

    job_id: JobId
    first: CheckpointId
    last: CheckpointId
    """Inclusive, not below `first`."""
    sink: Sink
    closed_by: CheckpointId
    """The next commit of the run."""
    is_append: bool
    """Whether that commit is one."""
    withheld_up_to: CheckpointId | None = None
    """What the table carried when the run was restored below it: a V1 sink takes everything up to it for committed."""


@dataclass
class _Ranges:
    """Collects reasons by rising id and joins neighbours that share one."""

    job_id: JobId
    found: list[SkippedCheckpoint] = field(default_factory=list)

    def add(self, first: int, last: int, reason: _Reason) -> None:
        before = self.found[-1] if self.found else None
        if before is not None and before.last + 1 == first and (before.reason, before.detail) == reason:
            self.found[-1] = before.model_copy(update={"last": CheckpointId(last)})
            return
        made = SkippedCheckpoint(
            first=CheckpointId(first), last=CheckpointId(last), reason=reason[0], detail=reason[1], job_id=self.job_id
        )
        self.found.append(made)


def _explained(stretch: _Stretch, known: _Known) -> tuple[SkippedCheckpoint, ...]:
    """Every id of the stretch with its reason, as ranges; costs the ids that a source names, however long it is."""
    told = {
        i: reason
        for i in sorted(known.ids)
        if stretch.first <= i <= stretch.last and (reason := _reason(i, stretch, known)) is not None
    }
    edge = stretch.withheld_up_to
    withheld = range(stretch.first, min(stretch.last, edge) + 1) if edge is not None else range(0)
    untold = (stretch.last - stretch.first + 1) - len(told) - sum(1 for i in withheld if i not in told)
    ranges = _Ranges(stretch.job_id)
    at: int = stretch.first
    for i, reason in [*told.items(), (stretch.last + 1, None)]:
        for first, last in _cut(at, i - 1, withheld.stop):
            ranges.add(first, last, _withheld(stretch) if last in withheld else _default(stretch, known, untold))
        if reason is not None:
            ranges.add(i, i, reason)
        at = i + 1
    return tuple(ranges.found)


def _cut(first: int, last: int, at: int) -> Sequence[tuple[int, int]]:
    """The range as at most two: below `at`, and from it on; inclusive."""
    parts = [(first, min(last, at - 1)), (max(first, at), last)]
    return [(low, high) for low, high in parts if low <= high]


def _reason(i: CheckpointId, stretch: _Stretch, known: _Known) -> _Reason | None:
    """What a source says of one id; None where its range decides."""
    if i in known.rolled_back:
        return SkipReason.ROLLED_BACK, f"its snapshot {short(known.rolled_back[i])} is not on main"
    if i in known.manifests:
        return SkipReason.LEAKED, "its Flink manifest is still on storage"
    listed = known.history.get(i)
    if listed is not None and listed.status == "FAILED":
        return SkipReason.FAILED, "Flink lists it as failed: its files came with the next"
    if stretch.withheld_up_to is not None and i <= stretch.withheld_up_to:
        return None
    if i in known.savepoints and stretch.sink not in _PER_CHECKPOINT:
        return SkipReason.SAVEPOINT, "an intermediate savepoint commits nothing by itself"
    return None


def _withheld(stretch: _Stretch) -> _Reason:
    return SkipReason.SKIPPED, (
        f"the table carried {stretch.withheld_up_to} when the run began below it: the sink took it for committed; "
        f"its files came late with {stretch.closed_by} or are lost"
    )


def _default(stretch: _Stretch, known: _Known, untold: int) -> _Reason:
    """`untold`: how many ids between the two commits no source tells of."""
    if stretch.sink is Sink.FLINK_V1 and stretch.is_append and known.manifests_seen:
        return SkipReason.MERGED, f"FlinkSink commits all that is pending at once: it came with {stretch.closed_by}"
    return _nothing_written(known, untold, stretch.sink)


def _nothing_written(known: _Known, untold: int, sink: Sink) -> _Reason:
    """Without a manifest, if the sink may leave so many empty ones out; else nobody knows. That one wrote no files is
    not known: its manifest may have been removed."""
    if not known.manifests_seen:
        return SkipReason.UNEXPLAINED, "the Flink manifests could not be listed"
    if sink is Sink.FLINK_DYNAMIC or untold <= known.empty_allowed:
        return SkipReason.NO_MANIFEST, "no Flink manifest of it is left on storage, as of a checkpoint without files"
    return SkipReason.UNEXPLAINED, f"{untold} in a row without a commit; {known.empty_allowed} empty ones are usual"


_NEAR = 100
"""Commits below the last one asked about, among which the one before it nearly always is."""


def missing_before(
    world: Observation, sinks: Sinks, commits: Sequence[Snapshot]
) -> dict[SnapshotId, tuple[SkippedCheckpoint, ...]]:
    """Commit on main -> the ids between its run's commit before (listed anywhere on main) and itself.

    Before a run's first commit the ids count from the point that it was restored from, if Flink tells. No ids are
    told where metadata no longer lists what came before, nor next to the id that `drain` leaves.
    """
    chain = world.table.chain
    ahead = {c.snapshot_id: c for c in commits if _writer_of(c) and c.snapshot_id in world.table.chain_ids}
    begins_listed = bool(chain) and chain[-1].parent_id is None
    restored = {run.job_id: run.restored.checkpoint_id for run in world.jobs.values if run.restored is not None}
    found: dict[SnapshotId, tuple[SkippedCheckpoint, ...]] = {}
    for each in _walked(chain, ahead):
        after = each.before
        if after is None and (begins_listed or each.has_other_runs):
            after = restored.get(each.writer[0])
        stretch = _stretch(each.commit, after, sinks.of(each.commit))
        if stretch is None:
            continue
        if each.before is None and each.carried is not None:
            stretch = _withholding(stretch, each.carried)
        found[each.commit.snapshot_id] = _explained(stretch, _known_of(world, *each.writer))
    return found


@dataclass
class _Below:
    """A commit, and what main has below it down to the one before it of the same run."""

    commit: Snapshot
    writer: Writer
    before: CheckpointId | None = None
    """The id of that one; None: there is none."""
    has_other_runs: bool = False
    carried: CheckpointId | None = None
    """The highest id of its operator, by whatever run."""

    def look_at(self, writer: Writer, checkpoint: CheckpointId) -> None:
        job, operator = writer
        if writer == self.writer:
            self.before = checkpoint
        self.has_other_runs |= job != self.writer[0]
        if operator == self.writer[1]:
            self.carried = checkpoint if self.carried is None else max(checkpoint, self.carried)

    def look_at_all(self, below: Mapping[Writer, CheckpointId]) -> None:
        """Everything further down, where this one's run has nothing."""
        for writer, highest in below.items():
            self.look_at(writer, highest)


def _walked(chain: Sequence[Snapshot], ahead: Mapping[SnapshotId, Snapshot]) -> list[_Below]:
    """Those commits of `chain` (newest first). It is walked until each has found the one before it: far only where
    that one lies far below. For a run that began among them there is none, and what lies below is told at once."""
    seen: list[_Below] = []
    waiting: dict[Writer, _Below] = {}
    near = _NEAR
    for place, (snapshot_id, job, operator, checkpoint) in enumerate(marks_of(chain)):
        if len(seen) == len(ahead):
            if near == 0:
                below = highest_of(chain[place:])
                for began in waiting.keys() - below.keys():
                    waiting.pop(began).look_at_all(below)
            if not waiting:
                break
            near -= 1
        if job is None or checkpoint is None or checkpoint == DRAINED:
            continue
        writer = job, operator
        for each in waiting.values():
            each.look_at(writer, checkpoint)
        waiting.pop(writer, None)
        if snapshot_id in ahead:
            waiting[writer] = _Below(ahead[snapshot_id], writer)
            seen.append(waiting[writer])
    return seen


def _writer_of(commit: Snapshot) -> Writer | None:
    """None where it carries no run, or no checkpoint id that counts."""
    job, checkpoint = commit.job_id, commit.checkpoint_id
    return None if job is None or checkpoint is None or checkpoint == DRAINED else (job, commit.operator_id)


def _stretch(commit: Snapshot, after: CheckpointId | None, sink: Sink) -> _Stretch | None:
    """The ids between `after` and the commit, both exclusive; None without any."""
    assert commit.job_id is not None
    assert commit.checkpoint_id is not None
    if after is None or commit.checkpoint_id - after < 2:
        return None
    return _Stretch(
        job_id=commit.job_id,
        first=CheckpointId(after + 1),
        last=CheckpointId(commit.checkpoint_id - 1),
        sink=sink,
        closed_by=commit.checkpoint_id,
        is_append=commit.operation == "append",
    )


def _withholding(stretch: _Stretch, carried: CheckpointId) -> _Stretch:
    """Told that the table carried `carried` when the run began; matters to a sink that keeps the restored job's id."""
    if stretch.sink in _PER_CHECKPOINT or carried < stretch.first:
        return stretch
    return _Stretch(**{**vars(stretch), "withheld_up_to": carried})


def missing_after(world: Observation, sinks: Sinks, window: Window) -> tuple[SkippedCheckpoint, ...]:
    """What Flink completed and main does not carry, of runs that live or committed in the window; runs as Flink
    lists them, ids rising. Nothing for a window that ends below the head."""
    if window.until != world.table.head:
        return ()
    inside = {snapshot.job_id for snapshot in window.of(world.table)}
    runs = [run for run in world.jobs.values if not run.is_terminal or run.job_id in inside]
    newest = _newest_of(world.table, {run.job_id for run in runs})
    found: list[SkippedCheckpoint] = []
    for run in runs:
        found += _after(world, sinks, run, newest)
    return tuple(found)


def _newest_of(table: TableState, jobs: Set[JobId]) -> dict[JobId, Snapshot]:
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
    known = _known_of(world, run.job_id, own.operator_id if own is not None else None)
    sink = sinks.of_run(run.job_id, own.operator_id if own is not None else None)
    if own is None and sink not in _PER_CHECKPOINT and run.restored is not None:
        carried = max((s.checkpoint_id for s in newest.values() if s.checkpoint_id is not None), default=None)
    ranges = _Ranges(run.job_id)
    untold = sum(1 for c in late if c.checkpoint_id not in {*known.rolled_back, *known.manifests})
    for checkpoint in sorted(late, key=lambda c: c.checkpoint_id):
        i = checkpoint.checkpoint_id
        refused = carried if carried is not None and i <= carried else None
        ranges.add(i, i, _reason_after(world, run, checkpoint, known, sink, refused, untold))
    return ranges.found


def _is_beyond(checkpoint: CompletedCheckpoint, own: Snapshot | None) -> bool:
    """Above the run's newest commit; or below it and yet later, as when its counter began anew (F4)."""
    if own is None or own.checkpoint_id is None:
        return True
    return checkpoint.checkpoint_id > own.checkpoint_id or (
        checkpoint.checkpoint_id < own.checkpoint_id and checkpoint.triggered_at > own.committed_at
    )


def _reason_after(
    world: Observation,
    run: JobRun,
    checkpoint: CompletedCheckpoint,
    known: _Known,
    sink: Sink,
    refused: CheckpointId | None,
    untold: int,
) -> _Reason:
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
    if i in known.savepoints and sink not in _PER_CHECKPOINT:
        return SkipReason.SAVEPOINT, "an intermediate savepoint commits nothing by itself"
    return _nothing_written(known, untold, sink)


def _is_fresh(world: Observation, run: JobRun, checkpoint: CompletedCheckpoint) -> bool:
    """Whether it completed so shortly before the table was read that its commit may be under way."""
    return completed_at(checkpoint) >= world.table.read_at - max(time_to_commit(run), JUST_NOW)
