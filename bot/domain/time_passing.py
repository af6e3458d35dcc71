"""What time alone does to a proposal."""

from bot.domain.approval_entries import ApprovalReminded, ProposalEnded, VetoTimeEnded
from bot.domain.approval_refusals import NotAllowed, not_before
from bot.domain.approval_times import reminder_due_at
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.record import Utc


def what_time_does(view: ProposalView, at: Utc) -> ProposalEnded | VetoTimeEnded | ApprovalReminded | NotAllowed:
    """It expires, is released from its hold, or is reminded of; else nothing is due."""
    proposal = view.proposal
    if at >= proposal.expires_at:
        what = "Nobody carried it out" if view.state is not ProposalState.PROPOSED else "It was not approved"
        return ProposalEnded(
            proposal=proposal.id, how="expired", reason=f"{what} before {proposal.expires_at:%H:%M} UTC."
        )
    if view.state is ProposalState.HELD and view.held_until is not None and at >= view.held_until:
        return VetoTimeEnded(proposal=proposal.id)
    due = reminder_due_at(view)
    if due is not None and at >= due:
        return ApprovalReminded(proposal=proposal.id, number=view.reminders + 1)
    return not_before(view)
