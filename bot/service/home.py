"""What one person should see first: what waits for them, their incidents, their tables, what was promised next."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import date, datetime

from bot.incident.approval import ApprovalPolicy
from bot.incident.decisions import is_one_of, last_approval_at
from bot.incident.delivery import HeldView
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.incident import Incident
from bot.incident.notice import AFTER_CLOSE
from bot.incident.promises import next_word_due, planned_end_due
from bot.incident.review import open_items
from bot.incident.setup import TableSetup
from bot.incident.trust import Trust, TrustState
from bot.observation.ids import TableName, UserId
from bot.service.proposals.approving import Members, membership_of

_WORST_FIRST = (TrustState.UNDER_REVIEW, TrustState.UNKNOWN, TrustState.TRUSTED)


@dataclass(frozen=True)
class Promise:
    at: datetime
    incident: Incident
    what: str


@dataclass(frozen=True)
class HomeFacts:
    """For one person, now. Only incidents that this person may know of."""

    waiting: tuple[tuple[Incident, ProposalView], ...]
    held: tuple[tuple[Incident, HeldView], ...]
    """Notices that this person may send as the second one, also of an incident that has ended."""
    groups_unknown: bool
    """Whether a user group could not be read, so that something may wait that is not named."""
    mine: tuple[Incident, ...]
    other_open: tuple[Incident, ...]
    own: frozenset[TableName]
    """Tables of this person's team, and those with a consumer that this person answers for."""
    tables: tuple[Trust, ...]
    """The worst first."""
    promises: tuple[Promise, ...]
    """The next first; those that are overdue, too."""
    now: datetime


def home_facts(
    visible: Iterable[Incident],
    trusts: Iterable[Trust],
    setups: Mapping[TableName, TableSetup],
    user: UserId,
    members: Members,
    now: datetime,
) -> HomeFacts:
    """`visible`: the incidents that this person may know of."""
    known_ones = tuple(visible)
    open_ones = [incident for incident in known_ones if incident.is_open]
    mine = tuple(i for i in open_ones if user in (i.responder, i.opened_by))
    proposed = [(i, view) for i in open_ones if (view := i.current_proposal) is not None and _waits(view, user, now)]
    unsent = [(i, view) for i in known_ones for view in _unsent(i) if user != view.asked_by]
    policies = [*(view.proposal.policy for _, view in proposed), *(view.held.policy for _, view in unsent)]
    membership = membership_of(members, (people for policy in policies for people in policy.approvers), user)

    def is_named(policy: ApprovalPolicy) -> bool:
        return any(is_one_of(people, user, membership) for people in policy.approvers)

    tables = tuple(sorted(trusts, key=lambda trust: (_WORST_FIRST.index(trust.state), trust.table)))
    return HomeFacts(
        waiting=tuple((i, view) for i, view in proposed if is_named(view.proposal.policy)),
        held=tuple((i, view) for i, view in unsent if is_named(view.held.policy)),
        groups_unknown=bool(membership.unread),
        mine=mine,
        other_open=tuple(i for i in open_ones if i not in mine),
        own=frozenset(setup.name for setup in setups.values() if _is_own(setup, user, now.date())),
        tables=tables,
        promises=tuple(sorted((*_promises(open_ones, setups), *_to_mend(known_ones, user)), key=lambda p: p.at)),
        now=now,
    )


def _is_own(setup: TableSetup, user: UserId, today: date) -> bool:
    is_of_team = setup.team is not None and setup.team.has(user, today)
    return is_of_team or any(consumer.owner == user for consumer in setup.consumers)


def _waits(view: ProposalView, user: UserId, now: datetime) -> bool:
    proposal = view.proposal
    is_open = view.state is ProposalState.PROPOSED and now < last_approval_at(view)
    has_said = user == proposal.proposed_by or any(approval.by == user for approval in view.approvals)
    return is_open and not has_said


def _unsent(incident: Incident) -> list[HeldView]:
    """Notices that wait for a second person; once the incident has ended, only what is sent after it."""
    return [
        view
        for view in incident.held.values()
        if view.is_waiting and (incident.is_open or incident.previews[view.name][0].kind in AFTER_CLOSE)
    ]


def _to_mend(incidents: Iterable[Incident], user: UserId) -> Iterator[Promise]:
    """What reviews have handed to this person, closed incidents included: a review goes on after its incident."""
    for incident in incidents:
        for item in open_items(incident):
            if item.owner == user and item.due is not None:
                yield Promise(at=item.due, incident=incident, what=f"fix “{item.finding.term.rstrip('.')}”")


def _promises(open_ones: Iterable[Incident], setups: Mapping[TableName, TableSetup]) -> Iterator[Promise]:
    for incident in open_ones:
        due = next_word_due(incident, setups.get(incident.opened.table))
        if due is not None:
            yield Promise(at=due, incident=incident, what="next update to consumers")
        over = planned_end_due(incident)
        if over is not None:
            yield Promise(at=over, incident=incident, what="notify consumers that planned work is over")
        view = incident.current_proposal
        if view is not None and view.state is ProposalState.PROPOSED:
            yield Promise(at=view.proposal.expires_at, incident=incident, what="the proposal expires")
