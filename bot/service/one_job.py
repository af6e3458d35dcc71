"""A job that writes several tables may be in several incidents: only one of them works on it at a time."""

from collections.abc import Collection

from bot.domain.effects import KeepSavepoint, StartFromStop, StartJob, StopFork, StopJob
from bot.domain.errors import NotYet, Refused
from bot.domain.execution import AT_WORK
from bot.domain.ids import IncidentId
from bot.domain.incident import Incident
from bot.domain.proposal import Proposal
from bot.domain.rehearsals import standing_job

_ON_A_JOB = (StopJob, StopFork, StartJob, StartFromStop, KeepSavepoint)


def must_have_the_job_alone(proposal: Proposal, incident: IncidentId, incidents: Collection[Incident]) -> None:
    """Raises Refused while a proposal of another incident works on the same job: one would move its table below the run
    that the other has just started; and as `must_end_no_repair`.

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
            f"Another proposal is running on job {job} for another table.",
            f"Expected no other running proposal on it; found {what}.",
            "Wait for its end. Then collect evidence again, because the job will have a new run.",
        )
    must_end_no_repair(proposal, incident, incidents)


def must_end_no_repair(proposal: Proposal, incident: IncidentId, incidents: Collection[Incident]) -> None:
    """Raises NotYet where it would start a job that stands still for a repair of another incident: with the first
    commit of the run that repair could not be published any more. Where each has stopped the job for a repair, whoever
    did so last goes first. One that stops the job itself has seen it run: somebody has started it by hand."""
    runs = {effect.job for effect in proposal.effects if isinstance(effect, StopJob)}
    starts = {effect.job for effect in proposal.effects if isinstance(effect, StartJob | StartFromStop)} - runs
    own = next((standing_job(each) for each in incidents if each.id == incident), None)
    for other in incidents:
        waits = standing_job(other) if other.id != incident and starts else None
        if waits is None or waits.waits_for is None or waits.settled is not None or waits.job not in starts:
            continue
        if own is not None and own.job == waits.job and own.since > waits.since:
            continue
        title = waits.waits_for.proposal.title
        repair = "a repair of a private incident" if other.is_private else f"“{title}” of {other.id}"
        where = "that incident" if other.is_private else other.id
        raise NotYet(
            f"Job {waits.job} is stopped for {repair}, of another table that it writes.",
            "Expected no repair waiting for it. A run that commits there ends that repair.",
            f"First publish or cancel it in {where} (/waterline propose publish_repair or drop_repair_branch). That "
            "starts the job. Then collect evidence again.",
        )


def _jobs_of(proposal: Proposal) -> frozenset[str]:
    return frozenset(effect.job for effect in proposal.effects if isinstance(effect, _ON_A_JOB))
