"""How many approvals are there, and whose are missing: people count once, and each for one team only."""

from collections.abc import Iterable, Sequence

from bot.domain.approval import Approval, ApprovalPolicy, People
from bot.domain.ids import UserId


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
