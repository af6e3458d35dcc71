"""What the approval policies of a table do not keep for destructive actions; `waterline doctor` says it by day."""

from collections.abc import Iterable, Iterator

from bot.domain.approval import ApprovalPolicy
from bot.domain.setup import TableSetup

DECIDE_DESTRUCTIVE = ("destructive", "default")
_REMEDY = "Name two `teams` in a policy `destructive` of the table (docs/approval.md)."


def policies_of(setups: Iterable[TableSetup]) -> Iterator[tuple[str, bool, str, str]]:
    """(what, is it good, what was found, what to do) of each policy that two teams cannot fulfil."""
    for setup in setups:
        own = [key for key in setup.policies if key.partition("/")[0] == DECIDE_DESTRUCTIVE[0]]
        general = [] if DECIDE_DESTRUCTIVE[0] in own else ["default"]
        for key in (*own, *general):
            found = _without_two_teams(setup.policies[key])
            if found:
                yield f"policy {key} of {setup.name}", True, found, _REMEDY


def _without_two_teams(policy: ApprovalPolicy) -> str:
    """Empty where two teams approve, or the policy itself says how many."""
    if policy.different_teams is not None or len(policy.teams) > 1:
        return ""
    users = {user for people in policy.approvers for user in people.users}
    if len(users) > 2 or any(people.groups for people in policy.approvers):
        return "destructive actions are approved by two people, not by two teams: it names fewer than two teams"
    return "one person may approve a destructive action of the other: it names no third, and no group"
