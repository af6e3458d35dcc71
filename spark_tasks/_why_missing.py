"""Why a checkpoint id of a run has no snapshot of its own on main (facts 2, step 2).

Nothing is read: metadata, Flink's history, the list of Flink manifests and the stored checkpoints are in hand.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.checkpoint_pace import empty_commits_allowed
from bot.domain.evidence import Observation
from bot.domain.flink import CheckpointKind, CompletedCheckpoint, FlinkManifest
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId, short
from bot.domain.ledger import Sink, SkippedCheckpoint, SkipReason
from bot.domain.looked import NotSeen

PER_CHECKPOINT = frozenset({Sink.FLINK_V2, Sink.FLINK_DYNAMIC})
"""Sinks that commit each checkpoint by itself, savepoints too (facts 1.2, 1.3)."""
Reason = tuple[SkipReason, str]


@dataclass(frozen=True)
class Known:
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


def known_of(world: Observation, job_id: JobId, operator_id: OperatorId | None) -> Known:
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
    return Known(
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
class Stretch:
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

    def add(self, first: int, last: int, reason: Reason) -> None:
        before = self.found[-1] if self.found else None
        if before is not None and before.last + 1 == first and (before.reason, before.detail) == reason:
            self.found[-1] = before.model_copy(update={"last": CheckpointId(last)})
            return
        made = SkippedCheckpoint(
            first=CheckpointId(first), last=CheckpointId(last), reason=reason[0], detail=reason[1], job_id=self.job_id
        )
        self.found.append(made)


def explained(stretch: Stretch, known: Known) -> tuple[SkippedCheckpoint, ...]:
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


def _reason(i: CheckpointId, stretch: Stretch, known: Known) -> Reason | None:
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
    if i in known.savepoints and stretch.sink not in PER_CHECKPOINT:
        return SkipReason.SAVEPOINT, "an intermediate savepoint commits nothing by itself"
    return None


def _withheld(stretch: Stretch) -> Reason:
    return SkipReason.SKIPPED, (
        f"the table carried {stretch.withheld_up_to} when the run began below it: the sink took it for committed; "
        f"its files came late with {stretch.closed_by} or are lost"
    )


def _default(stretch: Stretch, known: Known, untold: int) -> Reason:
    """`untold`: how many ids between the two commits no source tells of."""
    if stretch.sink is Sink.FLINK_V1 and stretch.is_append and known.manifests_seen:
        return SkipReason.MERGED, f"FlinkSink commits all that is pending at once: it came with {stretch.closed_by}"
    return nothing_written(known, untold, stretch.sink)


def nothing_written(known: Known, untold: int, sink: Sink) -> Reason:
    """Without a manifest, if the sink may leave so many empty ones out; else nobody knows. That one wrote no files is
    not known: its manifest may have been removed."""
    if not known.manifests_seen:
        return SkipReason.UNEXPLAINED, "the Flink manifests could not be listed"
    if sink is Sink.FLINK_DYNAMIC or untold <= known.empty_allowed:
        return SkipReason.NO_MANIFEST, "no Flink manifest of it is left on storage, as of a checkpoint without files"
    return SkipReason.UNEXPLAINED, f"{untold} in a row without a commit; {known.empty_allowed} empty ones are usual"
