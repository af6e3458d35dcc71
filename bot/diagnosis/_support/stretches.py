"""Checkpoints that a sink has left without a commit, counted as the sink counts them.

Without files it leaves out so many in a row (`flink.max-continuous-empty-commits`) and commits the next. It counts anew
from each restore on, and neither what failed nor, under V1, an intermediate savepoint is a checkpoint to it (facts 0.5,
1.3). Flink lists the newest ten or so, of each run its newest restore, and of older ones only how many there were.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import NamedTuple

from bot.diagnosis._support.case import longest_silence
from bot.diagnosis._support.overdue import completed
from bot.history.case import Case
from bot.history.checkpoint_pace import interval_of, uncounted, usual_pause
from bot.history.rollbacks import Sinks
from bot.observation.flink import CompletedCheckpoint, JobRun
from bot.observation.ids import CheckpointId, OperatorId
from bot.observation.ledger import Sink
from bot.observation.table import Snapshot


class Stretch(NamedTuple):
    """From a commit or a restore (exclusive) to the next restore that is told, or to the newest checkpoint (inclusive),
    with no commit between."""

    since: CheckpointId
    until: CheckpointId
    surely: int
    """So many at least were checkpoints to the sink."""
    at_most: int
    starts: int
    """So often at most the sink began to count."""
    allowed: int
    """So many may pass without a commit from each time on."""

    @property
    def is_too_long(self) -> bool:
        """Whether one of them would have been committed even without files."""
        return self.surely > self.starts * self.allowed

    @property
    def may_be_too_long(self) -> bool:
        """The same, if nothing of what Flink tells no more explains the silence."""
        return self.at_most > self.allowed


def stretches_since(commit: Snapshot, case: Case, run: JobRun, operator: OperatorId | None) -> tuple[Stretch, ...]:
    """Of the living run's sink, since its newest commit, whichever run made it. Where Flink has forgotten the run of
    that commit, or what it did before another JobManager took it over, nothing is sure up to the first restore."""
    ids = {commit.job_id, run.job_id}
    runs = [r for r in case.runs if r.job_id in ids or r.started_at > commit.committed_at]
    is_told = any(r.job_id == commit.job_id and r.started_at <= commit.committed_at for r in runs)
    found = stretches(case, run, operator, commit.checkpoint_id or CheckpointId(0), runs)
    if not found or is_told or found[0].until not in _restored(runs):
        return found
    return (found[0]._replace(surely=0), *found[1:])


def stretches(
    case: Case, run: JobRun, operator: OperatorId | None, since: CheckpointId, runs: Sequence[JobRun]
) -> tuple[Stretch, ...]:
    """Of the living run's sink, from a commit or restore point up to the newest checkpoint that Flink calls completed,
    rising; `runs`: those that may have completed some of these, below what the living one was restored from."""
    until = max([since, *completed(run), *_restored([run])])
    own = max([since, *_restored([run])])
    bounds = (since, *(each for each in _restored(runs) if since < each <= own and each < until), until)
    return tuple(
        _stretch(case, run, operator, [run] if first >= own else runs, first, last)
        for first, last in pairwise(bounds)
        if first < last
    )


def _restored(runs: Sequence[JobRun]) -> list[CheckpointId]:
    return sorted({run.restored.checkpoint_id for run in runs if run.restored is not None})


def _stretch(
    case: Case,
    run: JobRun,
    operator: OperatorId | None,
    runs: Sequence[JobRun],
    since: CheckpointId,
    until: CheckpointId,
) -> Stretch:
    """Of ids that Flink does not list, as many may have failed as it counts and lists no more, and of a sink that may
    be V1 all may have been savepoints, but for those that time shows."""
    ids = range(since + 1, until + 1)
    sink = Sinks(case.observation.jobs.values).of_run(run.job_id, operator)
    may_be_v1 = sink not in (Sink.FLINK_V2, Sink.FLINK_DYNAMIC)
    listed = {c.checkpoint_id: c for each in runs for c in each.checkpoints if c.checkpoint_id in ids}
    at_most = len(ids) - sum(each in ids for each in uncounted(runs, Sink.FLINK_V1 if may_be_v1 else sink))
    restores = sum(r.restored_count - 1 for r in runs if r.restored is not None and r.restored.checkpoint_id >= until)
    doubtful = sum(max(each.failed_count - sum(c.status == "FAILED" for c in each.checkpoints), 0) for each in runs)
    unlisted = len(ids) - len(listed)
    if may_be_v1:
        doubtful += max(unlisted - (0 if restores > 0 else _shown_by_time(case, run, runs, since, listed)), 0)
    surely = at_most - min(doubtful, unlisted)
    return Stretch(since, until, surely, at_most, max(restores, 0) + 1, longest_silence(case.observation.table))


def _shown_by_time(
    case: Case,
    run: JobRun,
    runs: Sequence[JobRun],
    since: CheckpointId,
    listed: Mapping[CheckpointId, CompletedCheckpoint],
) -> int:
    """So many below all that are listed were no savepoints, if each came as late as it may, the first listed
    one too: Flink goes on with its own meanwhile. 0 where nothing tells when they began."""
    ids, interval, table = {each.job_id for each in runs}, interval_of(run), case.observation.table
    began = [s.committed_at for s in table.snapshots if s.job_id in ids and s.checkpoint_id == since]
    began += [r.restored.at for r in runs if r.restored is not None and r.restored.checkpoint_id == since]
    if not listed or not began or not interval:
        return 0
    return max((listed[min(listed)].triggered_at - max(began)) // usual_pause(interval, run) - 1, 0)
