"""Whether the people whom a policy names are still there, and whether those who are left can approve."""

from bot.incident.approval import ApprovalPolicy, can_be_met, ids_mentioned
from bot.observation.errors import CouldNotLook
from bot.observation.ids import UserId
from bot.observation.sentences import counted
from bot.ports import Directory


def who_is_gone(directory: Directory, policy: ApprovalPolicy, proposer: UserId | None = None) -> str:
    """Sentences that mention them (Slack mention syntax); empty where everybody is there and enough are left, and where
    Slack does not say: nobody is reported as gone who may be there. `proposer`: cannot approve. One call a name."""
    named = tuple(dict.fromkeys(user for people in policy.approvers for user in people.users))
    try:
        gone = directory.absent(named)
    except CouldNotLook:
        return ""
    members, unread = {}, []
    for group in dict.fromkeys(group for people in policy.approvers for group in people.groups):
        try:
            members[group] = directory.members((group,))
        except CouldNotLook:
            unread.append(group)
    is_enough = can_be_met(policy, proposer, members, gone)
    if unread and not (gone and is_enough):
        left = f"Could not read {ids_mentioned(unread)}, so it is not known whether enough others are left."
    else:
        left = "Enough others are left." if is_enough else "Too few are left: change the policy, or nobody can approve."
    if not gone:
        return "" if is_enough or unread else "Too few people can approve this: change the policy."
    whom = ids_mentioned(user for user in named if user in gone)
    verb = "is" if len(gone) == 1 else "are"
    return (
        f"{len(gone)} of {counted(len(named), 'named approver')} {verb} deactivated or unknown in Slack: {whom}. {left}"
    )
