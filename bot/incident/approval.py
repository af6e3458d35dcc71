"""The approval policy as data: who may decide about a proposal, how many, until when. `decisions.decide` applies it.

How many approvals are there, and whose are missing: people count once, and each for one team only.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import timedelta
from typing import Annotated, Literal

from pydantic import Field

from bot.observation.ids import UserId
from bot.observation.record import Documented, Record, Utc

_TEAMS_OF_DESTRUCTIVE = 2


_USERS = ["U0BEN00001", "U0CLEO0001"]


Via = Literal["slack", "terminal"]
"""Where somebody decided."""


class People(Documented):
    """Some people, by Slack user id, or by Slack user group; membership is read at each click."""

    users: tuple[UserId, ...] = Field(default=(), examples=[_USERS])
    """Slack user ids."""
    groups: tuple[str, ...] = Field(default=(), examples=[["S0APPROVE1"]])
    """Slack user group ids; membership is read at each click."""

    @property
    def is_nobody(self) -> bool:
        """Whether neither a person nor a group is named."""
        return not self.users and not self.groups


class VetoRule(People):
    """Who may stop what others have approved."""

    hold: timedelta = Field(default=timedelta(0), ge=timedelta(0), examples=["PT5M"])
    """How long an approved proposal waits for a veto before it can start. A veto counts until the execution begins."""


class GlassRule(People):
    """Who may approve alone in an emergency, and whom the incident's channel mentions then."""

    owners: tuple[Annotated[str, Field(pattern=r"^[UWS][A-Z0-9]+$")], ...] = Field(
        min_length=1, examples=[["U0DANA0001", "S0OWNERS01"]]
    )
    """Slack ids of the table's owners, people or user groups: the channel mentions them at once."""


class ApprovalPolicy(People):
    """Who may approve an action on a table."""

    users: tuple[UserId, ...] = Field(default=(), examples=[_USERS])
    """Slack user ids of people who may approve."""
    groups: tuple[str, ...] = Field(default=(), examples=[["S0APPROVE1"]])
    """Slack user groups whose members may approve; membership is read at each click."""
    teams: dict[str, People] = Field(default={}, examples=[{"streaming": {"groups": ["S0STREAM01"]}}])
    """Teams by name. Their people may approve too, and count for their team."""
    required: int = Field(default=1, ge=1, le=5, examples=[1])
    """How many different people must approve."""
    different_teams: int | None = Field(default=None, ge=1, le=5, examples=[2])
    """How many different teams must approve; each person counts for one. Default: 2 for a destructive action (2 people
    if fewer than 2 teams are named), else any."""
    expires_after: timedelta = Field(default=timedelta(minutes=30), gt=timedelta(0), examples=["PT30M"])
    """How long a proposal can be approved and started."""
    reminder_interval: timedelta = Field(default=timedelta(minutes=10), ge=timedelta(0), examples=["PT10M"])
    """How often people are reminded while nobody has decided; 0: never."""
    remind: People = People()
    """Who is reminded; by default those who may approve and have not yet."""
    veto: VetoRule | None = None
    """Who may stop a proposal that others approved; by default nobody."""
    break_glass: GlassRule | None = None
    """Who may approve alone in an emergency, with a reason; by default nobody."""

    @property
    def teams_asked(self) -> int:
        """How many different teams must be among those who approve; 0 where teams do not matter."""
        return self.different_teams if self.different_teams is not None and self.different_teams > 1 else 0

    @property
    def hold(self) -> timedelta:
        """How long it waits for a veto once it is approved."""
        return self.veto.hold if self.veto is not None else timedelta(0)

    @property
    def approvers(self) -> tuple[People, ...]:
        """Everyone who may approve, the teams last."""
        return (People(users=self.users, groups=self.groups), *self.teams.values())

    @property
    def _everybody(self) -> tuple[People, ...]:
        """Everyone whom the policy names but the owners of its break-glass rule."""
        return (*self.approvers, self.remind, *(rule for rule in (self.veto, self.break_glass) if rule is not None))

    @property
    def all_groups(self) -> tuple[str, ...]:
        """Every user group that the policy names, once."""
        return tuple(dict.fromkeys(group for people in self._everybody for group in people.groups))

    @property
    def named(self) -> frozenset[str]:
        """The ids of everyone and every group that the policy names: whom its sentences may mention."""
        named = (each for people in self._everybody for each in (*people.users, *people.groups))
        return frozenset((*named, *(self.break_glass.owners if self.break_glass is not None else ())))

    def when_destructive(self, proposer: UserId) -> "ApprovalPolicy":
        """The same for an action that is destructive: two teams, unless the policy says a number itself.

        A policy with fewer than two teams asks for two people instead, as far as it names them beside the proposer:
        nobody has to change the configuration at night before a repair can be given up.
        """
        if self.different_teams is not None:
            return self
        if len(self.teams) >= _TEAMS_OF_DESTRUCTIVE:
            return self.model_copy(update={"different_teams": _TEAMS_OF_DESTRUCTIVE})
        has_group = any(people.groups for people in self.approvers)
        named = {user for people in self.approvers for user in people.users} - {proposer}
        people = _TEAMS_OF_DESTRUCTIVE if has_group else min(_TEAMS_OF_DESTRUCTIVE, len(named))
        return self.model_copy(update={"required": max(self.required, people)})


class Approval(Record):
    """One person's yes, bound to the digest that was shown."""

    by: UserId
    at: Utc
    digest: str
    teams: tuple[str, ...] = ()
    """The policy's teams that the person was in when the click came."""
    via: Via = "slack"

    @property
    def where(self) -> str:
        """See `where`."""
        return where(self.via)


def where(via: Via | None) -> str:
    """` in a terminal`; empty for Slack, and where it is not known."""
    return " in a terminal" if via == "terminal" else ""


def teams_covered(teams_of: Iterable[Sequence[str]]) -> int:
    """How many different teams can be covered when each person stands for one of theirs (a largest matching)."""
    people = [tuple(teams) for teams in teams_of]
    stands_for: dict[str, int] = {}

    def place(person: int, asked: set[str]) -> bool:
        for team in people[person]:
            if team not in asked:
                asked.add(team)
                if team not in stands_for or place(stands_for[team], asked):
                    stands_for[team] = person
                    return True
        return False

    return sum(place(person, set()) for person in range(len(people)))


def can_be_met(
    policy: ApprovalPolicy,
    proposer: UserId | None,
    members: Mapping[str, frozenset[UserId]],
    gone: Collection[UserId],
) -> bool:
    """Whether the people who are there are enough, all of them together. `members`: of each group that was read."""

    def there(people: People) -> set[UserId]:
        found = {*people.users, *(user for group in people.groups for user in members.get(group, ()))}
        return found - {*gone, proposer}

    teams = {name: there(people) for name, people in policy.teams.items()}
    everyone = set[UserId]().union(*(there(people) for people in policy.approvers))
    stand_for = [[name for name, people in teams.items() if user in people] for user in everyone]
    return len(everyone) >= policy.required and teams_covered(stand_for) >= policy.teams_asked


def missing(policy: ApprovalPolicy, given: Sequence[Approval]) -> tuple[int, int]:
    """(people, teams) that are still to come; (0, 0) when the proposal is approved."""
    once = _once(given)
    people = max(0, policy.required - len(once))
    teams = max(0, policy.teams_asked - teams_covered(a.teams for a in once))
    return max(people, teams), teams


def missing_in_words(policy: ApprovalPolicy, given: Sequence[Approval]) -> str:
    """`1 more approval, from another team`; `2 approvals, from 2 different teams` while there is none."""
    people, teams = missing(policy, given)
    more = "more " if given else ""
    words = f"{people} {more}approval{'s' if people > 1 else ''}"
    match teams:
        case 0:
            return words
        case 1:
            return f"{words}, {'' if people == 1 else 'one of them '}from another team"
        case _:
            return f"{words}, from {teams} {'other' if given else 'different'} teams"


def whom_to_ask(policy: ApprovalPolicy, proposer: UserId, given: Sequence[Approval] = ()) -> str:
    """A sentence that mentions everyone whose yes would count (Slack mention syntax).

    Left out are the proposer, who has approved, and, where a team is missing, whoever would not add one.
    """
    left_out = {proposer, *(approval.by for approval in given)}
    if missing(policy, given)[1]:
        covered = teams_covered(a.teams for a in _once(given))
        helpful = [
            (name, people)
            for name, people in policy.teams.items()
            if teams_covered([*(a.teams for a in _once(given)), (name,)]) > covered
        ]
        asked = [f"team {name} ({named})" for name, people in helpful if (named := mentions((people,), left_out))]
        names = " or ".join(asked)
    else:
        names = mentions(policy.approvers, left_out)
    return f"Ask {names}." if names else "The policy names nobody else: ask the table's owners."


def mentions(people: Sequence[People], left_out: Iterable[UserId] = ()) -> str:
    """`@Ben or @orders-approvers`, in Slack's mention syntax, each once."""
    out = frozenset(left_out)
    users = [f"<@{user}>" for some in people for user in some.users if user not in out]
    groups = [f"<!subteam^{group}>" for some in people for group in some.groups]
    *others, last = dict.fromkeys(users + groups) or ("",)
    return f"{', '.join(others)} or {last}" if others else last


def ids_mentioned(ids: Iterable[str]) -> str:
    """People and user groups, in Slack's mention syntax."""
    return ", ".join(f"<!subteam^{each}>" if each.startswith("S") else f"<@{each}>" for each in ids)


def _once(given: Sequence[Approval]) -> list[Approval]:
    """One approval a person: the first."""
    return list({approval.by: approval for approval in reversed(given)}.values())[::-1]
