"""Where an incident's rehearsal stands: a repair on a branch waits to be proven, published or given up."""

from collections.abc import Iterable

from bot.domain.action import Past
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident
from bot.domain.rehearsals import begun, done_of, is_proven, rehearsal_of, stood_still
from bot.domain.runbook import ASKED_FOR
from bot.domain.table import TableState

PUBLISH = "publish_repair"
_PASSED_BY = {ProposalState.EXPIRED, ProposalState.SUPERSEDED}
"""Time or the world has ended it, and no person."""


def proven_rehearsal(incident: Incident) -> ProposalView | None:
    """The rehearsal that can be published: carried out and proven on its branch."""
    view = rehearsal_of(incident)
    return view if view is not None and is_proven(view) else None


def branches_begun(incident: Incident) -> frozenset[str]:
    """Names of the branches on which repairs were rehearsed, also where they are gone by now."""
    views = incident.proposals.values()
    branches = (view.proposal.rehearses_on for view in views if view.execution_started_at is not None)
    return frozenset(branch for branch in branches if branch is not None)


def offered_before(incident: Incident, rehearsal: ProposalView) -> bool:
    """Whether its publication has been proposed, and waits, was decided by people, or was carried out. One that expired
    or was superseded is offered again: the job stands still until then."""
    return any(
        view.proposal.action == PUBLISH
        and view.proposal.proposed_at >= rehearsal.proposal.proposed_at
        and view.state not in _PASSED_BY
        for view in incident.proposals.values()
    )


def next_action(incident: Incident, name: str, known: Iterable[str]) -> str:
    """The action that a click on “Propose” means: of a repair that is proven on its branch, its publication."""
    view = proven_rehearsal(incident)
    if view is not None and PUBLISH in known and name in {ASKED_FOR, view.proposal.action}:
        return PUBLISH
    return name


def past_of_rehearsal(incident: Incident, table: TableState) -> Past | None:
    """What the open rehearsal did, as the journal tells: of several, which earlier versions allowed, the newest whose
    branch the table has."""
    still_open = [view for view, is_open in begun(incident) if is_open]
    there = [view for view in still_open if table.ref(view.proposal.rehearses_on or "") is not None]
    view = next(iter((*there, *still_open)), None)
    if view is None:
        return None
    done = done_of(view)
    return Past(
        proposal=view.proposal,
        started={index: view.started[index] for index in done},
        results=done,
        verified=view.verified,
        stood_still=stood_still(incident, view),
    )
