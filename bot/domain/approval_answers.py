"""What a person is told whose act on a proposal counted."""

from bot.domain.approval_count import missing_in_words, whom_to_ask
from bot.domain.execution import ProposalState, ProposalView


def settlement_counts(view: ProposalView) -> str:
    """After a person has settled an outcome. `view` is the proposal after it."""
    if view.settled[-1].happened:
        return "Settled: it happened. The execution continues; follow it in the proposal's thread."
    return "Settled: it did not happen. The execution has ended. Collect evidence again, diagnose, and propose the fix."


def approval_counts(view: ProposalView) -> str:
    """After a yes: whether that was enough, and what comes next. `view` is the proposal after it."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    if view.glass is not None:
        return (
            "Emergency approval counts. The channel mentions the owners, and the review asks about it. "
            "The proposer or you can run it now."
        )
    match view.state:
        case ProposalState.PROPOSED:
            needs = missing_in_words(policy, view.approvals)
            return f"Your approval counts. It needs {needs}. {whom_to_ask(policy, proposer, view.approvals)}"
        case ProposalState.HELD if view.held_until is not None:
            return f"Approved. The veto window ends at {view.held_until:%H:%M:%S} UTC; then it can run."
        case _:
            return "Approved. The proposer or an approver can run it now."
