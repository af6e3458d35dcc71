"""Who took turns on main: the places where a run commits again after another one had taken over."""

from bot.diagnosis._case import in_window, living, run_of
from bot.domain.diagnosis import Case
from bot.domain.flink import JobRun
from bot.domain.ids import JobId, SnapshotId
from bot.domain.record import Record
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot

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
    """Every return in the window, oldest first, but for those where Flink shows that the run was started anew."""
    inside = {s.snapshot_id for s in in_window(case)}
    commits = [s for s in flink_commits(case.observation.table) if s.snapshot_id in inside]
    found: list[Turn] = []
    seen: set[JobId] = set()
    for index, commit in enumerate(commits):
        before = commits[index - 1] if index else None
        returns = before is not None and commit.job_id in seen and before.job_id != commit.job_id
        if before is not None and returns and not _was_started_anew(case, commit, before):
            found.append(_turn(commit, before))
        seen.add(JobId(commit.job_id or ""))
    return tuple(found)


def writing(case: Case) -> tuple[JobRun, ...]:
    """The runs that are alive and not about to end, oldest first, one of each job id."""
    return tuple({run.job_id: run for run in living(case) if run.state not in _LEAVING}.values())


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
    run = run_of(case, commit.job_id)
    return run is not None and before.committed_at < run.started_at < commit.committed_at
