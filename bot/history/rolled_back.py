"""What became of the rows that main lost by a rollback: the job's state has them behind it, or reads them again.

A run whose state has them behind it never brings them again, and what it commits next leaves a hole (facts 0.2). One
that was restored since from below them reads them again. Where Flink does not know the run that went on, the ids that
it commits tell: they rise along what a job reads.
"""

from collections.abc import Sequence
from enum import StrEnum
from functools import cached_property
from typing import NamedTuple

from bot.history.ancestry import Ancestry, ancestry_of
from bot.history.case import Case, once_a_case
from bot.history.other_jobs import OtherJobs
from bot.history.other_writers import brings_nothing
from bot.history.rollbacks import Rollback, rollbacks
from bot.history.without_ids import who_went_on
from bot.observation.flink import CLOCKS_DIFFER, V1_COMMITTER, JobRun
from bot.observation.ids import DRAINED, JobId, SnapshotId
from bot.observation.table import Snapshot


class Outcome(StrEnum):
    """What became of them."""

    HELD = "held"
    """The state of a run of the job has them behind it."""
    READ_AGAIN = "read again"
    """A run of the job was restored since from below them."""
    UNTOLD = "untold"
    """A run of the job goes on, or may, and nothing tells which of the two it is."""
    NOBODY = "nobody"
    """No run of the job goes on from there."""
    NO_ROWS = "no rows"
    """Main lost no row of the job."""


class KnownOutcome(NamedTuple):
    """An outcome, and who tells it."""

    outcome: Outcome
    run: JobId | None = None
    commit: Snapshot | None = None
    """Its first above the target; None: it has committed none since."""


class RolledBack:
    """One rollback, and what the job did since."""

    def __init__(self, case: Case, rollback: Rollback, but: frozenset[JobId | None] = frozenset()) -> None:
        """`but`: what these runs lost, and what they committed since, is left out."""
        self.case, self.rollback, self.table, self.at = case, rollback, case.observation.table, rollback.at
        self._other_jobs, self._but = OtherJobs(case), but
        self.lost = [each for each in self._lost() if each[0].job_id not in but]

    def _lost(self) -> Sequence[tuple[Snapshot, int]]:
        """The job's commits that main lost, and which change rows, with their checkpoint ids, oldest first. What a
        drain leaves came right after the newest of its run."""
        newest: dict[JobId | None, int] = {}
        told = []
        for commit in (self.table.by_id[each] for each in self.rollback.left):
            if commit.checkpoint_id is None or self._other_jobs.has(commit):
                continue
            number = commit.checkpoint_id if commit.checkpoint_id < DRAINED else newest.get(commit.job_id, 0) + 1
            newest[commit.job_id] = max(number, newest.get(commit.job_id, 0))
            if not brings_nothing(self.table, commit):
                told.append((commit, number))
        return told

    @cached_property
    def told(self) -> KnownOutcome:
        """By the first run that went on above the target, or else by those that are alive. Ids of a run that Flink does
        not list settle nothing after one of which nothing tells. One that lost some itself and repeats them settles no
        more than these. A run that read its own rows again settles nothing of those of others; and one that read them
        again settles it only until one is restored from the state that has them behind it."""
        if not self.lost:
            return KnownOutcome(Outcome.NO_ROWS)
        untold = None
        for commit in self._firsts:
            told = self._of_commit(commit)
            if told.outcome is Outcome.HELD:
                return told if untold is None or self._lost_some(told.run) else untold
            if told.outcome is Outcome.READ_AGAIN and (untold is None or self._is_listed(commit.job_id)):
                of_others = sum(lost.job_id != commit.job_id for lost, _ in self.lost)
                if of_others in (0, len(self.lost)):
                    return self._restored_later(commit) or told
                return RolledBack(self.case, self.rollback, self._but | {commit.job_id}).told
            untold = untold or (told if told.outcome is Outcome.UNTOLD else None)
        living = [self._of_run(run, None) for run in self._open_runs]
        order = (Outcome.HELD, Outcome.UNTOLD, Outcome.READ_AGAIN)
        best = next((each for kind in order for each in living if each.outcome is kind), KnownOutcome(Outcome.NOBODY))
        is_sure = best.outcome is Outcome.READ_AGAIN or (best.outcome is Outcome.HELD and self._lost_some(best.run))
        return best if untold is None or is_sure else untold

    # ------------------------------------------------------------------ who went on

    @cached_property
    def _kept(self) -> frozenset[SnapshotId]:
        """The target and what lies below it."""
        return frozenset(s.snapshot_id for s in self.table.ancestors(self.rollback.target))

    @cached_property
    def _above(self) -> Sequence[Snapshot]:
        """The job's commits on main above the target, oldest first."""
        return [s for s in self.table.of_flink if s.snapshot_id not in self._kept and not self._other_jobs.has(s)]

    @cached_property
    def _is_beside_unlisted(self) -> bool:
        """Whether a run has committed since that Flink lists under no name, while none that it lists lived: another
        job's, or the job's own under another uid, which led to where a run began of which only ids tell."""
        known = {run.job_id for run in self.case.observation.jobs.values} | {lost.job_id for lost, _ in self.lost}
        known |= self._but
        above = (s for s in self.table.of_flink if s.snapshot_id not in self._kept and s.job_id not in known)
        return any(not self._is_lived_through(s) for s in above)

    @cached_property
    def _firsts(self) -> Sequence[Snapshot]:
        """The first of each run, but of those that Flink does not list and which committed by another sink, or while
        one lived that it does: they are another job's, whatever the uid of their sink."""
        first: dict[JobId | None, Snapshot] = {}
        for commit in self._above:
            if commit.job_id not in self._but:
                first.setdefault(commit.job_id, commit)
        known = {run.job_id for run in self.case.runs}
        return [s for s in first.values() if s.job_id in known or (self._is_theirs(s) and not self._is_beside(s))]

    def _is_theirs(self, commit: Snapshot) -> bool:
        """Whether a run or a sink made it that made what main lost: only their ids can be compared."""
        runs, sinks = zip(*((s.job_id, s.operator_id) for s, _ in self.lost), strict=True)
        return commit.job_id in runs or None in (commit.operator_id, *sinks) or commit.operator_id in sinks

    def _is_beside(self, commit: Snapshot) -> bool:
        """Whether a run made it that lost nothing, while one of the job's lived."""
        return not self._lost_some(commit.job_id) and self._is_lived_through(commit)

    @cached_property
    def _below(self) -> Sequence[Snapshot]:
        """The job's commits at or below the target, newest first."""
        below = (s for s in self.table.ancestors(self.rollback.target) if s.checkpoint_id is not None)
        return [s for s in below if s.job_id is not None and not self._other_jobs.has(s)]

    @cached_property
    def _reached(self) -> int:
        """The id of the job's newest commit at or below the target."""
        ids = (s.checkpoint_id or 0 for s in self._below if self._is_theirs(s))
        return next((each for each in ids if each < DRAINED), 0)

    @property
    def _open_runs(self) -> Sequence[JobRun]:
        """Those that are alive; where none is, the newest, if main went back under it: a restart from its newest
        checkpoint goes on from there. One that was stopped first is as a rewind asks for."""
        alive = [run for run in self.case.runs if not run.is_terminal]
        last = max(self.case.runs, key=lambda run: run.started_at, default=None)
        if alive or last is None or last.ended_at is None or self.at is None:
            return alive
        until = last.ended_at + CLOCKS_DIFFER if last.state == "FAILED" else last.ended_at - CLOCKS_DIFFER
        return [last] if last.started_at <= self.at < until else []

    def _is_listed(self, run: JobId | None) -> bool:
        return any(each.job_id == run for each in self.case.runs)

    def _lost_some(self, run: JobId | None) -> bool:
        return any(commit.job_id == run for commit, _ in self.lost)

    # ------------------------------------------------------------------ what it says

    def _of_commit(self, commit: Snapshot) -> KnownOutcome:
        run = next((run for run in self.case.runs if run.job_id == commit.job_id), None)
        if run is not None and commit.committed_at >= run.started_at - CLOCKS_DIFFER:
            return self._of_run(run, commit)
        return self._of_ids(commit)

    def _of_run(self, run: JobRun, commit: Snapshot | None) -> KnownOutcome:
        at = commit.committed_at if commit is not None else None
        line = ancestry_of(self.case, run.job_id, at)
        held = self._holds(line)
        if held is None and commit is not None and not line.is_known:
            return self._of_ids(commit)
        if held and self._is_beside_unlisted and not self._holds(line, surely=True):
            held = None
        if held or (held is False and self._has_passed_over(run)):
            return KnownOutcome(Outcome.HELD, run.job_id, commit)
        if held is None:
            return KnownOutcome(Outcome.UNTOLD, run.job_id, commit)
        since = line.segments[0].since
        if since is None or any(s.committed_at >= since for s, _ in self.lost):
            return KnownOutcome(Outcome.NOBODY, run.job_id, commit)
        return KnownOutcome(
            Outcome.READ_AGAIN if self._leads_through_target(line) else Outcome.UNTOLD, run.job_id, commit
        )

    def _leads_through_target(self, line: Ancestry) -> bool:
        """Whether the state has what main has of the job at the target, so that its source goes on from there, or from
        below. Where one begins that was started without state is its own."""
        return any(line.has(s, s.checkpoint_id or 0) for s in self._below)

    def _holds(self, line: Ancestry, *, surely: bool = False) -> bool | None:
        """`surely`: by the runs that it led through, and not by ids alone."""
        answer: bool | None = False
        for commit, number in self.lost:
            told = line._replace(rest=None) if surely else line
            one = told.has(commit, number, is_twice=self._came_twice(commit, number), reached=self._reached)
            if one:
                return True
            answer = None if one is None else answer
        return answer

    def _came_twice(self, commit: Snapshot, number: int) -> bool:
        """Whether main has an id of the commit's run that does not rise to this one, or from it."""
        ids = [
            (s.checkpoint_id or 0, s.snapshot_id in self._kept)
            for s in (*self._below, *self._above)
            if s.job_id == commit.job_id
        ]
        return any(known >= number if is_below else known <= number for known, is_below in ids)

    def _of_ids(self, commit: Snapshot) -> KnownOutcome:
        """Of a run that Flink does not know, or not any more."""
        own = [number for lost, number in self.lost if lost.job_id == commit.job_id]
        others = [number for lost, number in self.lost if lost.job_id != commit.job_id and number > self._reached]
        number = commit.checkpoint_id or 0
        restarts = max((run.restored_count for run in self.case.runs if run.job_id == commit.job_id), default=0)
        if own and number > max(own) and restarts > 1:
            return KnownOutcome(Outcome.UNTOLD, commit.job_id, commit)
        if own and number > max(own):
            return KnownOutcome(Outcome.HELD, commit.job_id, commit)
        is_again = not any(each < number for each in own or others)
        return KnownOutcome(Outcome.READ_AGAIN if is_again else Outcome.UNTOLD, commit.job_id, commit)

    def _is_lived_through(self, commit: Snapshot) -> bool:
        """Whether a run that Flink lists lived when the commit was made, whatever the clocks differ by."""
        at = commit.committed_at
        lives = ((r.started_at, r.ended_at) for r in self.case.runs if r.ended_at is not None or not r.is_terminal)
        return any(began + CLOCKS_DIFFER <= at and (end is None or at <= end - CLOCKS_DIFFER) for began, end in lives)

    def _has_passed_over(self, run: JobRun) -> bool:
        """Whether the run, restored below its own lost commits, had completed checkpoints up to them before main went
        back: the sink took them for committed, and brings their rows no more (F3). The V1 sink keeps them until its ids
        have passed what it found on main."""
        if run.restored is None or self.at is None or any(V1_COMMITTER in vertex.name for vertex in run.vertices):
            return False
        last = max((number for s, number in self.lost if s.job_id == run.job_id), default=0)
        done = (c for c in run.checkpoints if c.status == "COMPLETED" and c.triggered_at < self.at - CLOCKS_DIFFER)
        return any(
            run.restored.at <= c.triggered_at and run.restored.checkpoint_id < c.checkpoint_id <= last for c in done
        )

    def _restored_later(self, after: Snapshot) -> KnownOutcome | None:
        """Of the first run that was restored after that commit, which had read the rows again, and whose state has them
        behind it; None: there is none. Where Flink does not list the run of that commit, ids alone say that it had, and
        no more than doubt is said by ids against it."""
        is_listed = self._is_listed(after.job_id)
        for run in sorted(self.case.runs, key=lambda run: run.started_at):
            point, line = run.restored, ancestry_of(self.case, run.job_id)
            if point is None or not self._holds(line, surely=is_listed):
                continue
            if not is_listed and not self._holds(line, surely=True):
                return KnownOutcome(Outcome.UNTOLD, run.job_id)
            commit = next((s for s in self._above if s.job_id == run.job_id and s.committed_at > point.at), None)
            if point.at <= after.committed_at or (commit is None and run.is_terminal):
                continue
            ids = (s.checkpoint_id or 0 for s in self._above if s.committed_at <= point.at)
            is_beyond = point.checkpoint_id > max((each for each in ids if each < DRAINED), default=0)
            return KnownOutcome(Outcome.HELD if is_beyond else Outcome.UNTOLD, run.job_id, commit)
        return None


@once_a_case
def rollbacks_of(case: Case) -> tuple[tuple[Rollback, KnownOutcome], ...]:
    """Each rollback of the window, by rising target, and what became of the rows that main lost there."""
    table = case.observation.table
    found = (each for each in rollbacks(table) if each.is_within(case.window, table))
    return tuple((each, _by_time(case, each) or RolledBack(case, each).told) for each in found)


def _by_time(case: Case, rollback: Rollback) -> KnownOutcome | None:
    """Of a job whose commits carry no ids; None: it is not known, or they do."""
    found = who_went_on(case, rollback)
    return KnownOutcome(Outcome.HELD, found[0].job_id, found[1]) if found is not None else None
