"""Restores that go back: runs whose state does not have what main had of the job, so that they read it again.

The pairing behind it: a restore of checkpoint M is exactly-once only if the newest commit of the run that wrote M is M
itself (facts 0.1). A start without state is none of them (F4, F15), nor is one above a drained commit (F5).
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from bot.history.ancestry import Ancestry, ancestry_of
from bot.history.case import Case, once_a_case
from bot.history.empty_starts import switches
from bot.history.other_jobs import OtherJobs
from bot.history.other_writers import brings_nothing
from bot.history.starts import FROM_NOTHING, Rewind
from bot.observation.flink import CLOCKS_DIFFER, JobRun, came_before
from bot.observation.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.table import Snapshot


@once_a_case
def rewinds_of(case: Case) -> tuple[Rewind, ...]:
    """Every one that main or Flink shows, oldest first, silent ones last."""
    job = _Job(case)
    found = [rewind for run in sorted(case.runs, key=lambda run: run.started_at) for rewind in job.of_run(run)]
    found += job.of_unlisted()
    place = {s.snapshot_id: index for index, s in enumerate(reversed(case.observation.table.chain))}
    return tuple(sorted(found, key=lambda r: place[r.first] if r.first else len(place)))


class _Job:
    """The commits of the job on main, and its runs."""

    def __init__(self, case: Case) -> None:
        self.case, self.table = case, case.observation.table
        other_jobs = OtherJobs(case)
        self.commits = [s for s in self.table.of_flink if not other_jobs.has(s)]
        self.listed = {run.job_id for run in case.runs}

    def of_run(self, run: JobRun) -> Iterator[Rewind]:
        """By the state that it had when it committed first, and by what Flink shows of it now."""
        mine = [s for s in self.commits if s.job_id == run.job_id]
        is_told = run.restored is not None or run.restored_count > 0
        if mine and (is_told or mine[0].committed_at >= run.started_at):
            line = ancestry_of(self.case, run.job_id, mine[0].committed_at)
            if (found := self._at(run.job_id, line, mine[0], self.commits[: self.commits.index(mine[0])])) is not None:
                yield found
        if run.restored is None or (not mine and run.is_terminal):
            return
        since, line = run.restored.at, ancestry_of(self.case, run.job_id)
        first = next((s for s in mine if came_before(s, run) is False), None)
        if first is not None and first is mine[0]:
            return
        if mine:
            before = [s for s in mine if came_before(s, run)]
        else:
            before = [s for s in self.commits if s.committed_at <= since + CLOCKS_DIFFER]
        if (found := self._at(run.job_id, line, first, before)) is not None:
            yield found

    @cached_property
    def _own(self) -> frozenset[JobId | None]:
        """The runs that are known to be the job's: Flink lists them, or one of these goes back to them."""
        lines = [ancestry_of(self.case, run.job_id) for run in self.case.runs]
        told = {s.job_id for s in self.commits for line in lines if any(each.is_by(s) for each in line.segments)}
        return frozenset(self.listed | told)

    def _at(self, run: JobId, line: Ancestry, first: Snapshot | None, before: Sequence[Snapshot]) -> Rewind | None:
        """Certain where a run that is known to be the job's says so, or all say so from which the run may have gone on;
        where they do not agree, it depends on the newest that Flink does not list; also where the run went back to a
        point of its own, and its commits may have expired."""
        before = [s for s in before if s.job_id in self._own or s.operator_id in self._sinks or not self._sinks]
        own = _ends([s for s in before if s.job_id in self._own], first)
        mine = [rewind for each in own if (rewind := self._above(run, line, first, each, before)) is not None]
        if mine:
            return next((each for each in mine if not each.is_interleaved), mine[0])
        others = [each for each in _ends(before, first, self._since(line, first)) if each.job_id not in self._own]
        found = [self._above(run, line, first, each, before) for each in others]
        theirs = [each for each in found if each is not None]
        told = next((each for each in theirs if not each.is_interleaved), theirs[0] if theirs else None)
        began = line.segments[0]
        was_set_back = began.point is not None and not began.is_first and self.table.chain[-1].has_commit_below
        if told is None or (not own and None not in found and not was_set_back):
            return told
        return told.model_copy(update={"only_if_of_job": others[0].job_id})

    @cached_property
    def _sinks(self) -> frozenset[OperatorId | None]:
        """Under which operator ids these commit, or would; empty where one of their commits names none."""
        graphs = {vertex.vertex_id for run in self.case.runs for vertex in run.vertices}
        told = {s.operator_id for s in self.commits if s.job_id in self._own or s.operator_id in graphs}
        return frozenset(told | {None}) if told and None not in told else frozenset()

    def _above(
        self, run: JobId, line: Ancestry, first: Snapshot | None, newest: Snapshot, before: Sequence[Snapshot]
    ) -> Rewind | None:
        """Whether the run, whose state is told by `line`, reads again what `newest` brought; `first`: its first commit
        since. Ids rise along what a job reads: where they fall, its state does not have the higher one."""
        began, reached = line.segments[0], newest.checkpoint_id
        if reached in (None, DRAINED) or newest.job_id is None:
            return None
        if line.rest == FROM_NOTHING and (len(line.segments) == 1 or _began_after(line, newest)):
            return None  # its source began by its own settings since
        falls = newest.job_id != run and first is not None and 1 < (first.checkpoint_id or 0) <= reached
        has = line.has(newest, reached)
        if has or (has is None and not falls and newest.job_id != run) or (began.above >= reached and not falls):
            return None
        if len(line.segments) > 1 and (since := line.segments[1].since) is not None and newest.committed_at < since:
            return None  # the run before has read it again
        theirs = (s for s in before if s.job_id == newest.job_id and not line.has(s, s.checkpoint_id or 0))
        if all(brings_nothing(self.table, s) for s in theirs):
            return None
        limit = began.above or (first.checkpoint_id or 1) - 1 if first is not None else began.above
        held = [s for s in before if line.has(s, s.checkpoint_id or 0)]
        held = held or [s for s in before if s.job_id == newest.job_id and (s.checkpoint_id or 0) <= limit]
        return Rewind(
            run=run,
            earlier=newest.job_id,
            restored=CheckpointId(began.above) if began.above else None,
            reached=reached,
            first=first.snapshot_id if first is not None else None,
            last_before=self._last_before(line, first),
            fork=held[-1].snapshot_id if held else None,
            is_interleaved=newest.job_id != run and newest.job_id in self._since(line, first),
        )

    def _last_before(self, line: Ancestry, first: Snapshot | None) -> SnapshotId:
        """Main's newest before the run, or a run that took over from it, brought anything; the head where none has."""
        since = line.segments[0].since
        later = (s for s in self.commits if since is not None and s.committed_at > since + CLOCKS_DIFFER)
        brought = first or next(later, None)
        assert self.table.head is not None, "there are commits on main"
        return self.table.head if brought is None else brought.parent_id or brought.snapshot_id

    def _since(self, line: Ancestry, first: Snapshot | None) -> frozenset[JobId | None]:
        """The runs that have committed since that one began."""
        since = line.segments[0].since
        at = first.committed_at if first is not None else since + CLOCKS_DIFFER if since is not None else None
        return frozenset(s.job_id for s in self.commits if at is not None and s.committed_at > at)

    def of_unlisted(self) -> Iterator[Rewind]:
        """Runs that Flink does not list, whose ids fall."""
        for each in switches(self.table):
            own = [place for place, s in enumerate(self.commits) if s.job_id == each.run]
            if each.run in self.listed or each.first_checkpoint == 1 or not own:
                continue
            first, before = self.commits[own[0]], self.commits[: own[0]]
            ends = [s for s in _ends(before, first) if _may_be_one(s, first) and s.checkpoint_id != DRAINED]
            above = [s for s in ends if each.first_checkpoint <= (s.checkpoint_id or 0)]
            if not above:
                continue
            newest = above[0]
            held = [s for s in before if (s.checkpoint_id or 0) < each.first_checkpoint]
            held = [s for s in held if s.job_id == newest.job_id] or held
            yield Rewind(
                run=each.run,
                earlier=newest.job_id or each.earlier,
                restored=None,
                reached=newest.checkpoint_id or each.reached,
                first=each.first,
                last_before=first.parent_id or each.first,
                fork=held[-1].snapshot_id if held else None,
                is_interleaved=any(s.job_id == newest.job_id for s in self.commits[own[0] : own[-1]]),
                only_if_of_job=None if len(above) == len(ends) else ends[0].job_id,
            )


def _ends(
    before: Sequence[Snapshot], first: Snapshot | None, beside: frozenset[JobId | None] = frozenset()
) -> Sequence[Snapshot]:
    """The newest commit of each run, newest first, from which no other has taken over: by the same sink, after its
    last, and not one of `beside`. With the newest of all only those by the sink of `first`."""
    spans: dict[JobId | None, tuple[int, int]] = {}
    for place, s in enumerate(before):
        spans[s.job_id] = (spans.get(s.job_id, (place, place))[0], place)
    lasts = sorted((last for _, last in spans.values()), reverse=True)
    begun = [(begins, before[begins]) for job, (begins, _) in spans.items() if job not in beside]
    open_ends = [
        before[last]
        for last in lasts
        if not any(begins > last and _may_be_one(other, before[last]) for begins, other in begun)
    ]
    return [s for s in open_ends if s is open_ends[0] or first is None or _may_be_one(s, first)]


def _may_be_one(one: Snapshot, other: Snapshot) -> bool:
    """Whether the same sink may have made both: an old commit names none."""
    return None in (one.operator_id, other.operator_id) or one.operator_id == other.operator_id


def _began_after(line: Ancestry, commit: Snapshot) -> bool:
    """Whether the state goes back to a start without state that came after the commit."""
    since = line.segments[-1].since
    return since is not None and since > commit.committed_at
