"""Which of Flink's commits on main are the job's own, and which a guest's: another Flink job's on the same table."""

from functools import cached_property

from bot.domain.diagnosis import Case
from bot.domain.ids import JobId, OperatorId
from bot.domain.kin import kin
from bot.domain.rewinds import flink_commits
from bot.domain.table import Snapshot


class Guests:
    """Who is a guest in this case; what tells it is read once for all commits."""

    def __init__(self, case: Case) -> None:
        jobs, others = case.observation.jobs, case.observation.others
        named = frozenset(run.job_id for run in (*jobs.values, *(others.values if others is not None else ())))
        self._case = case
        self.own: frozenset[JobId] = frozenset(run.job_id for run in case.runs)
        """The runs that Flink lists under the job's name."""
        self.of_other_jobs: frozenset[JobId] = named - self.own - {run.job_id for run in kin(jobs, others)}
        """Those that it lists under another, but for kin: that is a fork."""

    def has(self, snapshot: Snapshot) -> bool:
        """Whether the commit is known to be another job's: Flink lists its run under another name, or lists it nowhere
        and it committed by another sink while a run of the job was there already."""
        if snapshot.job_id is None or snapshot.job_id in self.own:
            return False
        if snapshot.job_id in self.of_other_jobs:
            return True
        if not self._sinks or None in (snapshot.operator_id, *self._sinks) or snapshot.operator_id in self._sinks:
            return False
        return any(run.started_at <= snapshot.committed_at for run in self._case.runs)

    @cached_property
    def _sinks(self) -> frozenset[OperatorId | None]:
        """Under which operator ids the job's runs have committed."""
        commits = flink_commits(self._case.observation.table)
        return frozenset(s.operator_id for s in commits if s.job_id in self.own)


def commits_of_job(case: Case) -> tuple[Snapshot, ...]:
    """The Flink commits on main but for those of guests, oldest first."""
    guests = Guests(case)
    return tuple(s for s in flink_commits(case.observation.table) if not guests.has(s))
