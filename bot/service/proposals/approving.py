"""What people decide about a proposal, from wherever they do it; and what time alone does to it."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime

from bot.incident.approval import ApprovalPolicy, People, can_be_met, ids_mentioned
from bot.incident.decisions import (
    ALLOWED,
    NO_GROUPS,
    Act,
    Approve,
    Begin,
    BreakGlass,
    Membership,
    NotAllowed,
    PersonsAct,
    ResolveUnknown,
    Tick,
    Veto,
    decide,
)
from bot.incident.entries import Body, ExecutionEnded, OutcomeSettled
from bot.incident.execution import ProposalView
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.observation.errors import CouldNotLook
from bot.observation.ids import IncidentId, ProposalId, UserId
from bot.observation.sentences import counted
from bot.ports import Clock, Directory
from bot.service.incident_store import IncidentStore
from bot.service.proposals.executing import as_far_as
from bot.service.proposals.proposing import Proposals


@dataclass(eq=False)
class Approvals:
    """Approve, reject, veto, break the glass; remind, release, expire. The rule is `bot.incident.decisions.decide`."""

    _store: IncidentStore
    _proposals: Proposals
    _directory: Directory
    _clock: Clock

    def act(self, incident_id: IncidentId, proposal_id: ProposalId, act: PersonsAct, *, by: UserId) -> ProposalView:
        """What one person decides about what they were shown; returns the proposal after it.

        First the rule, then (for a yes) a look at the world, then the rule again where it is written. Raises Refused
        (with whom to ask; of an unknown outcome also where the world tells by now), Superseded (and then the proposal
        is), CouldNotLook.
        """
        incident = self._store.get(incident_id)
        view = incident.proposal(proposal_id)
        membership = self._membership(view, act, by)
        self._decide(incident, view, act, by, membership)
        if isinstance(act, Approve | BreakGlass):
            self._proposals.must_still_hold(incident_id, proposal_id)
        if isinstance(act, ResolveUnknown):
            self._proposals.must_be_unknown(incident_id, proposal_id, act.index)

        def written(now: Incident) -> list[Body]:
            decided = self._decide(now, now.proposals[proposal_id], act, by, membership)
            if isinstance(decided, OutcomeSettled) and not decided.happened:
                return [decided, _ended_by_word(now.proposals[proposal_id], decided)]
            return [decided]

        return self._store.write(incident_id, by=by, decide=written).proposals[proposal_id]

    def may_begin(self, incident_id: IncidentId, proposal_id: ProposalId, by: UserId) -> None:
        """Raises Refused, with what became of it or whom to ask, unless `by` may have it carried out now."""
        self.expire_due(incident_id)
        incident = self._store.get(incident_id)
        view = incident.proposal(proposal_id)
        self._decide(incident, view, Begin(), by, NO_GROUPS)

    def expire_due(self, incident_id: IncidentId) -> None:
        """Expire, release and remind whatever is due. Safe to call at any time, any number of times."""
        self._store.write(incident_id, by=WATERLINE, decide=lambda now: due_by_time(now, self._clock.now()))

    def _decide(self, incident: Incident, view: ProposalView, act: Act, by: str, membership: Membership) -> Body:
        at = incident.no_earlier(self._clock.now())
        return decide(view, act, by=by, at=at, membership=membership)

    def _membership(self, view: ProposalView, act: Act, by: UserId) -> Membership:
        """Which of the groups that matter hold this person, asked of Slack now. Nothing is asked where it is over."""
        if view.state not in ALLOWED[act.kind]:
            return NO_GROUPS
        return membership_of(self._directory.members, _who(view, act), by)


def due_by_time(incident: Incident, now: datetime) -> list[Body]:
    """What time alone has decided by `now`."""
    decided: list[Body] = []
    for view in incident.proposals.values() if incident.is_open else ():
        with suppress(NotAllowed):
            decided.append(decide(view, Tick(), by=WATERLINE, at=incident.no_earlier(now)))
    return decided


Members = Callable[[Sequence[str]], frozenset[UserId]]
"""Everyone in some user groups; raises CouldNotLook."""


def membership_of(members: Members, named: Iterable[People], by: str) -> Membership:
    """Which of the groups that are named hold this person, asked of Slack now."""
    within, unread = set(), set()
    for group in dict.fromkeys(group for people in named for group in people.groups):
        try:
            if by in members((group,)):
                within.add(group)
        except CouldNotLook:
            unread.add(group)
    return Membership(within=frozenset(within), unread=frozenset(unread))


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


def _who(view: ProposalView, act: Act) -> tuple[People, ...]:
    policy = view.proposal.policy
    match act:
        case Veto():
            return (policy.veto,) if policy.veto else ()
        case BreakGlass():
            return (*policy.approvers, policy.break_glass) if policy.break_glass else ()
        case _:
            return policy.approvers


def _ended_by_word(view: ProposalView, settled: OutcomeSettled) -> ExecutionEnded:
    sentence = f"A person confirmed that step {settled.index + 1} did not happen. {as_far_as(view, settled.index)}"
    return ExecutionEnded(proposal=view.proposal.id, outcome="refused", sentence=sentence)
