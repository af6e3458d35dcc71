"""Whose table it is: the team that its data contract names."""

from collections.abc import Callable
from datetime import date

from bot.domain.ids import UserId
from bot.domain.record import Record

_ANSWERING = ("owner", "steward")
"""Words of a role (any case) that say who answers for the table, the first counts most."""
_SHOWN = 5


class TeamMember(Record):
    """One person, from the day of `since` (inclusive) to that of `until` (exclusive); None: no bound."""

    name: str
    role: str | None = None
    slack: UserId | None = None
    """None: the contract does not say who this is in Slack."""
    since: date | None = None
    until: date | None = None

    def is_there(self, on: date) -> bool:
        """Whether this person is of the team on that day."""
        return (self.since is None or self.since <= on) and (self.until is None or on < self.until)


class Team(Record):
    """Everybody who is or was of it, in the contract's order."""

    name: str | None = None
    members: tuple[TeamMember, ...] = ()

    def current(self, on: date) -> tuple[TeamMember, ...]:
        """Who is of it on that day, owners first, then stewards, then the others."""
        return tuple(sorted((each for each in self.members if each.is_there(on)), key=_place))

    def answering(self, on: date) -> UserId | None:
        """The Slack user who answers for the table: an owner, else a steward, else any member whom Slack knows."""
        return next((each.slack for each in self.current(on) if each.slack is not None), None)

    def has(self, user: UserId, on: date) -> bool:
        """Whether this Slack user is of it on that day."""
        return any(each.slack == user for each in self.current(on))

    def in_words(self, on: date, named: Callable[[TeamMember], str] = lambda member: member.name) -> str:
        """`Orders: Dana (Owner), Ben`, without a full stop; empty where neither team nor anybody of it has a name."""
        there = self.current(on)
        people = [f"{named(each)} ({each.role})" if each.role else named(each) for each in there[:_SHOWN]]
        more = f" and {len(there) - _SHOWN} more" if len(there) > _SHOWN else ""
        return ": ".join(part for part in (self.name or "", ", ".join(people) + more) if part)


def _place(member: TeamMember) -> int:
    role = (member.role or "").casefold()
    return next((place for place, word in enumerate(_ANSWERING) if word in role), len(_ANSWERING))
