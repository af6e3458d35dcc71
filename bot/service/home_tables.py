"""Which tables are a person's own at App Home, and in what way: by configuration, contract, and what lineage saw."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date

from bot.domain.approval import ApprovalPolicy
from bot.domain.errors import CouldNotLook
from bot.domain.ids import TableName, UserId
from bot.domain.incident import Incident
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
    """`you approve for it`, `you answer for revenue_daily`, …; empty: it is none of theirs."""


class Groups:
    """Whether one person is in any of some user groups; each group is asked once."""

    def __init__(self, members: Members, user: UserId) -> None:
        self._members = members
        self._user = user
        self._known: dict[str, bool] = {}
        self.could_not_look = False

    def has_person(self, groups: Iterable[str]) -> bool:
        """A group that cannot be read has nobody, and is remembered as not looked at."""
        return any(self._is_in(group) for group in groups)

    def _is_in(self, group: str) -> bool:
        if group not in self._known:
            try:
                self._known[group] = self._user in self._members([group])
            except CouldNotLook:
                self._known[group] = False
                self.could_not_look = True
        return self._known[group]


def may_approve(policy: ApprovalPolicy, user: UserId, groups: Groups) -> bool:
    """Whether the policy names this person, or a group of theirs."""
    named = any(user in people.users for people in policy.approvers)
    return named or groups.has_person(group for people in policy.approvers for group in people.groups)


def own_tables(
    trusts: Iterable[Trust],
    setups: Mapping[TableName, TableSetup],
    incidents: Iterable[Incident],
    user: UserId,
    groups: Groups,
    today: date,
) -> tuple[OwnTable, ...]:
    """Those with a role first, the worst first. `incidents`: those that this person may know of, for who was seen
    reading; lineage itself is not asked."""
    answers_for = frozenset(c.name for setup in setups.values() for c in setup.consumers if c.owner == user)
    seen = _seen_reading(incidents)
    found = [
        OwnTable(
            trust=trust,
            roles=tuple(_roles(setups.get(trust.table), user, groups, today))
            + _readers(seen.get(trust.table, ()), setups.get(trust.table), answers_for),
        )
        for trust in trusts
    ]
    return tuple(sorted(found, key=lambda own: (not own.roles, _WORST_FIRST.index(own.trust.state), own.trust.table)))


def _roles(setup: TableSetup | None, user: UserId, groups: Groups, today: date) -> Iterator[str]:
    if setup is None:
        return
    if setup.team is not None and setup.team.has(user, today):
        yield "your team owns it"
    if any(may_approve(policy, user, groups) for policy in setup.policies.values()):
        yield "you approve for it"
    owned = [consumer.name for consumer in setup.consumers if consumer.owner == user]
    if owned:
        yield f"you own {', '.join(owned)}"


def _seen_reading(incidents: Iterable[Incident]) -> dict[TableName, tuple[str, ...]]:
    """Table -> consumers whom its newest incident saw reading it, themselves or through others."""
    noted = [incident for incident in incidents if incident.readers is not None]
    return {
        incident.opened.table: tuple(reader.consumer for reader in incident.readers.observed)
        for incident in sorted(noted, key=lambda each: each.opened_at)
        if incident.readers is not None
    }


def _readers(seen: Iterable[str], setup: TableSetup | None, answers_for: frozenset[str]) -> tuple[str, ...]:
    """Consumers of this person that are declared for another table, and were seen reading this one."""
    declared = {consumer.name for consumer in setup.consumers} if setup is not None else set()
    found = [name for name in dict.fromkeys(seen) if name in answers_for and name not in declared]
    return (f"{', '.join(found)} reads it",) if found else ()
