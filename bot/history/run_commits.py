"""Which commits of its run the state of a restore point has behind it.

Under a job id that never changes (F14) a start without state counts its checkpoints from 1 again: wherever the ids
fall, another start begins, and a restore point is of one of them.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from functools import cached_property
from typing import NamedTuple

from bot.observation.flink import JobRun, StoredCheckpoint
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.paths import names_checkpoint_of
from bot.observation.table import Snapshot, TableState

ABOUT = timedelta(seconds=1)
"""Object stores tell whole seconds, and no two clocks are the same."""
_COMMITTED = timedelta(seconds=10)
"""A restore point that is younger by more than its commit, or than the end of its run, is a copy."""
WHENEVER = datetime.min.replace(tzinfo=UTC)
"""Before all that is known."""


class Written(NamedTuple):
    """When the state of a restore point was written: between these moments."""

    earliest: datetime
    latest: datetime
    of_start: "RunCommits | None"
    """The commits of the start of the job from which it comes; None: nothing tells of which."""


class RunCommits:
    """Commits of one run, oldest first, each with a checkpoint id."""

    def __init__(self, commits: Sequence[Snapshot]) -> None:
        self._all = tuple(commits)
        self._by_checkpoint: dict[CheckpointId, list[Snapshot]] = {}
        for each in commits:
            if each.checkpoint_id is not None:
                self._by_checkpoint.setdefault(each.checkpoint_id, []).append(each)
        self._numbers = sorted(self._by_checkpoint.keys() - {DRAINED})

    def __bool__(self) -> bool:
        return bool(self._all)

    @property
    def is_drained(self) -> bool:
        """Whether one of them carries Long.MAX_VALUE."""
        return DRAINED in self._by_checkpoint

    def life_of(self, stored: StoredCheckpoint) -> "RunCommits | None":
        """Those of the start of the job from which `stored` comes (see `lives`); None: nothing tells of which it is.

        Its checkpoint id and its time tell that. It may be a copy, which is younger than what it holds: so it may be of
        any start before its time, unless that is when one of them was at this checkpoint. What lies where the run
        itself keeps its checkpoints is hardly a copy: each start writes over what the one before had there.
        """
        if len(self._starts) < 2:
            return self
        told = list(zip(self._starts, (None, *self._starts), strict=False))
        near = [(gap, n) for n, (each, last) in enumerate(told) if (gap := each._gap(stored, last)) is not None]
        if near:
            return self._starts[min(near)[1]]
        if names_checkpoint_of(stored.path, stored.job_id):
            began = [each for each in self._starts if each._all[0].committed_at <= stored.written_at + ABOUT]
            if began and began[-1]._is_next(stored, began[:-1]):
                return began[-1]
        may_be = [each for each, last in told if each._may_be_of(stored, last)]
        reached = [each for each in may_be if each._next(stored) is not None]
        if not reached:
            return max(reversed(may_be), key=lambda each: each._ids[-1], default=None)
        return reached[0] if reached == may_be[-1:] else None

    def written(self, stored: StoredCheckpoint, ended: datetime | None = None) -> tuple[datetime, datetime]:
        """Not before and not after which moment `stored` was written, where these are of the start of the job from
        which it comes. `ended`: when its run did, as far as that is known.

        A copy is younger than what it holds, but that was there before the first commit of its checkpoint, or of a
        later one, and before its run ended; and about when the commit below was made.
        """
        following = self._next(stored)
        bounds = [*([following.committed_at] if following is not None else ()), *([ended] if ended is not None else ())]
        latest = min([stored.written_at, *bounds])
        if stored.written_at <= latest + _COMMITTED:
            return latest, latest
        below = self._below(stored)
        return below.committed_at if below is not None else WHENEVER, latest

    def __contains__(self, commit: Snapshot) -> bool:
        return any(each.snapshot_id == commit.snapshot_id for each in self._all)

    @cached_property
    def _starts(self) -> tuple["RunCommits", ...]:
        told = lives(self._all)
        of_start: dict[int, list[Snapshot]] = {}
        for each in self._all:
            of_start.setdefault(told[each.snapshot_id], []).append(each)
        return tuple(map(RunCommits, of_start.values()))

    @cached_property
    def _ids(self) -> tuple[int, ...]:
        """Of one start they never fall."""
        return tuple(each.checkpoint_id or 0 for each in self._all)

    def _next(self, stored: StoredCheckpoint) -> Snapshot | None:
        """The first that carries its checkpoint or a later one."""
        place = bisect_left(self._ids, stored.checkpoint_id or 0)
        return self._all[place] if place < len(self._all) else None

    def _below(self, stored: StoredCheckpoint, back: int = 1) -> Snapshot | None:
        """The last that carries an earlier one, or as many commits back."""
        place = bisect_left(self._ids, stored.checkpoint_id or 0) - back
        return self._all[place] if place >= 0 else None

    def _is_next(self, stored: StoredCheckpoint, earlier: Sequence["RunCommits"]) -> bool:
        """Whether it follows right on this start's newest commit, or none of the `earlier` ones had come so far."""
        if self._next(stored) is not None:
            return False
        return stored.checkpoint_id == self._ids[-1] + 1 or all(each._next(stored) is None for each in earlier)

    def _gap(self, stored: StoredCheckpoint, earlier: "RunCommits | None") -> timedelta | None:
        """How long before its commit `stored` was written, if that was when this start was at its checkpoint, which it
        reached after start `earlier`; None: it was not."""
        following, below, at = self._next(stored), self._below(stored), stored.written_at
        late = _COMMITTED if names_checkpoint_of(stored.path, stored.job_id) else ABOUT
        if following is None or at > following.committed_at + late:
            return None
        gap = abs(following.committed_at - at)
        if below is not None:
            return gap if at + ABOUT >= below.committed_at else None
        if earlier is None:
            return gap
        is_nearer = following.checkpoint_id == stored.checkpoint_id and gap <= at - earlier._all[-1].committed_at
        return gap if is_nearer else None

    def _may_be_of(self, stored: StoredCheckpoint, earlier: "RunCommits | None") -> bool:
        """Whether this start, which came after `earlier`, may have been at its checkpoint by then. A commit may be
        late by one checkpoint."""
        since = self._below(stored, back=2) or (earlier._all[-1] if earlier is not None else None)
        if since is not None and stored.written_at + ABOUT < since.committed_at:
            return False
        first = self._all[0]
        is_above = (first.checkpoint_id or 0) > (stored.checkpoint_id or 0)
        return earlier is None or not is_above or stored.written_at <= first.committed_at + ABOUT

    def carrying(self, checkpoint: CheckpointId) -> Sequence[Snapshot]:
        """Those of this checkpoint, oldest first."""
        return self._by_checkpoint.get(checkpoint, ())

    def below(self, checkpoint: CheckpointId) -> CheckpointId | None:
        """The highest id below, without Long.MAX_VALUE."""
        place = bisect_left(self._numbers, checkpoint)
        return self._numbers[place - 1] if place else None

    def above(self, checkpoint: CheckpointId) -> CheckpointId | None:
        """The lowest id above, without Long.MAX_VALUE."""
        place = bisect_right(self._numbers, checkpoint)
        return self._numbers[place] if place < len(self._numbers) else None


class CommitsByRun:
    """Of one table; reads its snapshots once, and not before it is asked."""

    def __init__(self, table: TableState, runs: Iterable[JobRun] = ()) -> None:
        """`runs`: those of which it is asked when they ended."""
        self.table = table
        self._ended = {run.job_id: run.ended_at for run in runs if run.is_terminal}
        self._known: dict[tuple[JobId, frozenset[OperatorId]], RunCommits] = {}

    @cached_property
    def _of_run(self) -> dict[JobId, list[Snapshot]]:
        of_run: dict[JobId, list[Snapshot]] = {}
        for each in self.table.snapshots:
            if each.job_id is not None and each.checkpoint_id is not None:
                of_run.setdefault(each.job_id, []).append(each)
        return of_run

    def listed(self, run: JobId) -> Sequence[Snapshot]:
        """All of the run, on main or not, oldest first."""
        return self._of_run.get(run, ())

    def written(self, stored: StoredCheckpoint) -> Written:
        """When its state was, by the time of its file, of its checkpoint's commit and of its run's end: copying it
        makes the file younger."""
        of_start = self.of(stored).life_of(stored)
        if of_start is None:
            return Written(WHENEVER, stored.written_at, None)
        ended = self._ended.get(stored.job_id) if stored.job_id is not None else None
        return Written(*of_start.written(stored, ended), of_start)

    def of(self, stored: StoredCheckpoint) -> RunCommits:
        """Commits by the run that wrote `stored`.

        Where the restore point names operators that wrote this table too, only theirs count: one run may write one
        table by two sinks. A name that never committed says nothing (V2 keeps state under another id).
        """
        if stored.job_id is None:
            return RunCommits(())
        key = (stored.job_id, frozenset(stored.operator_ids))
        if key not in self._known:
            of_run = self._of_run.get(stored.job_id, [])
            named = key[1] & {each.operator_id for each in of_run}
            theirs = [s for s in of_run if not named or s.operator_id is None or s.operator_id in named]
            self._known[key] = RunCommits(theirs)
        return self._known[key]


def lives(commits: Iterable[Snapshot]) -> dict[SnapshotId, int]:
    """The life to which each commit of one run belongs, from 0 on. `commits`: oldest first.

    Under a job id that never changes (F14) a start without state counts from 1 again: wherever the ids fall, another
    life begins.
    """
    life, told, highest = 0, {}, 0
    for commit in commits:
        checkpoint = commit.checkpoint_id or 0
        life += checkpoint < highest
        told[commit.snapshot_id] = life
        highest = checkpoint
    return told
