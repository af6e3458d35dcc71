"""Which of Flink's commits on main are the job's own, and which another Flink job's on the same table.

Runs of another job are related to the job's own where they began from the same state: both read the same source from
there on. Alive beside each other they are a fork, whatever the two jobs are called.
"""

import re
from collections import Counter
from collections.abc import Sequence
from functools import cached_property

from bot.history.case import Case, once_a_case
from bot.history.starts import flink_commits
from bot.observation.contract import TableContract
from bot.observation.evidence import Observation
from bot.observation.flink import JobRun, StoredCheckpoint, names_run
from bot.observation.ids import JobId, OperatorId
from bot.observation.looked import NotSeen, Seen
from bot.observation.paths import may_be_same
from bot.observation.table import Snapshot, TableState, Window

_WROTE = re.compile(r"/(?P<checkpoint>[0-9a-f]{32})/chk-\d+/?$|/savepoint-(?P<savepoint>[0-9a-f]{6})-[0-9a-f]+/?$")
"""What the path of a restore point tells of the run that wrote it: its id, or the first six digits of it."""


def related_runs(jobs: Seen[JobRun] | NotSeen, others: Seen[JobRun] | NotSeen | None) -> tuple[JobRun, ...]:
    """The runs among `others` that were restored from a point of one of `jobs`, from the same point, or from one of the
    same earlier run; and those from whose points one of `jobs` was restored. In their order; empty where either could
    not be seen. A run that Flink has restarted since names its own checkpoint, and tells of no relation any more."""
    if others is None:
        return ()
    return tuple(run for run in others.values if any(_are_kin(run, own) for own in jobs.values))


def began_from(run: JobRun) -> str | None:
    """The path of the restore point with which the run began; None where Flink does not name it, or names by now a
    checkpoint that the run took itself."""
    path = run.restored.path if run.restored is not None else None
    return None if path is None or _is_of(path, run.job_id) else path


def went_on_from(run: JobRun, job_id: JobId) -> bool:
    """Whether the run began from a point of the run with this id, as far as Flink shows it."""
    return _is_of(began_from(run), job_id)


def writer_of(path: str | None) -> str | None:
    """The first six digits of the run that wrote this restore point; None where the path does not tell."""
    found = _WROTE.search(path) if path is not None else None
    digits = (found["checkpoint"] or found["savepoint"])[:6] if found is not None else ""
    return digits if digits and _is_one_runs(digits) else None


def _are_kin(run: JobRun, own: JobRun) -> bool:
    if went_on_from(run, own.job_id) or went_on_from(own, run.job_id):
        return True
    one, other = began_from(run), began_from(own)
    if one is None or other is None:
        return False
    return may_be_same(one, other) or (writer_of(one) is not None and writer_of(one) == writer_of(other))


def _is_of(path: str | None, job_id: JobId) -> bool:
    return _is_one_runs(job_id) and names_run(path, job_id)


def _is_one_runs(digits: str) -> bool:
    """Whether a job id is one run's alone, by its first digits: of a cluster for one job it may be all zeros, or made
    of the cluster's name with zeros or `f` before it, and then each start of any such job has it (F14)."""
    return not digits.startswith(("000000", "ffffff"))


BESIDE = 3
"""So many commits of the job after a run's first one show that they ran beside each other: in a hand-over that went
wrong it is one or two."""


class OtherJobs:
    """Which commits are another job's in this case; what tells it is read once for all commits."""

    def __init__(self, case: Case) -> None:
        self._case = case
        self.own: frozenset[JobId] = frozenset(run.job_id for run in case.runs)
        """The runs that Flink lists under the job's name."""

    def has(self, snapshot: Snapshot) -> bool:
        """Whether the commit is known to be another job's: Flink lists its run under another name, or lists it nowhere
        and it committed by another sink while a run of the job was there already. A related job's is not."""
        if snapshot.job_id is None or snapshot.job_id in self.own or snapshot.job_id in self.related_runs:
            return False
        if snapshot.job_id in self.of_other_jobs:
            return True
        if not self._sinks or None in (snapshot.operator_id, *self._sinks) or snapshot.operator_id in self._sinks:
            return False
        return any(run.started_at <= snapshot.committed_at for run in self._case.runs)

    @cached_property
    def is_untold(self) -> bool:
        """Whether two jobs write the table, and which of them is this one is not known: Flink was asked, and lists no
        run of it."""
        if self.own or isinstance(self._case.observation.jobs, NotSeen):
            return False
        commits = flink_commits(self._case.observation.table)
        sinks = {s.operator_id for s in commits if s.operator_id is not None and not self.has_run(s.job_id)}
        return any(self._surrounded_by(frozenset({each})) - self._runs for each in sinks)

    def has_run(self, run: JobId | None) -> bool:
        """Whether nothing may be started from what the run has left: one of its commits is known to be another job's,
        or lies between two of one run by the job's sink, or its job is declared to be another. A related job's may."""
        return run not in self.own and run in self._runs

    @cached_property
    def of_other_jobs(self) -> frozenset[JobId]:
        """The runs that Flink lists under another name, as far as they go on or wrote beside the job: after a
        blue/green deployment the other one is the job, whatever the configuration still says."""
        seen = self._case.observation
        declared = self.beside & {run.job_id for run in (seen.others.values if seen.others is not None else ())}
        undeclared = {run.job_id for run in seen.undeclared if not run.is_terminal or run.job_id in self._between}
        return (declared | undeclared) - self.own - self.related_runs

    @cached_property
    def alive(self) -> frozenset[JobId]:
        """The runs of other jobs that go on: none of the job took over from them."""
        return self.of_other_jobs & {run.job_id for run in self._case.observation.undeclared if not run.is_terminal}

    @cached_property
    def beside(self) -> frozenset[JobId]:
        """The runs after whose first commit on main the job has gone on committing."""
        found, mine = set[JobId](), 0
        for snapshot in reversed(flink_commits(self._case.observation.table)):
            if snapshot.is_repair:
                continue
            if snapshot.job_id in self.own:
                mine += 1
            elif snapshot.job_id is not None and mine >= BESIDE:
                found.add(snapshot.job_id)
        return frozenset(found)

    @cached_property
    def _between(self) -> frozenset[JobId]:
        """The runs with a commit between two of one run of the job. One that wrote before that run did may have handed
        over to it, and needs as many as in a hand-over that went wrong there are not."""
        commits, spans = flink_commits(self._case.observation.table), dict[JobId, tuple[int, int]]()
        for place, s in enumerate(commits):
            if s.job_id is not None and not s.is_repair:
                spans[s.job_id] = (spans.get(s.job_id, (place, place))[0], place)
        found = set[JobId]()
        for first, last in (spans[run] for run in self.own & spans.keys()):
            inside = Counter(s.job_id for s in commits[first + 1 : last] if s.job_id is not None and not s.is_repair)
            found |= {run for run, times in inside.items() if spans[run][0] > first or times >= BESIDE}
        return frozenset(found)

    @cached_property
    def related_runs(self) -> frozenset[JobId]:
        """The runs of other jobs that began from the job's state, or the job from theirs."""
        seen = self._case.observation
        undeclared = Seen[JobRun](source="Flink", values=seen.undeclared)
        near = (*related_runs(seen.jobs, seen.others), *related_runs(seen.jobs, undeclared))
        return frozenset(run.job_id for run in near)

    @cached_property
    def _runs(self) -> frozenset[JobId]:
        others = self._case.observation.others
        declared = {run.job_id for run in others.values} if others is not None else set[JobId]()
        listed = self._case.observation.table.snapshots if self._sinks else ()
        told = {s.job_id for s in listed if s.job_id is not None and self.has(s)}
        return (
            frozenset(declared | self.of_other_jobs | told | self._surrounded_by(self._sinks))
            - self.own
            - self.related_runs
        )

    def _surrounded_by(self, sinks: frozenset[OperatorId | None]) -> frozenset[JobId]:
        """The runs by other sinks with a commit between two of one run by these, which Flink may have forgotten: no
        hand-over looks like that, also not one to another sink and back."""
        if None in sinks:
            return frozenset()
        commits, spans = flink_commits(self._case.observation.table), dict[JobId | None, tuple[int, int]]()
        for place, s in enumerate(commits):
            if s.operator_id in sinks and not s.is_repair:
                spans[s.job_id] = (spans.get(s.job_id, (place, place))[0], place)
        opens, ends = (Counter(told) for told in zip(*spans.values(), strict=True)) if spans else (Counter(), Counter())
        found, around = set[JobId](), 0
        for place, s in enumerate(commits):
            around -= ends[place]
            if around and s.job_id is not None and s.operator_id is not None and s.job_id not in spans:
                found.add(s.job_id)
            around += opens[place]
        return frozenset(found)

    @cached_property
    def _sinks(self) -> frozenset[OperatorId | None]:
        """Under which operator ids the job's runs have committed, or would: those of their graphs that are on main."""
        commits = flink_commits(self._case.observation.table)
        graphs = {vertex.vertex_id for run in self._case.runs for vertex in run.vertices}
        return frozenset(s.operator_id for s in commits if s.job_id in self.own or s.operator_id in graphs)


def other_jobs_in(seen: Observation) -> OtherJobs:
    """By what was observed alone. Nothing is read before a run is asked for that Flink does not list as the job's."""
    return OtherJobs(case_of(seen))


def own_points(seen: Observation) -> tuple[StoredCheckpoint, ...]:
    """The restore points without those of other jobs, in their order. Empty also where they were not seen."""
    other_jobs = other_jobs_in(seen)
    return tuple(each for each in seen.checkpoints.values if not other_jobs.has_run(each.job_id))


def known_runs(observation: Observation) -> frozenset[JobId]:
    """The runs of the job that Flink or a restore point names; no other job's."""
    named, other_jobs = {each.job_id for each in observation.checkpoints.values}, other_jobs_in(observation)
    stored = {run for run in named if run is not None and not other_jobs.has_run(run)}
    return frozenset({run.job_id for run in observation.jobs.values} | stored)


def case_of(seen: Observation) -> Case:
    """One in which nothing but this is known."""
    window = Window(since=None, until=seen.table.head)
    return Case(observation=seen, window=window, contract=TableContract(), job_name=None)


@once_a_case
def commits_of_job(case: Case) -> tuple[Snapshot, ...]:
    """The Flink commits on main but for those of other jobs, oldest first. Of what a repair has put back only what
    speaks for its run still."""
    other_jobs, table = OtherJobs(case), case.observation.table
    return without_put_back([s for s in flink_commits(table) if not other_jobs.has(s)], table)


def commits_that_bind(case: Case) -> tuple[Snapshot, ...]:
    """The Flink commits on main above which a restore point must lie, or the job would read their rows again, oldest
    first. Only another job that surely wrote beside the job is passed over, as its sink does (facts 1.5): a run that
    came after the job's last commit may have gone on where the job had stopped, whatever Flink knows of it."""
    return those_that_bind(case, flink_commits(case.observation.table))


def those_that_bind(case: Case, commits: Sequence[Snapshot]) -> tuple[Snapshot, ...]:
    """The same of any line of the table: `commits` are Flink's of it, oldest first."""
    other_jobs = OtherJobs(case)
    bind = [s for s in commits if s.job_id not in other_jobs.beside or not other_jobs.has(s)]
    return without_put_back(bind, case.observation.table)


def without_put_back(commits: Sequence[Snapshot], table: TableState) -> tuple[Snapshot, ...]:
    """Those of `commits`, Flink's of one line and oldest first, but for what was put back above a commit of which the
    lost one knew nothing. Where the lost one has expired, only commits of its own run may lie below."""
    found: list[Snapshot] = []
    for each in commits:
        if not each.is_repair or _goes_on(each, found[-1] if found else None, table):
            found.append(each)
    return tuple(found)


def _goes_on(put_back: Snapshot, below: Snapshot | None, table: TableState) -> bool:
    if below is None:
        return not _is_cut(put_back, table)
    told = (put_back.job_id, put_back.checkpoint_id)
    lost = [s for s in table.snapshots if not s.is_repair and (s.job_id, s.checkpoint_id) == told]
    if not lost:
        return below.job_id == put_back.job_id
    return any(s.snapshot_id == below.snapshot_id for leaf in lost for s in table.ancestors(leaf.snapshot_id))


def _is_cut(put_back: Snapshot, table: TableState) -> bool:
    """Whether commits below it have expired: among them may be any run's."""
    *_, oldest = table.ancestors(put_back.snapshot_id)
    return oldest.has_commit_below


_TASK = "missing_positions"


def highest_position(case: Case) -> int | None:
    """None where it is no single number, or not shown: the source has several partitions, another Flink job writes the
    table, too, or the contract hides it. None also where there may be a higher one by now: a run is alive, or
    `missing_positions` was asked of an older head. Newer commits by known runs leave that evidence fresh."""
    contract, gaps = case.contract, case.gaps
    if gaps is None or contract.position_partition is not None or contract.hides(contract.position):
        return None
    if not _is_of_the_head(case) or _may_rise(case) or _has_rows_of_guests(case):
        return None
    return gaps.highest


def _has_rows_of_guests(case: Case) -> bool:
    other_jobs = OtherJobs(case)
    return any(other_jobs.has(s) for s in flink_commits(case.observation.table))


def _is_of_the_head(case: Case) -> bool:
    head = case.observation.table.head
    told = next((each for each in reversed(case.evidence) if each.task == _TASK), None)
    return told is not None and told.head == head and told.window.until in (None, head)


def _may_rise(case: Case) -> bool:
    """Whether a run is alive that may commit, or Flink does not tell."""
    others = case.observation.others
    if isinstance(case.observation.jobs, NotSeen) or isinstance(others, NotSeen):
        return True
    return any(not run.is_terminal for run in (*case.runs, *(others.values if others is not None else ())))
