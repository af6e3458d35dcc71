"""Who may approve, and the one rule that decides every click on Slack, in the terminal and on the web."""

from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from bot.domain.ids import UserId
from bot.domain.record import Record, Utc


class ApprovalPolicy(Record):
    """Who may approve an action on a table. Data, from the configuration file."""

    users: tuple[UserId, ...] = Field(
        default=(), description="Slack user ids that may approve.", examples=[["U0BEN00001", "U0CLEO0001"]]
    )
    groups: tuple[str, ...] = Field(
        default=(),
        description="Slack user group ids whose members may approve; membership is read at each click.",
        examples=[["S0APPROVE1"]],
    )
    required: int = Field(default=1, ge=1, le=5, description="How many different people must approve.", examples=[1])
    expires_after: timedelta = Field(
        default=timedelta(minutes=30),
        gt=timedelta(0),
        description="How long a proposal can be approved, as an ISO 8601 duration or in seconds.",
        examples=["PT30M"],
    )


class Approval(Record):
    """One person's yes, bound to the digest that was shown."""

    by: UserId
    at: Utc
    digest: str


class Granted(Record):
    """The click counts; `complete` says whether the proposal is now approved."""

    kind: Literal["granted"] = "granted"
    complete: bool


class NotAllowed(Record):
    """The click does not count; `sentence` says why and whom to ask."""

    kind: Literal["not-allowed"] = "not-allowed"
    sentence: str


Decision = Annotated[Granted | NotAllowed, Field(discriminator="kind")]


def decide(
    policy: ApprovalPolicy,
    *,
    by: UserId,
    proposer: UserId,
    given: tuple[Approval, ...],
    group_members: frozenset[UserId] | None,
    at: Utc,
    expires_at: Utc,
) -> Decision:
    """Whether `by` may approve now. `group_members` None means that the groups could not be read.

    The proposer never approves, one person counts once, and the end of the term is exclusive.
    """
    if at >= expires_at:
        return NotAllowed(sentence=f"This proposal expired at {expires_at:%H:%M} UTC. Propose it again.")
    if by == proposer:
        return NotAllowed(
            sentence="You proposed this, so somebody else must approve it. " + whom_to_ask(policy, proposer)
        )
    if any(approval.by == by for approval in given):
        return NotAllowed(sentence="You have approved this already; another approver is needed.")
    if by not in policy.users:
        if policy.groups and group_members is None:
            return NotAllowed(
                sentence="The approvers' user group could not be read, so your click cannot count. "
                "Nothing was changed. Try again, or ask an approver who is named in the policy."
            )
        if by not in (group_members or frozenset()):
            return NotAllowed(sentence="You are not an approver for this. " + whom_to_ask(policy, proposer))
    return Granted(complete=len(given) + 1 >= policy.required)


def whom_to_ask(policy: ApprovalPolicy, proposer: UserId) -> str:
    """A sentence that mentions everyone who may approve (Slack mention syntax), but not the proposer."""
    people = [f"<@{user}>" for user in policy.users if user != proposer]
    names = people + [f"<!subteam^{group}>" for group in policy.groups]
    return f"Ask {' or '.join(names)}." if names else "The policy names nobody else: ask the table's owners."
