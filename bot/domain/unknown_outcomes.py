"""A person says what became of a step that no source knows of any more: it happened, or it did not."""

from typing import Literal

from bot.domain.approval import Via, whom_to_ask
from bot.domain.approval_refusals import NotAllowed, needs_reason, unreadable, where_it_stands
from bot.domain.approval_times import Membership, is_approver
from bot.domain.entries import OutcomeSettled
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import UserId
from bot.domain.record import Record, Utc

HOW_TO_SETTLE = (
    "Check the job yourself. Then an approver settles it with the buttons on the proposal, or with `waterline proposal "
    "settle`."
)
LEFT_TO_PEOPLE = frozenset({"stop-job", "stop-fork", "start-job", "start-from-stop"})
"""Effects on a job: what follows them needs nothing that only the deed could tell, so a person's word is enough."""


class ResolveUnknown(Record):
    """What a person has seen of a step whose outcome is not known."""

    kind: Literal["settle"] = "settle"
    index: int
    """Of the effect."""
    happened: bool
    reason: str
    via: Via = "slack"


def unknown_effect(view: ProposalView) -> int | None:
    """Index of the effect of which nobody knows whether it happened; None where there is none."""
    return view.next_effect if view.state is ProposalState.UNKNOWN else None


def may_be_said_to_have_happened(view: ProposalView, index: int) -> bool:
    """Whether the execution could go on by a person's word alone: not where a later step needs what the table tells."""
    return view.proposal.effects[index].kind in LEFT_TO_PEOPLE


def resolve_unknown(
    view: ProposalView, act: ResolveUnknown, by: UserId, at: Utc, membership: Membership
) -> OutcomeSettled | NotAllowed:
    """By one whom the policy lets approve, not the proposer, with a reason; whatever time it is."""
    policy, proposer = view.proposal.policy, view.proposal.proposed_by
    if by == proposer:
        return NotAllowed(
            why="own-proposal",
            happened="You proposed this, so somebody else must settle whether it happened.",
            remedy=whom_to_ask(policy, proposer),
        )
    allowed = is_approver(policy, by, membership)
    if allowed is None:
        return unreadable(membership)
    if not allowed:
        return NotAllowed(
            why="not-yours",
            happened="You are not an approver for this, so you cannot settle whether it happened.",
            remedy=whom_to_ask(policy, proposer),
        )
    if act.index != unknown_effect(view):
        return where_it_stands(view)
    if act.happened and not may_be_said_to_have_happened(view, act.index):
        return NotAllowed(
            why="not-due",
            happened="You cannot settle that this step happened: the next step needs its result from the table.",
            found="Waterline checks again every few seconds.",
            remedy="Make the catalog readable again. If that is impossible, settle that it did not happen, which "
            "ends the execution.",
        )
    if not act.reason.strip():
        return needs_reason("Settling an outcome", "Say what you checked and what you saw.")
    return OutcomeSettled(
        proposal=view.proposal.id,
        index=act.index,
        happened=act.happened,
        reason=act.reason.strip(),
        by=by,
        at=at,
        via=act.via,
    )
