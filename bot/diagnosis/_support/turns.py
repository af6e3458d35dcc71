"""Who took turns on main: where a run commits again after another one had taken over, and what a fork brought twice."""

from collections.abc import Sequence

from bot.diagnosis._support.asked import checked_until
from bot.diagnosis._support.case import in_window
from bot.diagnosis._support.upsert import why_upsert
from bot.history.case import Case
from bot.history.other_jobs import BESIDE, OtherJobs, related_runs
from bot.history.starts import flink_commits
from bot.observation.flink import JobRun
from bot.observation.ids import JobId, SnapshotId
from bot.observation.looked import NotSeen
from bot.observation.record import Record
from bot.observation.table import Snapshot

_LEAVING = frozenset({"CANCELLING", "FAILING", "SUSPENDED"})


class Turn(Record):
    """`run` committed again at `at`, although `other` had committed since."""

    run: JobId
    other: JobId
    before: SnapshotId
    """The other's commit right below."""
    at: SnapshotId
    of_one_operator: bool
    """Whether both commit under one operator id, or one of them names none."""


def turns(case: Case) -> tuple[Turn, ...]:
    """Every return in the window, oldest first, but for those where Flink shows that the run was started anew: also of
    a run whose commits before lie below the window."""
    inside = {s.snapshot_id for s in in_window(case)}
    found: list[Turn] = []
    seen: set[JobId | None] = set()
    before: Snapshot | None = None
    for commit in flink_commits(case.observation.table):
        returns = before is not None and commit.job_id in seen and before.job_id != commit.job_id
        is_meant = returns and commit.snapshot_id in inside
        if before is not None and is_meant and not _was_started_anew(case, commit, before):
            found.append(_turn(commit, before))
        seen.add(commit.job_id)
        before = commit
    return tuple(found)


def writers(case: Case) -> tuple[JobRun, ...]:
    """The job's runs, and those of the table's other jobs that began from the same state, oldest first; not those that
    are split from it on purpose."""
    beside = (run for run in related_runs(case.observation.jobs, case.observation.others) if not is_split(case, run))
    return tuple(sorted((*case.runs, *beside), key=lambda run: (run.started_at, run.job_id)))


def is_split(case: Case, run: JobRun) -> bool:
    """Whether a run of another job, although it began from the same state, shows that it brings other rows: it and the
    job have committed beside each other for a while, and no key has come twice. In a table that is written by key none
    would.
    """
    found = case.duplicates
    if found is None or found.keys or run.job_id not in OtherJobs(case).beside or why_upsert(case) is not None:
        return False
    commits = flink_commits(case.observation.table)
    first = next(place for place, s in enumerate(commits) if s.job_id == run.job_id)
    own = {each.job_id for each in case.runs}
    mine = [s.snapshot_id for s in commits[first:] if s.job_id in own][:BESIDE]
    until, place_of = checked_until(case, "duplicate_rows"), case.observation.table.place_of
    return place_of(until) >= place_of(mine[-1])


def writer(case: Case, job_id: JobId | None) -> JobRun | None:
    return next((run for run in writers(case) if run.job_id == job_id), None)


def writing(case: Case) -> tuple[JobRun, ...]:
    """Those that are alive and not about to end, oldest first, one of each job id."""
    alive = (run for run in writers(case) if not run.is_terminal and run.state not in _LEAVING)
    return tuple({run.job_id: run for run in alive}.values())


def is_one_job(case: Case, turn: Turn) -> bool:
    """Whether both are surely this job's or related jobs of it: Flink lists both, or lists none of them, and they
    commit under one operator id. By itself that id tells little: by default the V2 sink's is of the table's name, so
    every job on the table has the same."""
    if isinstance(case.observation.jobs, NotSeen):
        return turn.of_one_operator
    both = {turn.run, turn.other}
    if both <= {run.job_id for run in writers(case)}:
        return True
    return turn.of_one_operator and not both & {run.job_id for run in case.runs}


def is_forked(case: Case) -> bool:
    """Whether two runs of the job write at the same time, by their turns on main or because both are alive; where it is
    doubtful whose they are, rows that live twice show it."""
    found = turns(case)
    certain = [turn for turn in found if is_one_job(case, turn)]
    if len(writing(case)) > 1 or len(certain) > 1:
        return True
    if len(certain) < len(found) and case.duplicates is not None and case.duplicates.keys:
        return True
    return bool(certain) and not isinstance(case.observation.jobs, NotSeen)


def brought_by_fork(case: Case) -> tuple[Snapshot, ...]:
    """Commits that carry a checkpoint of the older run once more because a fork was restored from it, oldest first.

    A V2 sink commits what the restored state owes under the id of the run that wrote it; where the older run, still
    alive, commits the same checkpoint, the same files come twice (seen on Flink 2.1 with an intermediate savepoint).
    """
    if not is_forked(case):
        return ()
    commits = flink_commits(case.observation.table)
    points = [(run.job_id, run.restored) for run in writers(case) if run.restored is not None]
    found: list[Snapshot] = []
    seen: set[tuple[str | None, str | None, int | None]] = set()
    for index, commit in enumerate(commits):
        name = (commit.job_id, commit.operator_id, commit.checkpoint_id)
        by_flink = any(
            job != commit.job_id and at.checkpoint_id == commit.checkpoint_id and at.at <= commit.committed_at
            for job, at in points
        )
        if name in seen and (by_flink or _gives_way(commits, index)):
            found.append(commit)
        seen.add(name)
    return tuple(found)


def _gives_way(commits: Sequence[Snapshot], index: int) -> bool:
    """Whether the next commit is the first one of another run."""
    after = commits[index + 1] if index + 1 < len(commits) else None
    return after is not None and after.job_id not in {commit.job_id for commit in commits[: index + 1]}


def _turn(commit: Snapshot, before: Snapshot) -> Turn:
    return Turn(
        run=JobId(commit.job_id or ""),
        other=JobId(before.job_id or ""),
        before=before.snapshot_id,
        at=commit.snapshot_id,
        of_one_operator=None in (commit.operator_id, before.operator_id) or commit.operator_id == before.operator_id,
    )


def _was_started_anew(case: Case, commit: Snapshot, before: Snapshot) -> bool:
    """A fixed job id that was submitted again after the other run's last commit: an orderly hand-over."""
    run = writer(case, commit.job_id)
    return run is not None and before.committed_at < run.started_at < commit.committed_at
