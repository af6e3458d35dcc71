"""What the configuration says of one table, as the rules need it.

A job that compacts the table, and how its scheduler is asked over HTTP to pause it.

Whose table it is: the team that its data contract names.
"""

from collections.abc import Callable, Sequence
from datetime import date, timedelta

from bot.incident.approval import ApprovalPolicy
from bot.observation.contract import CopyRule, TableContract
from bot.observation.findings import Contract
from bot.observation.ids import Severity, TableName, UserId
from bot.observation.readers import Consumer, Untold
from bot.observation.record import Record
from bot.observation.replay import ReplayRecipe

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


NEXT_UPDATE_MINUTES = 30
"""What consumers are promised where nothing else is said: the next word comes within this time."""


class TableSetup(Record):
    """One watched table: its writer, its promises, who reads it, and who decides about it."""

    name: TableName
    job: str | None
    """The configured job that writes it; None when nothing of Flink's can be asked."""
    other_jobs: tuple[str, ...] = ()
    """Further configured jobs that write it, or did."""
    contract: TableContract
    consumers: tuple[Consumer, ...]
    untold: tuple[Untold, ...] = ()
    """Channels of its data contract that no notice reaches."""
    policies: dict[str, ApprovalPolicy]
    """Action, `destructive` or `default`, each also as `NAME/sev1` for one severity -> policy."""
    next_update_minutes: int
    """What consumers are promised: the next word comes within this time."""
    warn_after_minutes: int = 2
    """After this time the first warning goes out by itself, unless a responder has sent it before."""
    keep_repair_branch: bool = False
    """Whether the branch of a repair stays after it was published."""
    replay: ReplayRecipe | None = None
    """How its rows are made once more from the source; None: nothing is declared."""
    copies: CopyRule = CopyRule()
    """Which copy of a row is the right one."""
    review_due: timedelta = timedelta(days=14)
    """What a review finds is to be mended within this time."""
    review_owners: dict[Contract, UserId] = {}
    """Contract -> who mends what is found in it; else who answers for the table, else the incident's responder."""
    team: Team | None = None
    """Whose table it is, as its data contract says; None: it does not."""

    def policy_for_notice(self, kind: str, severity: Severity) -> ApprovalPolicy | None:
        """Who must approve such a notice before it is sent; None: nobody. The most specific one, never the default."""
        keys = [key for name in (f"notice:{kind}", "notice") for key in (f"{name}/{severity}", name)]
        return next((self.policies[key] for key in keys if key in self.policies), None)

    def policy_for(
        self, action: str, severity: Severity, *, is_destructive: bool, proposer: UserId, follows: Sequence[str] = ()
    ) -> ApprovalPolicy:
        """The most specific policy: of the action, else of those that it `follows` (which it publishes or undoes, and
        what that did; nearest first), else of destructive actions, else the default; each first for the severity. A
        destructive action is approved by two teams unless its policy says a number itself."""
        names = (action, *follows, *(("destructive",) if is_destructive else ()), "default")
        keys = [key for name in names for key in (f"{name}/{severity}", name)]
        policy = next(self.policies[key] for key in keys if key in self.policies)
        return policy.when_destructive(proposer) if is_destructive else policy
