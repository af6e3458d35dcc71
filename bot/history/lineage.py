"""Where the living run stands: which of main's commits its state has behind it.

A run begins from a restore point of a run, or without state. The state of a point has read all that the point's run had
committed up to the point's id, whether main has it still or not. So a restored run stands at main's end where main's
newest commit with rows is of that run and its id is not above the point's (the pairing of facts 0.1), as long as:

- it is the same life of that run: a run that is started once more under its job id counts its checkpoints anew;
- main did not lose a commit of it up to the point's id;
- no manifest of it up to that id waits to be committed, or was dropped.

What Flink no longer lists, Waterline may have seen earlier (`Observation.remembered`).
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from bot.history.ancestry import ancestry_of
from bot.history.case import Case
from bot.history.counted import Counted
from bot.history.other_jobs import OtherJobs
from bot.history.rollbacks import gone_between, gone_since
from bot.history.starts import FROM_NOTHING, first_shown, is_its_own
from bot.observation.findings import LeakStanding
from bot.observation.flink import CLOCKS_DIFFER, JobRun, Restored, came_before, names_run
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, short, short_job
from bot.observation.looked import NotSeen
from bot.observation.paths import may_be_same
from bot.observation.sentences import counted
from bot.observation.table import Snapshot

_ON_MAIN = frozenset({LeakStanding.LEFT_OVER, LeakStanding.GIVEN_UP})
"""Of such manifests main has the rows, or they were read again."""


class Start(NamedTuple):
    """A start of a run under its job id, or a restore of it since, as Flink lists it or was once seen to."""

    at: datetime
    restored: Restored | None
    is_listed: bool


class Lineage:
    """The commits of the job on main, and what the living run has behind it."""

    def __init__(self, case: Case, living: JobRun) -> None:
        self.case, self.living = case, living
        self.table = case.observation.table
        self.other_jobs = OtherJobs(case)
        self._rows = Counted(case)

    @cached_property
    def own(self) -> Sequence[Snapshot]:
        """The job's commits on main that are listed, oldest first; those of a run that nobody knows are among them."""
        return tuple(commit for commit in self.table.of_flink if not self.other_jobs.has(commit))

    @cached_property
    def since(self) -> Sequence[Snapshot]:
        """Those that the living run surely made since it was started or restored last."""
        return tuple(s for s, is_before in self._mine if is_before is False)

    @property
    def is_untold(self) -> bool:
        """Whether clocks leave open of some commit on which side of the restore it lies."""
        return any(is_before is None for _, is_before in self._mine)

    @cached_property
    def _mine(self) -> Sequence[tuple[Snapshot, bool | None]]:
        """The living run's commits above its restore point, and whether each came before that restore."""
        run, point = self.living, self.living.restored
        mine = [s for s in self.own if s.job_id == run.job_id and s.checkpoint_id != DRAINED]
        if point is not None:
            return tuple((s, came_before(s, run)) for s in mine if (s.checkpoint_id or 0) > point.checkpoint_id)
        is_old = any(s.committed_at < run.started_at - CLOCKS_DIFFER for s in mine)
        return tuple((s, _is_older(s, run.started_at, is_old)) for s in mine)

    @cached_property
    def before(self) -> Snapshot | None:
        """The newest commit of the job with rows on main that is not one of `since`."""
        since = {s.snapshot_id for s in self.since}
        return next((s for s in reversed(self.own) if s.adds_rows and s.snapshot_id not in since), None)

    @property
    def lost(self) -> Iterator[Snapshot]:
        """Commits with rows that the living run made since then, and that main lost; oldest first."""
        run, point = self.living, self.living.restored
        began, floor = (point.at, point.checkpoint_id) if point is not None else (run.started_at, 0)
        for commit in self._rolled_back:
            is_own = commit.job_id == run.job_id and commit.adds_rows and (commit.checkpoint_id or 0) > floor
            if is_own and commit.committed_at >= began - CLOCKS_DIFFER:
                yield commit

    @property
    def is_only_run(self) -> bool:
        """Whether no other run of the job is known, nor a commit of the job from before the living one."""
        others = {run.job_id for run in self.case.runs} | {seen.job_id for seen in self.case.observation.remembered}
        return self.before is None and others <= {self.living.job_id}

    @cached_property
    def empty_start(self) -> tuple[JobId, Snapshot | None] | None:
        """The run that began without state, as far back as the living run's state goes, and the first commit on main
        since; None: it goes back to no such start, or to one from below the window."""
        line, since = ancestry_of(self.case, self.living.job_id), self.case.window.since
        if line.rest != FROM_NOTHING:
            return None
        began = line.segments[-1].since
        of_line = (s for s in self.own if any(each.is_by(s) for each in line.segments))
        first = next((s for s in of_line if began is None or s.committed_at >= began - CLOCKS_DIFFER), None)
        if (
            since is not None
            and first is not None
            and self.table.place_of(first.snapshot_id) <= self.table.place_of(since)
        ):
            return None
        return JobId(line.segments[-1].run), first

    @property
    def _rolled_back(self) -> Sequence[Snapshot]:
        return sorted(self.table.rolled_back, key=lambda commit: self.table.place_of(commit.snapshot_id))

    @property
    def whence(self) -> str:
        """What the living run began from, a clause."""
        point = self.living.restored
        if point is None:
            return "it is the table's first run"
        return f"restored from checkpoint {point.checkpoint_id}"

    def not_at_its_end(self, *, has_brought: bool) -> str | None:
        """What has to be known for the state from which the living run began to stand at `before`, a clause; None: it
        stands there. `has_brought`: whether it has brought rows since, which were counted."""
        run, point, end = self.living, self.living.restored, self.before
        me = f"run {short_job(run.job_id)}"
        if end is None:
            return self._nothing_before(me)
        if point is None:
            began = "without state" if run.restored_count == 0 else "from a point that Flink no longer shows"
            return f"where in the source {me} began: it started {began} after {short(end.snapshot_id)}"
        reached = end.checkpoint_id or CheckpointId(0)
        if reached == DRAINED:
            return f"whether the sink of {me} commits at all: {short(end.snapshot_id)} is of a drained run"
        line = (point, *self._points_before)
        held = next((p for p in line if end.job_id is not None and self._may_be_of(p, end.job_id)), None)
        if end.job_id is None or held is None:
            owner, where = f"run {short_job(end.job_id)}", point.path or f"checkpoint {point.checkpoint_id}"
            return f"whether {where}, from which {me} was restored, has what {owner} committed last"
        if not self._is_traced(held) and self._may_be_of_another_than(end, held):
            return f"from which run's checkpoint {held.checkpoint_id} {me} was restored: Flink shows no path"
        if reached > held.checkpoint_id:
            return (
                f"how far {me} has read again: its state goes back to checkpoint {held.checkpoint_id} of run "
                f"{short_job(end.job_id)}, and main has checkpoint {reached}"
            )
        for each in self._ends_of(end):
            told = self._another_life(end.job_id, held, each)
            told = told or next((left for p in line if (left := self._left_behind(p, each)) is not None), None)
            if (told := told or self._expired(held, each, has_brought)) is not None:
                return told
        return None

    @property
    def _points_before(self) -> Iterator[Restored]:
        """The restore points from which the runs began that the living run's goes back to, newest first."""
        _, *older = ancestry_of(self.case, self.living.job_id).segments
        return (each.point for each in older if each.is_first and each.point is not None)

    def _ends_of(self, end: Snapshot) -> Iterator[Snapshot]:
        """The newest commit with rows of each sink through which the run of `end` writes."""
        since, seen = {s.snapshot_id for s in self.since}, set[OperatorId | None]()
        for commit in reversed(self.own):
            is_of_it = commit.job_id == end.job_id and commit.adds_rows and commit.snapshot_id not in since
            if is_of_it and commit.operator_id not in seen:
                seen.add(commit.operator_id)
                yield commit

    def _nothing_before(self, me: str) -> str | None:
        """Main has no row of the job from before."""
        root = self.table.chain[-1] if self.table.chain else None
        if root is not None and root.has_commit_below:
            return f"where {me} began: older commits of the job have expired"
        if self.living.restored is None and self.living.restored_count == 0:
            return None
        return f"what the state of {me} has read: main has no commit of the job from before"

    def _is_traced(self, point: Restored) -> bool:
        """Whether it is known whose the restore point is: by its path, or because the run went back to its own."""
        return point.path is not None or is_its_own(point, self.living)

    def _may_be_of(self, point: Restored, run: JobId) -> bool:
        """Whether the restore point may be of that run; where nothing tells, it may be of any."""
        if point.path is not None:
            return names_run(point.path, run)
        return run == self.living.job_id or not is_its_own(point, self.living)

    def _may_be_of_another_than(self, end: Snapshot, point: Restored) -> bool:
        """Of a restore without a path: whether it may be of another run than that of `end`, or of the living one."""
        run = self.living
        above = {each.job_id for each in self.case.runs if _began_at(each) >= point.checkpoint_id}
        until = point.at + CLOCKS_DIFFER
        traces = {s.job_id for s in self.table.snapshots if s.committed_at <= until and not self.other_jobs.has(s)}
        traces |= {each.job_id for each in self.case.runs if each is not run and each.started_at <= until}
        traces -= above - {run.job_id}
        if end.job_id != run.job_id:
            own = (s.checkpoint_id or 0 for s in self.table.snapshots if s.job_id == run.job_id)
            if first_shown(run) is None or any(number <= point.checkpoint_id for number in own):
                return True
            traces -= {run.job_id}
        return bool(traces - {None, end.job_id})

    # ------------------------------------------------------------------ whether the state has exactly what main has

    def _another_life(self, writer: JobId, point: Restored, end: Snapshot) -> str | None:
        """Whether the point may be of another life of its run than `end`."""
        mine = (s for s in self.own if s.job_id == writer and s.operator_id == end.operator_id)
        ids = [s.checkpoint_id or 0 for s in mine if s.committed_at <= end.committed_at]
        who, edge = f"run {short_job(writer)}", end.committed_at + CLOCKS_DIFFER
        if any(later <= earlier for earlier, later in pairwise(ids)):
            return f"which start of {who} made checkpoint {point.checkpoint_id}: its ids on main do not rise"
        if any(
            self._is_lost_since(s, end) and (s.checkpoint_id or 0) <= point.checkpoint_id for s in self._rolled_back
        ):
            return f"which start of {who} made checkpoint {point.checkpoint_id}: main lost a later commit of that id"
        starts = tuple(self._starts(writer))
        of_others = [each for each in starts if writer != self.living.job_id and each.at > edge]
        reached = end.checkpoint_id or CheckpointId(0)
        if any(s.restored is None or s.restored.checkpoint_id < reached for s in of_others if s.is_listed):
            return f"which start of {who} made checkpoint {point.checkpoint_id}: it has started again since"
        is_known = any(each.at <= edge for each in starts)
        if end.checkpoint_id != point.checkpoint_id:
            if not is_known:
                return f"when {who} was started, which Flink does not list"
            return self._of_an_earlier_start(writer, point, max(each.at for each in starts if each.at <= edge))
        again = [c for r in self.case.runs if r.job_id == writer for c in r.checkpoints]
        again = [c for c in again if c.checkpoint_id == point.checkpoint_id and c.status == "COMPLETED"]
        if any(c.triggered_at > edge or not _may_be_at(c.path, point) for c in again):
            return f"which checkpoint {point.checkpoint_id} of {who} it was restored from: it was completed twice"
        stored = [s for s in self.case.observation.checkpoints.values if point.path and _may_be_at(s.path, point)]
        if any(each.written_at > edge for each in stored):
            return f"what {point.path} has read: it is newer than {short(end.snapshot_id)}, which carries its id"
        if not (is_known or stored or again) and self._has_room(point, end):
            return f"when {who} was started, or when checkpoint {point.checkpoint_id} of it was written"
        return None

    def _is_lost_since(self, commit: Snapshot, end: Snapshot) -> bool:
        is_of_it = (commit.job_id, commit.operator_id) == (end.job_id, end.operator_id)
        return is_of_it and self.table.place_of(commit.snapshot_id) > self.table.place_of(end.snapshot_id)

    def _of_an_earlier_start(self, writer: JobId, point: Restored, began: datetime) -> str | None:
        """Whether the point may be from before that start of its run, though `end` is from after it."""
        if not any(s.job_id == writer and s.committed_at < began - CLOCKS_DIFFER for s in self.table.snapshots):
            return None
        done = (c for r in self.case.runs if r.job_id == writer for c in r.checkpoints if c.status == "COMPLETED")
        if any(c.checkpoint_id == point.checkpoint_id and c.triggered_at >= began for c in done):
            return None
        stored = (s for s in self.case.observation.checkpoints.values if point.path and _may_be_at(s.path, point))
        if any(each.written_at >= began for each in stored):
            return None
        return f"which start of run {short_job(writer)} made checkpoint {point.checkpoint_id}"

    def _starts(self, writer: JobId) -> Iterator[Start]:
        for run in self.case.runs:
            if run.job_id == writer:
                yield Start(run.started_at, run.restored, is_listed=True)
                if run.restored is not None and run.restored.at > run.started_at:
                    yield Start(run.restored.at, run.restored, is_listed=True)
        for seen in self.case.observation.remembered:
            if seen.job_id == writer:
                yield Start(seen.started_at, seen.restored, is_listed=False)

    def _has_room(self, point: Restored, end: Snapshot) -> bool:
        """Whether a run that was started anew after `end` could have counted up to the point's id before the living run
        was restored from there."""
        every_s = (self.living.checkpoint_interval_ms or 0) / 1_000
        return (point.at - end.committed_at).total_seconds() >= point.checkpoint_id * every_s

    def _left_behind(self, point: Restored, end: Snapshot) -> str | None:
        """Rows of the state that main does not have: rolled back, or in a manifest that nothing has committed. One with
        the id of a commit may be of another life of its run; a lost commit of a later checkpoint may hold rows of the
        state as well, for the V1 sink commits several checkpoints at once."""
        reached = end.checkpoint_id or CheckpointId(0)
        for lost in self._rolled_back:
            number = lost.checkpoint_id or 0
            is_of_it = (lost.job_id, lost.operator_id) == (end.job_id, end.operator_id)
            if is_of_it and number > reached and point.checkpoint_id > reached and lost.adds_rows:
                return f"whether the rows of {short(lost.snapshot_id)} are read again: the state has read them"
        listing = self.case.observation.flink_manifests
        if isinstance(listing, NotSeen):
            return f"{listing.source}: {listing.reason} {listing.remedy}"
        for manifest in sorted(listing.values, key=lambda each: each.path):
            is_of_state = self._may_be_of(point, manifest.job_id) and manifest.checkpoint_id <= point.checkpoint_id
            if is_of_state and not self._is_there(manifest.path):
                name = manifest.path.rsplit("/", 1)[-1]
                return f"whether main has the rows of Flink manifest {name}, which the state has read"
        return None

    def _is_there(self, path: str) -> bool:
        """Whether evidence tells of the manifest that its rows are on main, or were read again: `leaked_manifests`
        does, or no position is missing up to where main has come, and that lies above it."""
        leaks = self.case.leaked.manifests if self.case.leaked is not None else ()
        leak = next((leak for leak in leaks if leak.path == path), None)
        if leak is None:
            return False
        is_whole = self.case.gaps is not None and not self.case.gaps.missing and self._rows.answers("missing_positions")
        return leak.is_empty or leak.standing in _ON_MAIN or (is_whole and self._rows.has_come_to(leak))

    def _expired(self, point: Restored, end: Snapshot, has_brought: bool) -> str | None:
        """Commits of the state, or of the living run, that main may have lost and that have expired since."""
        is_new = self._is_traced(point) and not (self.living.completed_count or self.living.checkpoints)
        if end.checkpoint_id == point.checkpoint_id and (is_new or has_brought):
            return None
        if gone := gone_since(end, self.table):
            return f"what {counted(gone, 'snapshot')} newer than {short(end.snapshot_id)} had: all that has expired"
        line = (end, *self._empty_after(end, point))
        reached_by = (*(commit.checkpoint_id or 0 for commit in line[1:]), point.checkpoint_id)
        for commit, until in zip(line, reached_by, strict=True):
            told = gone_between(commit, until, self.table, self.case.observation.jobs)
            if told is not None:
                return f"whether commits are gone: {told.rstrip('.')}"
        return None

    def _empty_after(self, end: Snapshot, point: Restored) -> Iterator[Snapshot]:
        """Commits of the same run and sink that main lists above `end`, up to the point's id: an idle job makes
        some."""
        place, number = self.table.place_of(end.snapshot_id), end.checkpoint_id or CheckpointId(0)
        for commit in self.own:
            is_of_it = (commit.job_id, commit.operator_id) == (end.job_id, end.operator_id)
            is_between = number < (commit.checkpoint_id or 0) <= point.checkpoint_id
            if is_of_it and is_between and self.table.place_of(commit.snapshot_id) > place:
                yield commit


def _began_at(run: JobRun) -> int:
    """The checkpoint that the run began from, where Flink shows that restore; else below all."""
    shown = first_shown(run)
    return shown.checkpoint_id if shown is not None else -1


def _may_be_at(path: str | None, point: Restored) -> bool:
    """Whether the restore point may be that one, or a copy of that savepoint, whose folder's name is its own."""
    if path is None or point.path is None:
        return True
    one, other = (each.rstrip("/").removesuffix("/_metadata") for each in (path, point.path))
    names = {each.rsplit("/", 1)[-1] for each in (one, other)}
    return may_be_same(one, other) or (len(names) == 1 and next(iter(names)).startswith("savepoint-"))


def _is_older(commit: Snapshot, started: datetime, is_old: bool) -> bool | None:
    """Whether it is older than that start; None: its job id had commits before, and the clocks differ."""
    if abs(commit.committed_at - started) < CLOCKS_DIFFER and is_old:
        return None
    return commit.committed_at < started - CLOCKS_DIFFER
