"""The states of a proposal, and how far its execution has come."""

from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from bot.incident.approval import Approval
from bot.incident.entries import (
    EffectEnded,
    EffectStarted,
    ExecutionEnded,
    GlassBroken,
    OutcomeSettled,
    ProposalEnded,
    Verified,
)
from bot.incident.proposal import Proposal
from bot.observation.ids import StepId


class ProposalState(StrEnum):
    PROPOSED = "proposed"
    HELD = "held"
    """Approved, and waiting for a veto."""
    APPROVED = "approved"
    EXECUTING = "executing"
    APPLIED = "applied"
    REFUSED = "refused"
    UNKNOWN = "unknown"
    REJECTED = "rejected"
    VETOED = "vetoed"
    EXPIRED = "expired"
    SUPERSEDED = "superseded"


_S = ProposalState


AT_WORK = frozenset({_S.EXECUTING, _S.UNKNOWN})
"""In these the bot carries on by itself."""


UNDECIDED = frozenset({_S.PROPOSED, _S.HELD, _S.APPROVED})
"""In these people may still approve, veto or begin."""


UNFINISHED = UNDECIDED | AT_WORK
"""Nothing else of the incident is begun or ended over such a proposal."""


@dataclass
class ProposalView:
    """One proposal with everything that happened to it."""

    proposal: Proposal
    step: StepId | None
    gone: str = ""
    """See `ProposalMade`."""
    state: ProposalState = ProposalState.PROPOSED
    approvals: list[Approval] = field(default_factory=list)
    held_until: datetime | None = None
    """Set once it is approved where a veto may come."""
    glass: GlassBroken | None = None
    reminders: int = 0
    reminded_at: datetime | None = None
    ended: ProposalEnded | None = None
    ended_by: str | None = None
    ended_at: datetime | None = None
    execution_started_at: datetime | None = None
    executed_by: str | None = None
    started: dict[int, EffectStarted] = field(default_factory=dict)
    """Effect index -> its newest intent."""
    intents: dict[int, int] = field(default_factory=dict)
    """Effect index -> how many intents there were."""
    done: dict[int, EffectEnded] = field(default_factory=dict)
    """Effect index -> its newest end."""
    settled: list[OutcomeSettled] = field(default_factory=list)
    """What people said of steps whose outcome was not known."""
    result: ExecutionEnded | None = None
    verified: Verified | None = None
    is_proof_asked: bool = False
    """Whether a person asks for it anew, and has no answer yet."""

    @property
    def denied(self) -> frozenset[int]:
        """Indices of the effects of which a person settled that they did not happen."""
        return frozenset(each.index for each in self.settled if not each.happened)

    @property
    def refused(self) -> frozenset[int]:
        """Indices of the effects that ended as refused."""
        return frozenset(index for index, ended in self.done.items() if ended.how == "refused")

    @property
    def applied(self) -> dict[int, EffectEnded]:
        """Effect index -> its end, of the effects that were done."""
        return {index: ended for index, ended in self.done.items() if ended.how == "done"}

    @property
    def next_effect(self) -> int | None:
        """Index of the first effect that is not done; None when all are."""
        return next((index for index in range(len(self.proposal.effects)) if index not in self.applied), None)
