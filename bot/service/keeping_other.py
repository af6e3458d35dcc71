"""Of two writers, the other one is to stay: the no to a proposal, and the proposal that stops the other run."""

from bot.domain.effects import StopFork
from bot.domain.errors import CouldNotKeep, Refused, WaterlineError
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import IncidentId, JobId, ProposalId, UserId, short_job
from bot.domain.incident import Incident
from bot.service.approving import Approvals
from bot.service.incident_store import IncidentStore
from bot.service.proposing import Proposals


def keep_other(
    store: IncidentStore,
    approvals: Approvals,
    proposals: Proposals,
    incident_id: IncidentId,
    proposal_id: ProposalId,
    *,
    by: UserId,
) -> JobId:
    """Two acts, each on record with who did it; returns the run that is to stay. Where an earlier try by the same
    person was cut off, it goes on from there. Raises Refused, also where the no stands and the other stop could not be
    proposed: then it says both. Raises CouldNotLook."""
    view = store.get(incident_id).proposals[proposal_id]
    stop = next(effect for effect in view.proposal.effects if isinstance(effect, StopFork))
    run = short_job(stop.job_id)
    why = f"Run {run} is the one to keep."
    if not _is_own_no(view, why, by):
        approvals.reject(incident_id, proposal_id, why, by=by)
    if _is_proposed(store.get(incident_id), view, stop.job_id, by):
        return stop.job_id
    try:
        proposals.propose(incident_id, view.proposal.action, step=view.step, by=by, reason=why, keeps=stop.job_id)
    except CouldNotKeep:
        raise
    except WaterlineError as error:
        again = f"Then type /waterline propose {view.proposal.action} keep={run}."
        raise Refused(
            f"“{view.proposal.title}” is rejected, but nothing else is proposed yet: {error.happened}",
            error.found,
            f"{error.remedy} {again}".lstrip(),
        ) from error
    return stop.job_id


def _is_own_no(view: ProposalView, why: str, by: UserId) -> bool:
    """Whether this person has turned it down for this reason, by a click that came no further."""
    ended = view.ended
    return view.state is ProposalState.REJECTED and view.ended_by == by and ended is not None and ended.reason == why


def _is_proposed(incident: Incident, turned_down: ProposalView, run: JobId, by: UserId) -> bool:
    """Whether this person has proposed since that this run stays."""
    later = list(incident.proposals.values())
    since = later[later.index(incident.proposals[turned_down.proposal.id]) + 1 :]
    return any(
        isinstance(effect, StopFork) and effect.keeps == run
        for view in since
        if view.proposal.proposed_by == by
        for effect in view.proposal.effects
    )
