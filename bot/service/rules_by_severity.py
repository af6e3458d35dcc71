"""Which of a table's policies decides about a proposal, by the severity of its incident. Pure.

Nobody chooses the policy of their own proposal: a severity that only the proposer has said, at the opening too, makes
it no lighter until somebody else has said one.
"""

from collections.abc import Sequence
from typing import NamedTuple, get_args

from bot.domain.action import Action
from bot.domain.approval import ApprovalPolicy
from bot.domain.ids import Severity, UserId
from bot.domain.setup import TableSetup

Said = Sequence[tuple[str, Severity]]
"""(who, which) of an incident, oldest first."""


class Rules(NamedTuple):
    """What holds for a proposal."""

    policy: ApprovalPolicy
    instead: Severity | None
    """The severity whose rules these are, where they are not those of the present one; None: they are."""


def rules_for(setup: TableSetup, action: Action, said: Said, by: UserId, follows: tuple[str, ...]) -> Rules:
    """When `by` proposes it. `follows`: the actions that it publishes or undoes, nearest first."""

    def of(severity: Severity) -> ApprovalPolicy:
        return setup.policy_for(
            action.name, severity, is_destructive=action.is_destructive, proposer=by, follows=follows
        )

    _who, present = said[-1]
    strictest = max(sorted(_that_may_count(said, by)), key=lambda severity: strictness(of(severity)))
    policy = of(strictest)
    return Rules(policy, None if policy == of(present) else strictest)


def strictness(policy: ApprovalPolicy) -> tuple[int, int, float, bool]:
    """How much it asks for: people, teams, the time for a veto, and no glass to break. Of equals the rules of the worse
    severity hold."""
    people = max(policy.required, policy.teams_asked)
    return people, policy.teams_asked, policy.hold.total_seconds(), policy.break_glass is None


def _that_may_count(said: Said, proposer: UserId) -> set[Severity]:
    """What somebody else said last, and the proposer since; every severity where nobody else has said one."""
    others = [index for index, (who, _severity) in enumerate(said) if who != proposer]
    return {severity for _who, severity in said[others[-1] :]} if others else set(get_args(Severity))
