"""What one person should see first: what waits for them, their incidents, their tables, what was promised next."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from bot.domain.approval import ApprovalPolicy
from bot.domain.errors import CouldNotLook
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.ids import TableName, UserId
from bot.domain.incident import Incident
from bot.domain.review_items import open_items
from bot.domain.setup import TableSetup
from bot.domain.trust import Trust, TrustState

Members = Callable[[Sequence[str]], frozenset[UserId]]
"""Everyone in some user groups; raises CouldNotLook."""
_WORST_FIRST = (TrustState.UNDER_REVIEW, TrustState.UNKNOWN, TrustState.TRUSTED)


@dataclass(frozen=True)
class OwnTable:
    """A table that concerns this person."""

    trust: Trust
    roles: tuple[str, ...]
    """`you decide about it`, `you answer for revenue_daily`; empty: no role in the configuration."""


@dataclass(frozen=True)
class Promise:
    """Something that is due at a moment."""

    at: datetime
    incident: Incident
    what: str


@dataclass(frozen=True)
class HomeFacts:
    """For one person, now. Only incidents that this person may know of."""

    waiting: tuple[tuple[Incident, ProposalView], ...]
    groups_unknown: bool
    """Whether a user group could not be read, so that something may wait that is not named."""
    mine: tuple[Incident, ...]
    other_open: tuple[Incident, ...]
    tables: tuple[OwnTable, ...]
    """Those with a role first, the worst first."""
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
    known = _Groups(members, user)
    mine = tuple(i for i in open_ones if user in (i.responder, i.opened_by))
    waiting = tuple(
        (i, view) for i in open_ones if (view := i.current_proposal) is not None and _waits(view, user, known, now)
    )
    return HomeFacts(
        waiting=waiting,
        groups_unknown=known.could_not_look,
        mine=mine,
        other_open=tuple(i for i in open_ones if i not in mine),
        tables=_tables(trusts, setups, user),
        promises=tuple(sorted((*_promises(open_ones, setups), *_to_mend(known_ones, user)), key=lambda p: p.at)),
        now=now,
    )


class _Groups:
    """Whether the person is in any of some groups; asks once a set of groups."""

    def __init__(self, members: Members, user: UserId) -> None:
        self._members = members
        self._user = user
        self._known: dict[tuple[str, ...], bool] = {}
        self.could_not_look = False

    def has_person(self, groups: tuple[str, ...]) -> bool:
        if groups and groups not in self._known:
            try:
                self._known[groups] = self._user in self._members(groups)
            except CouldNotLook:
                self._known[groups] = False
                self.could_not_look = True
        return self._known.get(groups, False)


def _waits(view: ProposalView, user: UserId, groups: _Groups, now: datetime) -> bool:
    """Whether this person's yes would count now."""
    proposal = view.proposal
    is_open = view.state is ProposalState.PROPOSED and now < proposal.expires_at
    has_said = user == proposal.proposed_by or any(approval.by == user for approval in view.approvals)
    return is_open and not has_said and _may_approve(proposal.policy, user, groups)


def _may_approve(policy: ApprovalPolicy, user: UserId, groups: _Groups) -> bool:
    return any(user in people.users or groups.has_person(people.groups) for people in policy.approvers)


def _tables(trusts: Iterable[Trust], setups: Mapping[TableName, TableSetup], user: UserId) -> tuple[OwnTable, ...]:
    found = [OwnTable(trust=trust, roles=_roles(setups.get(trust.table), user)) for trust in trusts]
    return tuple(sorted(found, key=lambda own: (not own.roles, _WORST_FIRST.index(own.trust.state), own.trust.table)))


def _roles(setup: TableSetup | None, user: UserId) -> tuple[str, ...]:
    """By name only: user groups are asked where something waits, not for every table."""
    if setup is None:
        return ()
    decides = any(user in people.users for policy in setup.policies.values() for people in policy.approvers)
    owned = [consumer.name for consumer in setup.consumers if consumer.owner == user]
    return (
        *(("you decide about it",) if decides else ()),
        *((f"you answer for {', '.join(owned)}",) if owned else ()),
    )


def _to_mend(incidents: Iterable[Incident], user: UserId) -> Iterator[Promise]:
    """What reviews have handed to this person, closed incidents included: a review goes on after its incident."""
    for incident in incidents:
        for item in open_items(incident):
            if item.owner == user and item.due is not None:
                yield Promise(at=item.due, incident=incident, what=f"you mend “{item.finding.term.rstrip('.')}”")


def _promises(open_ones: Iterable[Incident], setups: Mapping[TableName, TableSetup]) -> list[Promise]:
    found = []
    for incident in open_ones:
        setup = setups.get(incident.opened.table)
        told_at = max((view.queued_at for view in incident.notices.values()), default=None)
        if setup is not None and setup.consumers and told_at is not None:
            due = told_at + timedelta(minutes=setup.next_update_minutes)
            found.append(Promise(at=due, incident=incident, what="next word to the consumers"))
        view = incident.current_proposal
        if view is not None and view.state is ProposalState.PROPOSED:
            found.append(Promise(at=view.proposal.expires_at, incident=incident, what="the proposal expires"))
    return found
