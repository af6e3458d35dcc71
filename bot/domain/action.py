"""What a module of `bot/actions/` declares, and what it may know when it proposes."""

from bot.domain.approval import ApprovalPolicy
from bot.domain.diagnosis import Case, Matches, Mode
from bot.domain.ids import EvidenceId, IncidentId, ProposalId, UserId
from bot.domain.record import Record, Utc


class Action(Record):
    """The declaration `ACTION` of one action module."""

    name: str
    """The module's name, verb and object: `rewind_table_and_job`."""
    title: str
    """As a button says it: `Rewind table and job`."""
    promise: str
    """What is true after it, one sentence."""
    needs: tuple[str, ...]
    """Evidence tasks that must have answered, fresh, before it can be proposed."""
    proofs: tuple[tuple[str, str], ...]
    """(evidence task, what its `ruled-out` proves), asked again on the new head; passed only if each rules out."""


class Plan(Record):
    """Everything an action may use to propose."""

    incident: IncidentId
    proposal: ProposalId
    case: Case
    mode: Mode
    match: Matches
    evidence: tuple[EvidenceId, ...]
    """Ids of the evidence that the proposal will cite."""
    policy: ApprovalPolicy
    by: UserId
    at: Utc
