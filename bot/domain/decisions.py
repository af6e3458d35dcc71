"""The one rule about proposals: what somebody does -> the entry that says so, or why it is not done.

Slack, the terminal and the bot's own timers all come through `decide`. It is pure: who is in which
group, and what time it is, are told to it.

What time alone does to a proposal.
"""

from typing import Annotated, Literal, assert_never

from pydantic import Field

from bot.domain.approval import Approval, ApprovalPolicy, Via, missing
from bot.domain.approval_refusals import (
    NotAllowed,
    counted_already,
    expired,
    needs_reason,
    no_such_rule,
    not_as_approved,
    not_before,
    not_seen,
    not_yours,
    own_proposal,
    too_late_to_hold,
    unreadable,
    where_it_stands,
)
from bot.domain.approval_times import (
    NO_GROUPS,
    Membership,
    hold_ends_at,
    is_approver,
    is_one_of,
    last_approval_at,
    reminder_due_at,
    teams_of,
)
from bot.domain.entries import (
    ApprovalReminded,
    ExecutionStarted,
    GlassBroken,
    OutcomeSettled,
    ProposalApproved,
    ProposalEnded,
    VetoTimeEnded,
)
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import UserId
from bot.domain.record import Record, Utc
from bot.domain.unknown_outcomes import ResolveUnknown, resolve_unknown


def what_time_does(view: ProposalView, at: Utc) -> ProposalEnded | VetoTimeEnded | ApprovalReminded | NotAllowed:
    """It expires, is released from its hold, or is reminded of; else nothing is due."""
    proposal = view.proposal
    if at >= proposal.expires_at:
        what = "Nobody ran it" if view.state is not ProposalState.PROPOSED else "It was not approved"
        return ProposalEnded(
            proposal=proposal.id, how="expired", reason=f"{what} before {proposal.expires_at:%H:%M} UTC."
        )
    if view.state is ProposalState.HELD and view.held_until is not None and at >= view.held_until:
        return VetoTimeEnded(proposal=proposal.id)
    due = reminder_due_at(view)
    if due is not None and at >= due:
        return ApprovalReminded(proposal=proposal.id, number=view.reminders + 1)
    return not_before(view)


class _Yes(Record):
    digest: str
    via: Via = "slack"
    shown_whole: bool = True
    """Whether the door through which it comes shows all that is approved."""


class Approve(_Yes):
    kind: Literal["approve"] = "approve"


class BreakGlass(_Yes):
    """A yes that is to be enough alone, in an emergency."""

    kind: Literal["break-glass"] = "break-glass"
    reason: str


class Reject(Record):
    """A no, by an approver, or by the proposer who withdraws."""

    kind: Literal["reject"] = "reject"
    reason: str
    via: Via | None = None


class Veto(Record):
    """A no by those who may stop what others approved."""

    kind: Literal["veto"] = "veto"
    reason: str
    via: Via | None = None


class Begin(Record):
    kind: Literal["begin"] = "begin"


class Supersede(Record):
    """The bot found that the world has moved."""

    kind: Literal["supersede"] = "supersede"
    reason: str


class Tick(Record):
    """Time has passed: it may be due to expire, to be released from its hold, or to be reminded of."""

    kind: Literal["tick"] = "tick"


Act = Annotated[
    Approve | BreakGlass | Reject | Veto | Begin | ResolveUnknown | Supersede | Tick, Field(discriminator="kind")
]
Decided = (
    ProposalApproved
    | GlassBroken
    | ProposalEnded
    | VetoTimeEnded
    | ApprovalReminded
    | ExecutionStarted
    | OutcomeSettled
)

_S = ProposalState
_UNDECIDED, _STOPPABLE = frozenset({_S.PROPOSED}), frozenset({_S.PROPOSED, _S.HELD, _S.APPROVED})
ALLOWED: dict[str, frozenset[ProposalState]] = {
    "approve": _UNDECIDED,
    "break-glass": frozenset({_S.PROPOSED, _S.HELD}),
    "reject": _STOPPABLE,
    "veto": _STOPPABLE,
    "begin": frozenset({_S.APPROVED}),
    "settle": frozenset({_S.UNKNOWN}),
    "supersede": _STOPPABLE,
    "tick": _STOPPABLE,
}
"""In which states each act can do something; in any other it is refused with what happened instead."""


def decide(  # noqa: C901 - one case an act, nothing nested
    view: ProposalView, act: Act, *, by: str, at: Utc, membership: Membership = NO_GROUPS
) -> Decided | NotAllowed:
    """The entry to write, or why there is none. `by` is a Slack user id, or `waterline` for the bot's own acts.

    The proposer never approves, also not by breaking the glass; one person counts once, and for one team; the end of
    the term is exclusive.
    """
    if view.state not in ALLOWED[act.kind]:
        return where_it_stands(view)
    if view.proposal.expires_at <= at and not isinstance(act, ResolveUnknown | Supersede | Tick):
        return expired(view)
    who = UserId(by)
    match act:
        case Approve():
            return _approve(view, act, who, at, membership)
        case BreakGlass():
            return _break_glass(view, act, who, at, membership)
        case Reject():
            return _reject(view, act, who, membership)
        case Veto():
            return _veto(view, act, who, membership)
        case Begin():
            return _begin(view, who)
        case ResolveUnknown():
            return resolve_unknown(view, act, who, at, membership)
        case Supersede():
            return ProposalEnded(proposal=view.proposal.id, how="superseded", reason=act.reason)
        case Tick():
            return what_time_does(view, at)
        case _:
            assert_never(act)


def _approve(
    view: ProposalView, act: Approve, by: UserId, at: Utc, membership: Membership
) -> ProposalApproved | NotAllowed:
    policy = view.proposal.policy
    if by == view.proposal.proposed_by:
        return own_proposal(view)
    if any(given.by == by for given in view.approvals):
        return counted_already(view)
    allowed = is_approver(policy, by, membership)
    if not allowed:
        return not_yours(view) if allowed is False else unreadable(membership)
    if (unseen := not_seen(view, act.digest, shown_whole=act.shown_whole)) is not None:
        return unseen
    if at >= last_approval_at(view):
        return too_late_to_hold(view)
    approval = Approval(by=by, at=at, digest=act.digest, teams=teams_of(policy, by, membership), via=act.via)
    is_complete = missing(policy, (*view.approvals, approval)) == (0, 0)
    return ProposalApproved(
        proposal=view.proposal.id,
        approval=approval,
        complete=is_complete,
        held_until=hold_ends_at(policy, at) if is_complete else None,
    )


def _break_glass(
    view: ProposalView, act: BreakGlass, by: UserId, at: Utc, membership: Membership
) -> GlassBroken | NotAllowed:
    policy = view.proposal.policy
    rule = policy.break_glass
    if rule is None:
        return no_such_rule("break-glass", policy)
    if by == view.proposal.proposed_by:
        return own_proposal(view)
    allowed = is_one_of(rule, by, membership)
    if not allowed:
        return not_yours(view, rule) if allowed is False else unreadable(membership)
    if (unseen := not_seen(view, act.digest, shown_whole=act.shown_whole)) is not None:
        return unseen
    if not act.reason.strip():
        return needs_reason("An emergency approval", "Say why it cannot wait for the others.")
    approval = Approval(by=by, at=at, digest=act.digest, teams=teams_of(policy, by, membership), via=act.via)
    return GlassBroken(proposal=view.proposal.id, approval=approval, reason=act.reason.strip(), owners=rule.owners)


def _reject(view: ProposalView, act: Reject, by: UserId, membership: Membership) -> ProposalEnded | NotAllowed:
    if by != view.proposal.proposed_by:
        allowed = _may_reject(view.proposal.policy, by, membership)
        if not allowed:
            return not_yours(view) if allowed is False else unreadable(membership)
    if not act.reason.strip():
        return needs_reason("A rejection", "Say in a sentence what should change.")
    return ProposalEnded(proposal=view.proposal.id, how="rejected", reason=act.reason.strip(), via=act.via)


def _may_reject(policy: ApprovalPolicy, by: UserId, membership: Membership) -> bool | None:
    """A no counts for no team, so one group that holds the person is enough to know."""
    found = {is_one_of(people, by, membership) for people in policy.approvers}
    return True if True in found else (None if None in found else False)


def _veto(view: ProposalView, act: Veto, by: UserId, membership: Membership) -> ProposalEnded | NotAllowed:
    rule = view.proposal.policy.veto
    if rule is None:
        return no_such_rule("veto", view.proposal.policy)
    allowed = is_one_of(rule, by, membership)
    if not allowed:
        return not_yours(view, rule) if allowed is False else unreadable(membership)
    if not act.reason.strip():
        return needs_reason("A veto", "Say in a sentence why it should not run.")
    return ProposalEnded(proposal=view.proposal.id, how="vetoed", reason=act.reason.strip(), via=act.via)


def _begin(view: ProposalView, by: UserId) -> ExecutionStarted | NotAllowed:
    allowed = dict.fromkeys((view.proposal.proposed_by, *(given.by for given in view.approvals)))
    if by not in allowed:
        names = " or ".join(f"<@{user}>" for user in allowed)
        return NotAllowed(
            why="not-yours", happened="Only the proposer or an approver may run it.", remedy=f"Ask {names}."
        )
    if any(given.digest != view.proposal.digest for given in view.approvals):
        return not_as_approved(view)
    return ExecutionStarted(proposal=view.proposal.id)
