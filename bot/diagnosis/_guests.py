"""Commits by Flink runs that are not the job's: a guest may add rows, as for a backfill; here it is told where one took
rows off, and which commits on main are the job's own.

Flink's sinks of a stream never take data files off the table: only INSERT OVERWRITE and jobs that rewrite it do.
"""

from bot.diagnosis._case import runs_of
from bot.domain.diagnosis import Case
from bot.domain.ids import JobId
from bot.domain.kin import kin
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot

_DELETES = ("added-delete-files", "added-position-deletes", "added-equality-deletes")


def is_overwrite(snapshot: Snapshot) -> bool:
    """Whether a Flink run took whole files off the table, or replaced partitions; a compaction is none."""
    if snapshot.job_id is None or snapshot.is_repair or snapshot.operation not in {"overwrite", "delete"}:
        return False
    took = snapshot.counted("deleted-data-files") or snapshot.counted("deleted-records")
    return bool(took) or snapshot.summary.get("replace-partitions") == "true"


def took_as_guest(case: Case, snapshot: Snapshot) -> bool:
    """Whether a Flink run that is not the job's took rows off: files of them, or by delete files of another sink."""
    own = _own_runs(case)
    if snapshot.job_id is None or snapshot.job_id in own or snapshot.is_repair:
        return False
    if is_overwrite(snapshot):
        return snapshot.job_id in _of_other_jobs(case) or _is_stream(case) or _is_beside_appends(case, snapshot)
    return any(snapshot.counted(key) for key in _DELETES) and is_guest(case, snapshot)


def is_guest(case: Case, snapshot: Snapshot) -> bool:
    """Whether the commit is known to be another job's: Flink lists its run under another name, or lists it nowhere and
    it committed by another sink while a run of the job was there already."""
    own = _own_runs(case)
    if snapshot.job_id is None or snapshot.job_id in own:
        return False
    if snapshot.job_id in _of_other_jobs(case):
        return True
    sinks = {s.operator_id for s in flink_commits(case.observation.table) if s.job_id in own}
    if None in (snapshot.operator_id, *sinks) or snapshot.operator_id in sinks or not sinks:
        return False
    return any(run.started_at <= snapshot.committed_at for run in runs_of(case))


def commits_of_job(case: Case) -> tuple[Snapshot, ...]:
    """The Flink commits on main but for those of guests, oldest first."""
    return tuple(s for s in flink_commits(case.observation.table) if not is_guest(case, s))


def _own_runs(case: Case) -> frozenset[JobId]:
    return frozenset(run.job_id for run in runs_of(case))


def _of_other_jobs(case: Case) -> frozenset[JobId]:
    jobs, others = case.observation.jobs, case.observation.others
    named = [*jobs.values, *(others.values if others is not None else ())]
    return frozenset(run.job_id for run in named) - _own_runs(case) - {run.job_id for run in kin(jobs, others)}


def _is_stream(case: Case) -> bool:
    """Whether a run of the job takes checkpoints: then no run of it overwrites, also one that Flink has forgotten."""
    return any(run.checkpoints or run.restored is not None for run in runs_of(case))


def _is_beside_appends(case: Case, snapshot: Snapshot) -> bool:
    """Whether the job, or where Flink lists none of its runs whoever else wrote, does not overwrite: a table that a
    batch job writes anew each night has runs that Flink has forgotten."""
    others = [s for s in flink_commits(case.observation.table) if s.job_id != snapshot.job_id]
    mine = [s for s in others if s.job_id in _own_runs(case)] or others
    return any(not is_overwrite(s) for s in mine)
