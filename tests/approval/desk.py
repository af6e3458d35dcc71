"""A proposal on the desk of several people: acts through the one rule, and the fold that tells what came of them."""

from dataclasses import dataclass, field
from datetime import datetime, timedelta

from bot.incident import entries as e
from bot.incident.approval import ApprovalPolicy, GlassRule, People, VetoRule
from bot.incident.decisions import Act, Membership, NotAllowed, decide
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import fold
from bot.incident.journal import Entry
from bot.incident.proposal import Proposal
from bot.observation.ids import IncidentId, UserId
from bot.observation.table import Window
from tests import orders_table as orders
from tests.decisions import ANA, BEN, CHANNEL, EVE, RUNBOOK, rewind

CLEO, DANA, FINN = UserId("U0CLEO0003"), UserId("U0DANA0004"), UserId("U0FINN0006")
EVERYONE = (ANA, BEN, CLEO, DANA, EVE, FINN)
OWNERS = "S0OWNERS01"
ID = IncidentId("wl-1")
POLICY = ApprovalPolicy(
    users=(BEN, CLEO),
    required=1,
    veto=VetoRule(users=(DANA,)),
    break_glass=GlassRule(users=(EVE,), owners=(OWNERS,)),
    expires_after=timedelta(minutes=30),
    reminder_interval=timedelta(minutes=10),
)
HELD = POLICY.model_copy(update={"veto": VetoRule(users=(DANA,), hold=timedelta(minutes=5))})
TWO_TEAMS = POLICY.model_copy(
    update={
        "users": (),
        "required": 2,
        "different_teams": 2,
        "teams": {"streaming": People(groups=("S0STREAM01",)), "lakehouse": People(groups=("S0LAKE0001",))},
    }
)
S = ProposalState
_STOPPED = frozenset({S.REJECTED, S.VETOED, S.EXPIRED, S.SUPERSEDED})
MOVES: dict[ProposalState, frozenset[ProposalState]] = dict.fromkeys(S, frozenset()) | {
    S.PROPOSED: frozenset({S.HELD, S.APPROVED}) | _STOPPED,
    S.HELD: frozenset({S.APPROVED}) | _STOPPED,
    S.APPROVED: frozenset({S.EXECUTING}) | _STOPPED,
    S.EXECUTING: frozenset({S.APPLIED, S.REFUSED, S.UNKNOWN}),
    S.UNKNOWN: frozenset({S.APPLIED, S.REFUSED, S.EXECUTING}),
}
"""From each state, the states that may follow."""


@dataclass
class Desk:
    """Ana has proposed the rewind under a policy; time and user groups are what a test says."""

    policy: ApprovalPolicy = POLICY
    now: datetime = orders.NINE
    groups: dict[str, set[UserId]] = field(default_factory=dict)
    entries: list[Entry] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.starts_anew(self.policy)

    def starts_anew(self, policy: ApprovalPolicy) -> None:
        """The same proposal under this policy; nobody has decided anything."""
        self.entries.clear()
        opened = e.IncidentOpened(
            table=orders.TABLE, job=orders.JOB, runbook=RUNBOOK, severity="sev2", channel=CHANNEL,
            window=Window(since=None, until=orders.HEAD), trusted=None, metadata_location=orders.METADATA_LOCATION,
            summary="",
        )  # fmt: skip
        proposal = rewind(self.now).model_copy(update={"policy": policy, "proposed_by": ANA})
        self.writes(opened, by=ANA)
        self.writes(e.ProposalMade(step=None, proposal=proposal), by=ANA)

    @property
    def view(self) -> ProposalView:
        """The proposal as the entries tell it."""
        return next(iter(fold(self.entries).proposals.values()))

    @property
    def proposal(self) -> Proposal:
        """What is asked for."""
        return self.view.proposal

    @property
    def state(self) -> ProposalState:
        return self.view.state

    def after(self, **time: float) -> "Desk":
        self.now += timedelta(**time)
        return self

    def writes(self, body: e.Body, *, by: str) -> None:
        """One more entry, whatever it says."""
        seq = len(self.entries) + 1
        self.entries.append(
            Entry(incident_id=ID, seq=seq, at=self.now, by=by, body=body, prev_hash="0" * 64, hash="0" * 64)
        )

    def does(self, act: Act, by: str, *, unread: frozenset[str] = frozenset()) -> e.Body | NotAllowed:
        """The act, decided by the rule and written down when it is allowed."""
        within = frozenset(group for group, people in self.groups.items() if by in people) - unread
        membership = Membership(within=within, unread=unread)
        try:
            decided = decide(self.view, act, by=by, at=self.now, membership=membership)
        except NotAllowed as refused:
            return refused
        self.writes(decided, by=by)
        return decided
