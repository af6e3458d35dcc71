"""Rollbacks of main, told by the snapshot log, and what the writer did on top of them."""

from bisect import bisect_left
from collections.abc import Iterable, Mapping

from bot.domain.beside_a_rollback import Scene
from bot.domain.checkpoint_pace import empty_commits_allowed
from bot.domain.flink import JobRun
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.listed import chosen
from bot.domain.record import Record
from bot.domain.rewinds import flink_commits
from bot.domain.sequels import Sequel, counted_again, sequel_of
from bot.domain.table import Snapshot, TableState, Window

__all__ = ["Rollback", "Sequel", "rollbacks"]


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
    ended_on: JobId | None = None
    """Of NOTHING_YET: the run under which main was rolled back, and which has ended since, where none is alive: a
    restart from its newest checkpoint leaves a hole."""
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
    sinks = frozenset(s.operator_id for s in flink_commits(table) if s.job_id in by_id) if rising else frozenset()
    return tuple(_rollback(table, ends, by_ends[ends], by_id, sinks) for ends in rising)


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
    sinks: frozenset[OperatorId | None],
) -> Rollback:
    target, fork = ends
    kept = {s.snapshot_id for s in table.ancestors(target)}
    commits = flink_commits(table)
    scene = Scene(
        table=table,
        target=table.by_id.get(target) if target is not None else None,
        left=left,
        below=chosen(commits[::-1], lambda s: s.snapshot_id in kept),
        above=chosen(commits, lambda s: s.snapshot_id not in kept),
        runs=runs,
        sinks=sinks,
        allowed=empty_commits_allowed(table.properties) + 1,
    )
    told = sequel_of(scene)
    is_open = told.sequel is Sequel.NOTHING_YET
    return Rollback(
        fork=fork,
        target=target,
        left=tuple(s.snapshot_id for s in left),
        runs=tuple(dict.fromkeys(s.job_id for s in left if s.job_id)),
        next_commit=told.commit.snapshot_id if told.commit is not None else None,
        sequel=told.sequel,
        goes_on=told.goes_on,
        may_go_on=told.may_go_on,
        ended_on=told.ended_on,
        counted_again=counted_again(left, scene.target) if is_open else frozenset(),
        is_rewound=told.is_rewound,
    )
