"""Whether what Flink calls completed has reached the table: silence that is wrong, or that nobody explained.

Checkpoints without a commit are counted as the sink counts them. Without files it leaves out so many in a row
(`flink.max-continuous-empty-commits`) and commits the next. It counts anew from each restore on, and neither what
failed nor, under V1, an intermediate savepoint is a checkpoint to it (facts 0.5, 1.3). Flink lists the newest ten or
so, of each run its newest restore, and of older ones only how many there were.

Whether a run that goes on still completes checkpoints: until one completes, nothing reaches the table. That is the rule
of `checkpoint_health`, with more patience: a verdict rests on it. Between `usual_pause` and the limit at which Flink
gives a checkpoint up nobody can tell a slow one from one that never comes.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from bot.diagnosis._support.asked import lacking, too_early_for, unasked
from bot.diagnosis._support.case import (
    at_position,
    by_sink,
    leaves_out_empty_ones,
    listed,
    longest_silence,
    sinks_of,
    takes_for_its_own,
)
from bot.diagnosis._support.lost_and_expired import SEVERAL
from bot.diagnosis._support.other_branch import commits_anywhere
from bot.diagnosis._support.overdue import completed, none_written_before, overdue_of_run, overdue_of_sink, settled
from bot.history.case import Case
from bot.history.checkpoint_pace import (
    FLINKS_TIMEOUT,
    completed_at,
    interval_of,
    limit_of_one,
    time_to_commit,
    uncounted,
    usual_pause,
)
from bot.history.counted import Counted
from bot.history.rollbacks import Sinks
from bot.history.starts import came_up_at
from bot.history.unread_points import rows_of
from bot.incident.diagnosis import CannotTell
from bot.observation.findings import LeakedManifest, LeakStanding
from bot.observation.flink import CheckpointKind, CompletedCheckpoint, JobRun, SourcePosition, StoredCheckpoint
from bot.observation.ids import DRAINED, CheckpointId, OperatorId, SnapshotId, short, short_job
from bot.observation.ledger import Sink
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted, span
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


NO_ROWS_AT_END = 10
"""So many offsets at the end of a partition may well hold no row: markers of transactions, filtered records."""
_AT_LEAST = timedelta(minutes=2)
"""So long is waited for a checkpoint however short the interval: a restore or a full disk takes its time."""


class Silence(NamedTuple):
    """A run that is well by its state, and has completed no checkpoint for longer than it should take."""

    run: JobRun
    lasted: timedelta
    after: CheckpointId | None
    """The newest that completed; None: none since the run began, or was restored."""
    interval: timedelta | None
    """None: nobody knows how often it takes one."""

    @property
    def is_certain(self) -> bool:
        """Whether even a checkpoint that hangs would have failed by now, and the next one be due."""
        if self.interval is None:
            return False
        return self.lasted > max(limit_of_one(self.run) + self.interval, usual_pause(self.interval, self.run))

    @property
    def in_words(self) -> str:
        """Where it is certain, a sentence; else what is missing to know it."""
        run, lasted = short_job(self.run.job_id), f"for {span(self.lasted)}, since {self._since}"
        if self.interval is None:
            return f"how often run {run} takes a checkpoint: Flink tells of no interval, and none completed {lasted}"
        every = f"it is set to take one every {span(self.interval)}"
        if self.is_certain:
            return (
                f"No checkpoint of run {run} completed {lasted}, though {every}: nothing reaches the table meanwhile."
            )
        limit = span(limit_of_one(self.run))
        return (
            f"whether run {run} still completes checkpoints: none did {lasted}, though {every}; one that hangs fails "
            f"after {limit}"
        )

    @property
    def _since(self) -> str:
        if self.after is not None:
            return f"checkpoint {self.after}"
        return "its restore" if self.run.restored is not None else "its start"


def checkpoint_silence(case: Case, run: JobRun) -> Silence | None:
    """The silence of a settled run; None while the next checkpoint may be on its way, and of any other run."""
    if not run.is_settled:
        return None
    interval = interval_of(run)
    if interval is None and run.settings is None:
        interval = case.contract.checkpoint_every
    patience = FLINKS_TIMEOUT if interval is None else max(usual_pause(interval, run), _AT_LEAST)
    began = max([run.started_at, *([run.restored.at] if run.restored is not None else [])])
    completed = [
        _Done(completed_at(c), c.checkpoint_id)
        for c in run.checkpoints
        if c.status == "COMPLETED" and c.kind is not CheckpointKind.SAVEPOINT
    ]
    for done in (completed, [*completed, *_committed(case, run, completed)]):
        newest = max((each for each in done if each.at >= began), default=_Done(began, None))
        lasted = case.observation.table.read_at - newest.at
        if lasted <= patience:
            return None
    return Silence(run, lasted, newest.checkpoint, interval)


class _Done(NamedTuple):
    at: datetime
    checkpoint: CheckpointId | None


def _committed(case: Case, run: JobRun, listed: list[_Done]) -> list[_Done]:
    """What Flink no longer lists shows by its commit, wherever it hangs. Reads every snapshot."""
    highest = max((each.checkpoint or 0 for each in listed), default=0)
    mine = (s for s in case.observation.table.snapshots if s.job_id == run.job_id)
    return [_Done(s.committed_at, s.checkpoint_id) for s in mine if highest < (s.checkpoint_id or 0) < DRAINED]


def silence(case: Case, run: JobRun) -> str | None:
    """What shows that the living run's commits do not arrive, though nothing failed."""
    quiet = checkpoint_silence(case, run)
    if quiet is not None and quiet.is_certain:
        return quiet.in_words
    silent = (_silent(case, run, operator) for operator in sinks_of(case, run))
    return next((told for told in silent if told is not None), None) or _waiting(case, run)


def _silent(case: Case, run: JobRun, operator: OperatorId | None) -> str | None:
    """The same of one sink of the run, by what it has committed, to whatever branch."""
    newest = _newest(case, run, operator)
    if newest is None or newest.checkpoint_id is None:
        return None
    if newest.checkpoint_id == DRAINED:
        drained = f"{short(newest.snapshot_id)} was committed by a drained job"
        is_silent = takes_for_its_own(case, run, newest) is not False
        return f"{drained}, above which the V1 sink never commits again (F5)." if is_silent else None
    if run.restored is None and run.started_at > newest.committed_at:
        return (
            f"Run {short_job(run.job_id)} started without state after checkpoint {newest.checkpoint_id} was "
            "committed (F4, F15)."
        )
    long = next((each for each in _stretches(case, run, operator) if each.is_too_long), None)
    if long is not None:
        return (
            f"Flink completed {long.surely} checkpoints of run {short_job(run.job_id)} since {long.since}, and none of "
            "them was committed: even without rows one would have been."
        )
    return None


def untold_silence(case: Case, run: JobRun) -> str | None:
    """What is missing to know whether a sink of the living run should have committed by now; None: nothing is."""
    stretches = (each for operator in sinks_of(case, run) for each in _stretches(case, run, operator))
    long = next((each for each in stretches if each.may_be_too_long), None)
    if long is None:
        return None
    return (
        f"whether run {short_job(run.job_id)} should have committed by now, even without rows: {long.at_most} "
        f"checkpoints may have passed from {long.since} to {long.until}, and Flink does not list all restores, failed "
        "checkpoints and savepoints. For these a sink is silent for longer; its next commit decides"
    )


def _stretches(case: Case, run: JobRun, operator: OperatorId | None) -> tuple[Stretch, ...]:
    newest = _newest(case, run, operator)
    if newest is None or newest.checkpoint_id in (None, DRAINED) or leaves_out_empty_ones(case, run, operator):
        return ()
    return stretches_since(newest, case, run, operator)


def _newest(case: Case, run: JobRun, operator: OperatorId | None) -> Snapshot | None:
    """The newest commit of the run's sink, else of the sink, else of the job: ids of other jobs count their own
    checkpoints."""
    commits = commits_anywhere(case)
    theirs = by_sink(commits, operator)
    mine = (s for s in reversed(theirs) if s.job_id == run.job_id)
    return next(mine, None) or next(reversed(theirs or commits), None)


def read_past_main(case: Case, run: JobRun) -> str | None:
    """What is missing where a checkpoint of the run has read records past main's newest row, and several more have
    completed since that row came, though none brought any: a sink that throws rows away looks so (apache/iceberg
    #17494), and a source whose newest records are no rows. None: nothing is, or positions do not tell."""
    mine = (s for s in reversed(case.observation.table.of_flink) if s.job_id == run.job_id and s.adds_rows)
    began = run.restored.checkpoint_id if run.restored is not None else None
    newest = next((s.checkpoint_id for s in mine), began)
    due = settled(case, run)
    since = [number for number, at in completed(run).items() if newest is not None and number > newest and at <= due]
    if len(since) < SEVERAL or any(m.job_id == run.job_id for m in case.observation.flink_manifests.values):
        return None
    tops, position = Counted(case).tops, partial(at_position, case)
    stored = (p for p in case.observation.checkpoints.values if p.job_id == run.job_id and p.checkpoint_id in since)
    for point in sorted(stored, key=lambda p: -(p.checkpoint_id or 0)):
        for each in _by_partition(case, point):
            top = tops.get(str(each.partition) if case.contract.position_partition is not None else None)
            if top is not None and (ahead := each.following - 1 - top) > NO_ROWS_AT_END:
                return (
                    f"where {ahead:,} records of {each.topic}, partition {each.partition}, went: checkpoint "
                    f"{point.checkpoint_id} has read up to {position(each.following - 1)}, main ends at "
                    f"{position(top)}, and nothing waits to be committed"
                )
    return None


def _by_partition(case: Case, point: StoredCheckpoint) -> list[SourcePosition]:
    """Where its source goes on, of each partition that one topic alone has; of a source without partitions that the
    contract names, only where there is one."""
    if case.contract.position_partition is None:
        return list(point.source_positions) if len(point.source_positions) == 1 else []
    many = Counter(each.partition for each in point.source_positions)
    return [each for each in point.source_positions if many[each.partition] == 1]


def unaccounted(case: Case, checked: SnapshotId | None) -> CannotTell | None:
    """What is missing to know that completed checkpoints without a commit carried no rows; None: nothing is.

    Those below a commit with rows up to `checked` are vouched for by the evidence, which would have found their
    positions missing; Flink's empty commits bring no position, and vouch for no checkpoint but their own. A commit
    that was taken away with every trace in the metadata leaves its files behind, so a listing of the files without an
    orphan shows that there was none, if it was made when there was time to commit them all; so does one whose orphans
    are all older than what they could hold. Of one that was expired see `may_be_lost_and_expired`.
    Runs that have ended count too: checkpoint ids of two runs may be the same.
    """
    told = [(run, overdue) for run in case.runs if (overdue := overdue_of_run(case, run, checked))]
    if not told:
        return None
    run, overdue = max(told, key=lambda each: _show_from(*each))
    ids = _named(run, overdue)
    why = _why(run, overdue)
    shown_by = "only the files on storage show whether there were rows"
    if missing := lacking(case, "orphan_files"):
        return CannotTell(missing=(f"{missing[0]}: {why}; {shown_by}",), asks=unasked(case, "orphan_files"))
    if early := too_early_for(case, "orphan_files", _show_from(run, overdue)):
        said = f"orphan_files, once more: it was looked at {early}, before {ids} could have {_whose(overdue)} commit"
        return CannotTell(missing=(f"{said}; none is there, and {shown_by}",), asks=("orphan_files",))
    if not (open_ones := [each for each in told if _may_be_of(case, each[0], checked)]):
        return None
    run, overdue = max(open_ones, key=lambda each: _show_from(*each))
    orphans = case.orphans.orphans if case.orphans else 0
    said = f"whose the {orphans} orphan files are: {_why(run, overdue)}, and these may be {_whose(overdue)} rows"
    return CannotTell(missing=(said,))


def _may_be_of(case: Case, run: JobRun, checked: SnapshotId | None) -> bool:
    """Whether an orphan may hold rows of what is overdue of the run: not where all were written before that."""
    if case.orphans is None or not case.orphans.orphans:
        return False
    began, newest = none_written_before(case, run, checked), case.orphans.newest_at
    return began is None or newest is None or newest >= began


def _why(run: JobRun, overdue: Sequence[CheckpointId]) -> str:
    return f"Flink completed {_named(run, overdue)}, and no commit carries {'them' if overdue[1:] else 'it'}"


def _named(run: JobRun, overdue: Sequence[CheckpointId]) -> str:
    return f"checkpoint{'s' if overdue[1:] else ''} {listed(overdue)} of run {short_job(run.job_id)}"


def _whose(ids: Sequence[CheckpointId]) -> str:
    return "their" if ids[1:] else "its"


def _show_from(run: JobRun, overdue: Sequence[CheckpointId]) -> datetime:
    """From when on the files on storage show what became of all of these: of what it was restored from, since then."""
    done, restored = completed(run), came_up_at(run)
    return max(done[i] + time_to_commit(run) if i in done else restored for i in overdue)


def _waiting(case: Case, run: JobRun) -> str | None:
    """Manifests that should have been committed long since (F11)."""
    pending = case.leaked.of(LeakStanding.PENDING) if case.leaked else ()
    sinks = {m.operator_id for m in pending}
    late = {m.path for sink in sinks for m in _late(case, run, sink, [m for m in pending if m.operator_id == sink])}
    waiting = [m for m in pending if m.path in late or (m.is_overdue and _is_there(case, m))]
    if not waiting:
        return None
    ids, newest = sorted({m.checkpoint_id for m in waiting}), max(completed(run), default=CheckpointId(0))
    if all(m.checkpoint_id <= newest for m in waiting):
        why = f"although Flink completed their checkpoints {listed(ids)} (F11)"
    else:
        why = f"for longer than a sink that is well lets them wait: those of {listed(ids)}"
    return f"{counted(len(waiting), 'Flink manifest')} with {rows_of(waiting)} wait to be committed, {why}."


def _late(case: Case, run: JobRun, operator: OperatorId, pending: Sequence[LeakedManifest]) -> Sequence[LeakedManifest]:
    """Those that the sink has not committed although there was time since their checkpoint completed, or a later one,
    with which they would have come; and those that it has passed over."""
    table, due = case.observation.table, settled(case, run)
    overdue = overdue_of_sink(case, run, table.head, operator)
    mine = by_sink((s for s in table.snapshots if s.job_id == run.job_id), operator)
    reached = max((s.checkpoint_id or 0 for s in mine), default=0)
    later = max((i for i, at in completed(run).items() if at <= due), default=0)
    passed = _passed_over(case, mine, [m for m in pending if m.job_id == run.job_id], due)
    return [
        m
        for m in pending
        if m.checkpoint_id in overdue
        or m.path in passed
        or (m.job_id == run.job_id and reached < m.checkpoint_id < later)
    ]


def _passed_over(
    case: Case, mine: Sequence[Snapshot], pending: Sequence[LeakedManifest], due: datetime
) -> frozenset[str]:
    """Paths of those at or below what the sink (`mine`: its run's commits) had on main by `due`: it skips them from
    then on, and would have deleted what it committed."""
    on_main = (s for s in reversed(mine) if s.snapshot_id in case.observation.table.chain_ids)
    committed = next((s.checkpoint_id or 0 for s in on_main if s.committed_at <= due), 0)
    return frozenset(m.path for m in pending if m.checkpoint_id <= committed and _is_there(case, m))


def _is_there(case: Case, leak: LeakedManifest) -> bool:
    """Whether a manifest that evidence found is still on storage, as far as was looked: a commit deletes it."""
    listing = case.observation.flink_manifests
    if isinstance(listing, NotSeen) or listing.unread is not None:
        return True
    return any(m.path == leak.path for m in listing.values)
