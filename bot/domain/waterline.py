"""Where the waterline belongs: a proof moves it, and whatever moves `main` afterwards takes the trust back until the
next proof. Pure."""

from datetime import datetime

from bot.domain.entries import ExecutionEnded, ExecutionStarted, Verified, WaterlineMoved
from bot.domain.execution import ProposalView
from bot.domain.ids import ProposalId, SnapshotId
from bot.domain.incident import Incident

_MOVE_MAIN = {"move-table", "publish-branch"}
"""Effects after which a plain read gives something else than what was proven."""


def owed_waterline(incident: Incident) -> WaterlineMoved | None:
    """What the record asks for: the newest proof's head as trusted, also when an earlier repair of the same incident
    was trusted before; under review, back at the snapshot that was good at opening, after a proven undo and from the
    moment at which anything that moves `main` is begun until it is proven. None: nothing says anything of it."""
    head: SnapshotId | None = None
    is_trusted = None
    running: set[ProposalId] = set()
    unproven: set[ProposalId] = set()
    for entry in incident.entries:
        match entry.body:
            case ExecutionStarted(proposal=proposal) if _moving(incident.proposals[proposal]):
                running.add(proposal)
            case ExecutionEnded(proposal=proposal, outcome=outcome) if proposal in running:
                running.discard(proposal)
                if outcome != "refused" or _may_have_moved(incident.proposals[proposal]):
                    unproven.add(proposal)
            case Verified(passed=True, moves_waterline="no", proposal=proposal):
                unproven.discard(proposal)
            case Verified(passed=True) as proof:
                unproven.clear()
                is_trusted = proof.moves_waterline == "trusted"
                head = proof.head if is_trusted else head
            case WaterlineMoved(status="trusted", snapshot=snapshot) if is_trusted is None:
                head = snapshot  # consumers were told that nothing is wrong
    if is_trusted and not running and not unproven:
        return WaterlineMoved(snapshot=head, status="trusted")
    back = incident.opened.trusted if incident.opened.trusted is not None else head
    is_taken_back = is_trusted is False or (head is not None and (running or unproven))
    return WaterlineMoved(snapshot=back, status="under-review") if is_taken_back and back is not None else None


def last_taken_back_at(incident: Incident) -> datetime | None:
    """When a table that was trusted in this incident came under review again, the last time; None: never."""
    at: datetime | None = None
    was_trusted = False
    for entry in incident.entries:
        if isinstance(entry.body, WaterlineMoved):
            is_trusted = entry.body.status == "trusted"
            at = entry.at if was_trusted and not is_trusted else at
            was_trusted = is_trusted
    return at


def taken_back_at(incident: Incident) -> datetime | None:
    """The same, as long as it was not proven anew."""
    is_trusted = incident.waterline is not None and incident.waterline.status == "trusted"
    return None if is_trusted else last_taken_back_at(incident)


def _moving(view: ProposalView) -> bool:
    return any(effect.kind in _MOVE_MAIN for effect in view.proposal.effects)


def _may_have_moved(view: ProposalView) -> bool:
    """A refused effect surely did nothing."""
    return any(
        ended.how != "refused" and view.proposal.effects[index].kind in _MOVE_MAIN for index, ended in view.done.items()
    )
