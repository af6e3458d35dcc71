"""Rollbacks of main, told by the snapshot log, and what the writer did on top of them."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping
from enum import StrEnum

from bot.domain.beginnings import FROM_NOTHING, began_from
from bot.domain.beside_a_rollback import doubtful_before, first_of_job, reached_by, sinks_of
from bot.domain.empty_commits import empty_commits_allowed
from bot.domain.flink import JobRun
from bot.domain.ids import CheckpointId, JobId, SnapshotId
from bot.domain.record import Record
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot, TableState, Window


class Sequel(StrEnum):
    """What the first Flink commit on top of a rollback's target says."""

    WENT_ON = "went-on"
    """A run whose commits were rolled back, or whose state came from beyond the target, committed its next checkpoint:
    what lay between is lost (facts 0.2)."""
    REDONE = "redone"
    """The same job id commits the rolled-back checkpoint ids again: it was restored to the target."""
    OTHER_RUN = "other-run"
    """A run of the job that had nothing rolled back goes on from the target, as far as Flink and the checkpoint ids
    tell."""
    UNTOLD = "untold"
    """Nothing tells where the run that goes on from the target began, and it has passed ids of what main lost, or is
    not surely the job's: the rows of these were read again under later ids, or are lost."""
    NOTHING_YET = "nothing-yet"
    """The job has committed nothing since; another Flink job may have."""


class Rollback(Record):
    """Commits that were head of main once, and the ancestor of its head that main went to from them."""

    fork: SnapshotId | None
    """The newest snapshot that both share; None when it is no longer listed."""
    target: SnapshotId | None
    """The newest commit of main that was made before them. Above `fork` where main had been set back to that for a
    while and was set forward again, to commits that these do not stand on. None when none is listed."""
    left: tuple[SnapshotId, ...]
    """The commits that main lost there, oldest first."""
    runs: tuple[JobId, ...]
    """The Flink runs that wrote them."""
    next_commit: SnapshotId | None
    """The first Flink commit on main after the target that may be the job's: not another job's beside it."""
    sequel: Sequel
    goes_on: JobId | None = None
    """Of NOTHING_YET: the living run whose next commit leaves a hole, because its state holds what main lost."""
    may_go_on: JobId | None = None
    """Of NOTHING_YET: a living run of which nothing tells whether its state holds what main lost."""
    counted_again: frozenset[CheckpointId] = frozenset()
    """Of NOTHING_YET: ids of lost commits by the target's own run that do not rise above it: a restore from them does
    not tell which commits its state holds."""
    is_rewound: bool = False
    """Of NOTHING_YET: the living writer was restored since from the target or below, so it reads again what main
    lost."""

    def is_within(self, window: Window, table: TableState) -> bool:
        """Whether main lost these commits at or above the window's lower edge."""
        if window.since is None or self.target is None:
            return True
        since = window.on_main(table).since
        return self.target not in {s.snapshot_id for s in table.ancestors(since)} - {since}


def rollbacks(table: TableState, runs: Iterable[JobRun] = ()) -> tuple[Rollback, ...]:
    """Every rollback that metadata still shows, one a target and fork, by rising target. Staged commits never were head
    of main and do not count. `runs`: those that Flink lists as the job's; where a run was restored tells its sequel
    better than the checkpoint ids do."""
    listed = tuple(sorted(runs, key=lambda run: run.started_at, reverse=True))
    by_id = {run.job_id: run for run in listed}
    by_ends: dict[tuple[SnapshotId | None, SnapshotId | None], list[Snapshot]] = {}
    for lost in sorted(table.rolled_back, key=lambda s: table.place_of(s.snapshot_id)):
        by_ends.setdefault((_target(table, lost), _fork(table, lost)), []).append(lost)
    rising = sorted(by_ends, key=lambda ends: [table.place_of(end) for end in ends])
    told = (_rollback(table, ends, by_ends[ends], by_id) for ends in rising)
    return tuple(_with_living(table, each, listed) if each.sequel is Sequel.NOTHING_YET else each for each in told)


def _fork(table: TableState, lost: Snapshot) -> SnapshotId | None:
    return next((s.snapshot_id for s in table.ancestors(lost.snapshot_id) if s.snapshot_id in table.chain_ids), None)


def _target(table: TableState, lost: Snapshot) -> SnapshotId | None:
    place = table.place_of(lost.snapshot_id)
    older = bisect_left(table.chain, -place, key=lambda s: -table.place_of(s.snapshot_id))
    return table.chain[older].snapshot_id if older < len(table.chain) else None


def _rollback(
    table: TableState,
    ends: tuple[SnapshotId | None, SnapshotId | None],
    left: list[Snapshot],
    runs: Mapping[JobId, JobRun],
) -> Rollback:
    target, fork = ends
    kept = {s.snapshot_id for s in table.ancestors(target)}
    commits = flink_commits(table)
    theirs = [s for s in left if s.job_id in runs] or [s for s in left if s.job_id is not None]
    above = [s for s in commits if s.snapshot_id not in kept]
    reached = reached_by((s for s in reversed(commits) if s.snapshot_id in kept), theirs)
    first = first_of_job(above, theirs, sinks_of(theirs, commits, runs), runs)
    doubtful = doubtful_before(above, theirs, first, reached, runs, empty_commits_allowed(table.properties) + 1)
    return Rollback(
        fork=fork,
        target=target,
        left=tuple(s.snapshot_id for s in left),
        runs=tuple(dict.fromkeys(s.job_id for s in left if s.job_id)),
        next_commit=next((s.snapshot_id for s in (doubtful, first) if s is not None), None),
        sequel=_sequel(left, first, reached, runs) if doubtful is None else Sequel.UNTOLD,
    )


def _with_living(table: TableState, found: Rollback, runs: tuple[JobRun, ...]) -> Rollback:
    """With what the living runs will do that have committed nothing since, told by where Flink restored them."""
    lost = [table.by_id[each] for each in found.left]
    kept = table.by_id.get(found.target) if found.target is not None else None
    below, listed = {s.snapshot_id for s in table.ancestors(found.target)}, {run.job_id for run in runs}
    theirs = [s for s in lost if s.job_id in listed] or lost
    reached = reached_by((s for s in reversed(flink_commits(table)) if s.snapshot_id in below), theirs)
    again = _counted_again(lost, kept)
    goes_on: JobId | None = None
    may_go_on: JobId | None = None
    is_rewound = False
    for run in (each for each in runs if not each.is_terminal):
        if run.restored is not None and any(each <= run.restored.checkpoint_id for each in again):
            may_go_on = run.job_id
        own = [s for s in lost if s.job_id == run.job_id]
        ids = [
            s.checkpoint_id for s in own or lost if s.checkpoint_id is not None and (own or s.checkpoint_id > reached)
        ]
        was_restored_since = run.restored is not None and all(s.committed_at < run.restored.at for s in own or lost)
        if run.restored is None or not was_restored_since or not ids:
            goes_on = run.job_id if own else goes_on
        elif run.restored.checkpoint_id < min(ids):
            is_rewound = True
        elif own:
            goes_on = run.job_id
        elif (began := _began_from(run, table)) is None:
            may_go_on = run.job_id
        elif began >= min(ids):
            goes_on = run.job_id
        else:
            is_rewound = is_rewound or began > FROM_NOTHING
    is_rewound = is_rewound and goes_on is None and may_go_on is None
    told = {"goes_on": goes_on, "may_go_on": may_go_on, "counted_again": again, "is_rewound": is_rewound}
    return found.model_copy(update=told)


def _counted_again(lost: Iterable[Snapshot], kept: Snapshot | None) -> frozenset[CheckpointId]:
    """`kept`: the target. The run counted anew under its job id (F14), or two commits bear one id (F1)."""
    if kept is None or kept.job_id is None:
        return frozenset()
    ids = (s.checkpoint_id for s in lost if s.job_id == kept.job_id and s.checkpoint_id is not None)
    return frozenset(each for each in ids if each <= (kept.checkpoint_id or 0))


def _began_from(run: JobRun, table: TableState) -> CheckpointId | None:
    first = next((s.committed_at for s in table.of_flink if s.job_id == run.job_id), None)
    return began_from(run, first)


def _sequel(left: list[Snapshot], first: Snapshot | None, reached: int, runs: Mapping[JobId, JobRun]) -> Sequel:
    if first is None or first.checkpoint_id is None or first.job_id is None:
        return Sequel.NOTHING_YET
    own = [s for s in left if s.job_id == first.job_id and s.checkpoint_id is not None]
    lost = [s.checkpoint_id for s in own or left if s.checkpoint_id is not None and (own or s.checkpoint_id > reached)]
    again = Sequel.REDONE if own else Sequel.OTHER_RUN
    if (point := _restored_to(runs.get(first.job_id), own, first)) is not None:
        return Sequel.WENT_ON if any(each <= point for each in lost) else again
    if lost and first.checkpoint_id > max(lost):
        return Sequel.WENT_ON
    return Sequel.UNTOLD if any(each < first.checkpoint_id for each in lost) else again


def _restored_to(run: JobRun | None, own: list[Snapshot], first: Snapshot) -> CheckpointId | None:
    """The checkpoint from which the run came to its first commit above the target: of one that had commits there
    before (`own`), its restore between them, else where it began. None where Flink does not show it."""
    if run is None:
        return None
    if not own:
        return began_from(run, first.committed_at)
    point, last = run.restored, max(s.committed_at for s in own)
    return point.checkpoint_id if point is not None and last <= point.at <= first.committed_at else None
