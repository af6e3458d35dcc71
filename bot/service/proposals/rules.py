"""What has to hold before a proposal is made or decided.

A job that writes several tables may be in several incidents: only one of them works on it at a time.
"""

from collections.abc import Collection

from bot.actions._support.completing import ActionModule
from bot.history.case import Case
from bot.history.staleness import stale_reason
from bot.incident.action import Past
from bot.incident.decisions import HOW_TO_SETTLE
from bot.incident.diagnosis import Excluded, Matches, Mode
from bot.incident.effects import KeepSavepoint, StartFromStop, StartJob, StopFork, StopJob
from bot.incident.execution import AT_WORK, ProposalState
from bot.incident.incident import Incident
from bot.incident.proposal import Proposal
from bot.incident.staged_repairs import rehearsal_of, standing_job
from bot.observation.errors import NotYet, Refused, Superseded
from bot.observation.ids import IncidentId
from bot.service.incident_store import must_be_open


def actions_behind(follows: Past | None) -> tuple[str, ...]:
    """The action that is published or undone and those behind it, nearest first: the undo of an undo changes the table
    as the first action did."""
    return (follows.proposal.action, *follows.proposal.follows) if follows is not None else ()


def match_for(incident: Incident, action: str) -> tuple[Mode, Matches]:
    """The diagnosis that asks for this action. Raises Refused with what was found instead."""
    remedy = action.replace("_", "-")
    matches = incident.diagnosis.matches if incident.diagnosis else ()
    for mode, match in matches:
        if match.remedy.value == remedy:
            return mode, match
    found = ", ".join(f"{m.code} ({x.remedy.value})" for m, x in matches) or "no match"
    raise Refused(
        "Nothing to propose.",
        f"Expected a diagnosis whose remedy is {remedy}; found {found}.",
        "Collect the missing evidence and diagnose again.",
    )


def evidence_is_fresh(incident: Incident, case: Case, module: ActionModule) -> None:
    """Raises Refused when evidence that the action needs is still running or stale, with the reason."""
    for task in module.action.needs:
        run = incident.latest.get(task)
        if run is None or run.evidence is None:
            raise Refused(
                f"{module.action.title} needs the evidence “{task}”.", "It has no answer yet.", "Wait for it."
            )
        reason = stale_reason(run.evidence, case)
        if reason is not None:
            raise Refused(f"The evidence “{task}” is stale.", reason, "Run it again, then propose.")


def must_still_be_diagnosed(incident: Incident, proposal: Proposal) -> None:
    """Raises Superseded where the newest diagnosis excludes what the proposal is made for: nobody decides about a cause
    that is not one. What is only not known any more ends nothing, and neither does what a rehearsal has changed."""
    if incident.diagnosis is None or rehearsal_of(incident) is not None:
        return
    for result in incident.diagnosis.results:
        if result.mode.code == proposal.code and isinstance(result.examined, Excluded):
            raise Superseded(
                f"The diagnosis has changed: “{result.mode.title}” ({result.mode.code}) is excluded now.",
                result.examined.reason,
                "Propose what the newest diagnosis suggests. Nothing was changed.",
            )


def must_be_free(incident: Incident) -> None:
    """Raises Refused while another proposal is under way: asked before anything is looked at, so that impatient
    clicks cost nothing, and again where the proposal is written."""
    must_be_open(incident)
    busy = incident.unfinished
    if busy is None:
        return
    if busy.state is ProposalState.PROPOSED:
        raise Refused(
            "Another proposal is waiting for approval.",
            f"It is “{busy.proposal.title}”.",
            "First ask an approver to approve or reject it.",
        )
    if busy.state is ProposalState.UNKNOWN:
        raise Refused(
            f"Nothing can be proposed while the outcome of “{busy.proposal.title}” is unknown.",
            busy.result.sentence if busy.result is not None else "",
            HOW_TO_SETTLE,
        )
    is_begun = busy.state is ProposalState.EXECUTING
    raise Refused(
        f"A proposal is already {'running' if is_begun else 'approved'}.",
        f"It is “{busy.proposal.title}”.",
        "Wait for its end." if is_begun else "Run it or reject it.",
    )


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
