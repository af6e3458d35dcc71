"""What one person may do under a policy at the moment of a click: read from user groups, never remembered."""

from bot.domain.approval import ApprovalPolicy, People
from bot.domain.ids import UserId
from bot.domain.record import Record


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
