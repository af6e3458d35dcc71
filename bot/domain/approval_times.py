"""When something about a proposal falls due, by its policy.

What one person may do under a policy at the moment of a click: read from user groups, never remembered.
"""

from bot.domain.approval import ApprovalPolicy, People
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import UserId
from bot.domain.record import Record, Utc


def last_approval_at(view: ProposalView) -> Utc:
    """From then on (inclusive) an approval would come too late: its hold would not end before the term does."""
    return view.proposal.expires_at - view.proposal.policy.hold


def hold_ends_at(policy: ApprovalPolicy, approved_at: Utc) -> Utc | None:
    """Until when an approved proposal waits for a veto; None if it need not wait."""
    return approved_at + policy.hold if policy.hold else None


def reminder_due_at(view: ProposalView) -> Utc | None:
    """When people are to be asked again; None once it is decided, and where the policy reminds nobody.

    Counted from the last reminder that was made: after a long stop there is one, not as many as were missed.
    """
    every = view.proposal.policy.reminder_interval
    if view.state is not ProposalState.PROPOSED or not every:
        return None
    due = (view.reminded_at or view.proposal.proposed_at) + every
    return due if due < last_approval_at(view) else None


class Membership(Record):
    """Which of a policy's user groups a person is in, as Slack says it now."""

    within: frozenset[str] = frozenset()
    unread: frozenset[str] = frozenset()
    """Groups that could not be read: whether the person is in them is not known."""


NO_GROUPS = Membership()
"""Where no group needs to be asked."""


def is_one_of(people: People, by: UserId, membership: Membership) -> bool | None:
    """Whether `by` is among them; None when a group that would tell could not be read."""
    if by in people.users or membership.within & set(people.groups):
        return True
    return None if membership.unread & set(people.groups) else False


def is_approver(policy: ApprovalPolicy, by: UserId, membership: Membership) -> bool | None:
    """Whether `by` may approve, whatever the others did; None when that cannot be told.

    Where different teams are asked for, an unread team cannot be told either: the yes might count for it.
    """
    found = {is_one_of(people, by, membership) for people in policy.approvers}
    if policy.teams_asked and None in found:
        return None
    return True if True in found else (None if None in found else False)


def teams_of(policy: ApprovalPolicy, by: UserId, membership: Membership) -> tuple[str, ...]:
    """The policy's teams that `by` is in, in the policy's order."""
    return tuple(name for name, people in policy.teams.items() if is_one_of(people, by, membership))
