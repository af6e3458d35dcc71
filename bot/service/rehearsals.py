"""Where an incident's rehearsal stands: a repair on a branch waits to be proven, published or given up."""

from collections.abc import Iterable, Iterator

from bot.domain.action import Past
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident
from bot.domain.runbook import ASKED_FOR
from bot.domain.table import TableState

PUBLISH = "publish_repair"
_ENDED = {ProposalState.APPLIED, ProposalState.REFUSED}


def rehearsal_of(incident: Incident) -> ProposalView | None:
    """The newest rehearsal that made its branch and was neither published nor given up since; None without any."""
    view, is_open = next(_begun(incident), (None, False))
    return view if is_open else None


def _begun(incident: Incident) -> Iterator[tuple[ProposalView, bool]]:
    """(a rehearsal that made its branch, whether it is neither published nor given up), newest first."""
    settled: set[str] = set()
    for view in reversed(incident.proposals.values()):
        for index, effect in enumerate(view.proposal.effects):
            if index in _done(view) and effect.kind in {"publish-branch", "drop-branch"}:
                settled.add(effect.branch)
            if index in _done(view) and effect.kind == "make-branch" and view.state in _ENDED:
                yield view, effect.branch not in settled


def proven_rehearsal(incident: Incident) -> ProposalView | None:
    """The rehearsal that can be published: carried out and proven on its branch."""
    view = rehearsal_of(incident)
    is_proven = view is not None and view.state is ProposalState.APPLIED and view.verified and view.verified.passed
    return view if is_proven else None


def branches_begun(incident: Incident) -> frozenset[str]:
    """Names of the branches on which repairs were rehearsed, also where they are gone by now."""
    views = incident.proposals.values()
    begun = (view.proposal.rehearses_on for view in views if view.execution_started_at is not None)
    return frozenset(branch for branch in begun if branch is not None)


def offered_before(incident: Incident, rehearsal: ProposalView) -> bool:
    """Whether its publication has been proposed, whatever became of that."""
    return any(
        view.proposal.action == PUBLISH and view.proposal.proposed_at >= rehearsal.proposal.proposed_at
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
    still_open = [view for view, is_open in _begun(incident) if is_open]
    there = [view for view in still_open if table.ref(view.proposal.rehearses_on or "") is not None]
    view = next(iter((*there, *still_open)), None)
    if view is None:
        return None
    done = _done(view)
    return Past(
        proposal=view.proposal,
        started={index: view.started[index] for index in done},
        results=done,
        verified=view.verified,
    )


def _done(view: ProposalView) -> dict[int, dict[str, str]]:
    return {index: dict(ended.result) for index, ended in view.done.items() if ended.how == "done"}
