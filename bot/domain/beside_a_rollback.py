"""Which commits above and below a rollback's target are the job's, and not another job's that writes the table beside
it: only its own say what became of the rows that main lost."""

from bisect import bisect_right
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import chain, takewhile
from typing import NamedTuple

from bot.domain.flink import CLOCKS_DIFFER, JobRun
from bot.domain.ids import DRAINED, JobId, OperatorId
from bot.domain.kin import writer_of
from bot.domain.table import Snapshot, TableState


class Whose(StrEnum):
    """What tells that a commit above a rollback's target is the job's."""

    ITS_OWN = "its own"
    """Its run lost some, or Flink lists it as the job's, or one of the job's that was restored from its state."""
    IN_LINE = "in line"
    """A run that Flink does not list made it by the job's sink, while no other of the job's was alive, and its ids rise
    above those that it found."""
    DOUBTFUL = "doubtful"
    """It is by the job's sink too, but its run found ids there that were as high: a rewound run, or another job's under
    the same uid."""
    ANOTHERS = "another's"


class Line(NamedTuple):
    """All that one run has committed to main or lost there."""

    first: Snapshot
    places: list[int]
    """Rising; see `TableState.place_of`."""

    def is_between(self, other: "Line") -> bool:
        """Whether a commit of it lies between two of the other."""
        after = bisect_right(self.places, other.places[0])
        return after < len(self.places) and self.places[after] < other.places[-1]


@dataclass(frozen=True)
class Scene:
    """A rollback and what came after."""

    table: TableState
    target: Snapshot | None
    left: Sequence[Snapshot]
    """The commits that main lost there, oldest first."""
    below: Sequence[Snapshot]
    """Flink's commits on main up to the target, newest first."""
    above: Sequence[Snapshot]
    """Flink's commits on main after the target, oldest first."""
    runs: Mapping[JobId, JobRun]
    """Those that Flink lists as the job's."""
    sinks: Set[OperatorId | None]
    """The operators by which these have committed to main."""
    allowed: int
    """So far the ids of two commits that follow each other may lie apart: what a sink leaves out, and one."""

    @cached_property
    def firsts(self) -> Sequence[Snapshot]:
        """The first commit of each run above the target, oldest first."""
        first: dict[JobId | None, Snapshot] = {}
        for commit in self.above:
            first.setdefault(commit.job_id, commit)
        return tuple(first.values())

    @cached_property
    def operators(self) -> Set[OperatorId]:
        """Under which operator ids the listed runs commit, by what they have committed and by their graphs: the V1
        sink's is there (facts 1.6)."""
        named = {operator for operator in self.sinks if operator is not None}
        return named | {vertex.vertex_id for run in self._listed for vertex in run.vertices}

    def whose(self, commit: Snapshot, lost: Sequence[Snapshot], sinks: Set[OperatorId | None]) -> Whose:
        """`commit`: a run's first above the target, which tells of all that it made: what it still owed then, the run
        that follows commits under its id. `lost`: what one writer lost; `sinks`: by which it commits. While a run of
        the job lived, a run that Flink does not list is another job's also under the same sink id: that follows from
        the uid alone. So is one between whose commits others of the job's lie."""
        wrote = {s.job_id for s in lost if s.job_id is not None}
        if commit.job_id in self.runs:
            return Whose.ITS_OWN
        if commit.job_id in wrote:
            since, before = _ids_of(commit.job_id, self.above), _ids_of(commit.job_id, lost)
            passed_all = min(since, default=0) > max(before, default=0)
            is_in_line = len(wrote) == 1 or (not self._is_beside(commit.job_id, wrote) and self._rises(commit))
            return Whose.ITS_OWN if passed_all or is_in_line else Whose.DOUBTFUL
        if commit.job_id is not None and commit.job_id[:6] in self._restored_from:
            return Whose.ITS_OWN
        if commit.operator_id not in sinks and None not in (commit.operator_id, *sinks):
            return Whose.ANOTHERS
        if self.is_lived_through(commit) or self._is_beside(commit.job_id, wrote):
            return Whose.ANOTHERS
        is_listed_since = any(run.started_at <= commit.committed_at for run in self._listed)
        names_less = commit.operator_id is None and None not in sinks
        return Whose.DOUBTFUL if is_listed_since or names_less or not self._rises(commit) else Whose.IN_LINE

    def is_lived_through(self, commit: Snapshot) -> bool:
        """Whether a run that Flink lists lived when the commit was made, whatever the clocks differ by."""
        at = commit.committed_at
        lives = ((r.started_at, r.ended_at) for r in self._listed if r.ended_at or not r.is_terminal)
        return any(
            began + CLOCKS_DIFFER <= at and (ended is None or at <= ended - CLOCKS_DIFFER) for began, ended in lives
        )

    def leading_on(
        self, until: Snapshot | None, lost: Sequence[Snapshot], reached: int, *, from_above: bool
    ) -> Snapshot | None:
        """The first commit before `until` by a run that may be the job's under another uid, as Flink does not list it:
        its ids lie between the target's and those of `until`, or where a living run began, so near to either as what a
        sink leaves out. None by one that lost some, as another writer. `from_above`: not by one that was itself
        rewound below the target."""
        wrote = {s.job_id for s in lost if s.job_id is not None}
        known = {s.job_id for s in self.left} | self.runs.keys()
        if not wrote or not self.runs:
            return None
        began = (r.restored.checkpoint_id for r in self._listed if r.restored is not None and not r.is_terminal)
        last = (until.checkpoint_id or 0) - 1 if until is not None else max(began, default=0)
        by_run: dict[JobId | None, list[Snapshot]] = {}
        for commit in takewhile(lambda s: s is not until, self.above):
            if commit.job_id not in known and not self.is_lived_through(commit):
                by_run.setdefault(commit.job_id, []).append(commit)
        for run, commits in by_run.items():
            ids = _ids_of(run, commits)
            if not ids or not reached < max(ids) <= last or (from_above and min(ids) <= reached):
                continue
            is_near = min(ids) <= reached + self.allowed or last <= max(ids) + self.allowed
            if is_near and not self._is_beside(run, wrote):
                return commits[0]
        return None

    @property
    def _restored_from(self) -> Set[str | None]:
        """The first digits of the runs from whose points listed ones were restored: the commit that such a run owed is
        made by the next one, under its id (facts 1.1)."""
        return {writer_of(run.restored.path) for run in self._listed if run.restored is not None}

    @property
    def _listed(self) -> Iterable[JobRun]:
        return self.runs.values()

    @cached_property
    def _lines(self) -> Mapping[JobId | None, Line]:
        placed = [(self.table.place_of(s.snapshot_id), s) for s in chain(reversed(self.below), self.left, self.above)]
        lines: dict[JobId | None, Line] = {}
        for place, commit in sorted(placed, key=lambda each: each[0]):
            lines.setdefault(commit.job_id, Line(commit, [])).places.append(place)
        return lines

    def _is_beside(self, run: JobId | None, wrote: Set[JobId]) -> bool:
        """Whether commits of the job's other runs lie between its own, or its own between those of one of them."""
        mine = self._lines[run]
        others = (self._lines[each] for each in (wrote | self.runs.keys()) - {run} if each in self._lines)
        return any(mine.is_between(each) or each.is_between(mine) for each in others)

    def _rises(self, commit: Snapshot) -> bool:
        """Whether the first commit of its run lies above what the same sink had committed below it."""
        first = self._lines[commit.job_id].first
        older = (s for s in self.table.ancestors(first.parent_id) if s.job_id not in (None, first.job_id))
        same = (s.checkpoint_id or 0 for s in older if _is_same(s.operator_id, first.operator_id))
        return (first.checkpoint_id or 0) > next((each for each in same if each < DRAINED), 0)


def reached_by(below: Iterable[Snapshot], lost: Sequence[Snapshot]) -> int:
    """The id of the job's newest commit at or below the target (`below`, newest first), by a run or a sink that made
    what main lost: a guest counts by itself, and what a drain leaves is no count."""
    runs, sinks = {s.job_id for s in lost}, {s.operator_id for s in lost}
    mine = (s for s in below if s.job_id in runs or None in (s.operator_id, *sinks) or s.operator_id in sinks)
    ids = (s.checkpoint_id or 0 for s in mine)
    return next((each for each in ids if each < DRAINED), 0)


def writers_of(left: Iterable[Snapshot]) -> list[list[Snapshot]]:
    """The lost commits of Flink, one list a writer: runs that share an operator may be one job's. What names no
    operator may be any's, and is in all of them."""
    commits = [s for s in left if s.job_id is not None]
    groups: list[tuple[set[JobId | None], set[OperatorId]]] = []
    for commit in commits:
        if commit.operator_id is None:
            continue
        runs, sinks = {commit.job_id}, {commit.operator_id}
        apart = []
        for group in groups:
            if group[0] & runs or group[1] & sinks:
                runs, sinks = runs | group[0], sinks | group[1]
            else:
                apart.append(group)
        groups = [*apart, (runs, sinks)]
    told = [[s for s in commits if s.operator_id is None or s.operator_id in sinks] for _, sinks in groups]
    return told or [commits]


def _is_same(one: OperatorId | None, other: OperatorId | None) -> bool:
    return None in (one, other) or one == other


def _ids_of(run: JobId | None, commits: Iterable[Snapshot]) -> list[int]:
    """The checkpoint ids of a run's commits, but for what a drain leaves."""
    ids = (s.checkpoint_id or 0 for s in commits if s.job_id == run)
    return [each for each in ids if each < DRAINED]
