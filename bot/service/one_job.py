"""A job that writes several tables may be in several incidents: only one of them works on it at a time."""

from collections.abc import Iterable

from bot.domain.effects import KeepSavepoint, StartFromStop, StartJob, StopFork, StopJob
from bot.domain.errors import Refused
from bot.domain.execution import AT_WORK
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.proposal import Proposal

_ON_A_JOB = (StopJob, StopFork, StartJob, StartFromStop, KeepSavepoint)


def must_have_the_job_alone(proposal: Proposal, incident: IncidentId, incidents: Iterable[Incident]) -> None:
    """Raises Refused while a proposal of another incident works on the same job: one would move its table below the run
    that the other has just started.

    Asked before a beginning is written and again before its first effect: of two that begin at the same moment, by two
    replicas, each is on record by then, so that at least one sees the other and ends with nothing done.
    """
    jobs = _jobs_of(proposal)
    for other in incidents:
        busy = next((v for v in other.proposals.values() if v.state in AT_WORK and jobs & _jobs_of(v.proposal)), None)
        if other.id == incident or busy is None:
            continue
        job = min(jobs & _jobs_of(busy.proposal))
        what = "a proposal of a private incident" if other.is_private else f"“{busy.proposal.title}” of {other.id}"
        raise Refused(
            f"Job {job} is being worked on for another table.",
            f"Expected nothing else to be carried out on it; found {what}.",
            "Wait for its end. Then collect evidence again: the job is another run by then.",
        )


def _jobs_of(proposal: Proposal) -> frozenset[str]:
    return frozenset(effect.job for effect in proposal.effects if isinstance(effect, _ON_A_JOB))
