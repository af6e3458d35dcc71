"""What the journal can say about the decision on a proposal; `entries` has them with all the others."""

from typing import Literal

from pydantic import Field

from bot.domain.approval import Approval, Via, where
from bot.domain.ids import ProposalId, UserId
from bot.domain.record import Record, Utc


class ProposalApproved(Record):
    kind: Literal["proposal-approved"] = "proposal-approved"
    proposal: ProposalId
    approval: Approval
    complete: bool
    held_until: Utc | None = None
    """Set with the last approval where a veto may come: before then it cannot be carried out."""


class GlassBroken(Record):
    """One person approved alone, in an emergency. The channel mentions the owners; the review looks at it."""

    kind: Literal["glass-broken"] = "glass-broken"
    proposal: ProposalId
    approval: Approval
    reason: str
    owners: tuple[str, ...]


class VetoTimeEnded(Record):
    """Nobody stopped it while it was held: it can be carried out."""

    kind: Literal["veto-time-ended"] = "veto-time-ended"
    proposal: ProposalId


class ApprovalReminded(Record):
    """Nobody had decided, so people were asked again: the `number`-th time."""

    kind: Literal["approval-reminded"] = "approval-reminded"
    proposal: ProposalId
    number: int


class ProposalEnded(Record):
    """It can no longer be carried out: rejected or vetoed by a person, expired, or superseded by the world."""

    kind: Literal["proposal-ended"] = "proposal-ended"
    proposal: ProposalId
    how: Literal["rejected", "vetoed", "expired", "superseded"]
    reason: str
    via: Via | None = Field(default=None, exclude_if=lambda via: via is None)
    """Where a person decided it, as far as that is on record."""

    @property
    def where(self) -> str:
        """` in a terminal`, in words."""
        return where(self.via)


class OutcomeSettled(Record):
    """A person said whether a step of the execution happened, of which no source knew any more."""

    kind: Literal["outcome-settled"] = "outcome-settled"
    proposal: ProposalId
    index: int
    """Of the effect."""
    happened: bool
    """True: the execution goes on after it. False: it ends, and nothing is repeated."""
    reason: str
    by: UserId
    at: Utc
    via: Via = "slack"

    @property
    def where(self) -> str:
        """` in a terminal`, in words."""
        return where(self.via)


ApprovalEntry = ProposalApproved | GlassBroken | VetoTimeEnded | ApprovalReminded | ProposalEnded | OutcomeSettled
"""What tells how a proposal was decided."""
