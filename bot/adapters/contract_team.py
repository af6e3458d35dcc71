"""The `team` of a data contract, in both forms of the standard: the object with `members` (v3.1), the list (v3.0).

Read softly: a member that is not understood is left out and named by `waterline doctor`; the others count. Who a member
is in Slack stands in a custom property (`slackId`), or is the username itself where that is a Slack user id.
"""

import re
from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path

from ruamel.yaml.error import YAMLError

from bot.adapters.contract_yaml import team_as_written
from bot.domain.errors import BadConfiguration
from bot.domain.ids import UserId
from bot.domain.inert import visible
from bot.domain.team import Team, TeamMember

_SLACK_USER = re.compile(r"<?@?([UW][A-Z0-9]{6,})>?")
_NAMES_OF_IT = frozenset({"slack", "slackid", "slackuser", "slackuserid"})
"""Custom properties (any case, `-` and `_` aside) that hold a Slack user id."""
_LONGEST = 80


def team_of(file: Path) -> tuple[Team | None, tuple[str, ...]]:
    """(the team, what of it was not understood, a clause each). None: the contract names nobody. Raises
    BadConfiguration when the file cannot be read."""
    try:
        written = team_as_written(file.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, YAMLError) as error:
        raise BadConfiguration(
            f"{file}: the data contract cannot be read.",
            f"Expected a readable YAML file in UTF-8; found {type(error).__name__}.",
            "Correct `contract_file` in the configuration, or make the file readable.",
        ) from error
    problems: list[str] = []
    members = tuple(_members(written, problems))
    name = _text(written, "name") or _text(written, "id") if isinstance(written, Mapping) else None
    team = Team(name=name, members=members) if name or members else None
    return team, tuple(problems)


def _members(written: object, problems: list[str]) -> Iterator[TeamMember]:
    listed = written.get("members") if isinstance(written, Mapping) else written
    if listed is None:
        return
    if not isinstance(listed, list):
        where = "`team.members`" if isinstance(written, Mapping) else "`team`"
        problems.append(f"{where} is {_kind(listed)}, not a list of members")
        return
    for number, each in enumerate(listed, start=1):
        place = f"member {number} of `team`"
        if not isinstance(each, Mapping):
            problems.append(f"{place} is {_kind(each)}, not an object")
            continue
        name = _text(each, "name") or _text(each, "username") or _text(each, "id")
        if name is None:
            problems.append(f"{place} has no username")
            continue
        yield TeamMember(
            name=name,
            role=_text(each, "role"),
            slack=_slack(each, f"{place} ({name})", problems),
            since=_day(each, "dateIn", f"{place} ({name})", problems),
            until=_day(each, "dateOut", f"{place} ({name})", problems),
        )


def _slack(member: Mapping[str, object], place: str, problems: list[str]) -> UserId | None:
    custom = member.get("customProperties")
    if custom is not None and not isinstance(custom, list):
        problems.append(f"`customProperties` of {place} is {_kind(custom)}, not a list")
    for prop in custom if isinstance(custom, list) else ():
        if isinstance(prop, Mapping) and _bare(prop.get("property")) in _NAMES_OF_IT:
            found = _SLACK_USER.fullmatch(str(prop.get("value")).strip())
            if found is None:
                problems.append(f"{prop.get('property')} of {place} is no Slack user id: {_short(prop.get('value'))}")
            return None if found is None else UserId(found[1])
    named = _SLACK_USER.fullmatch(_text(member, "username") or "")
    return None if named is None else UserId(named[1])


def _day(member: Mapping[str, object], key: str, place: str, problems: list[str]) -> date | None:
    told = _text(member, key)
    if told is None:
        return None
    try:
        return date.fromisoformat(told[:10])
    except ValueError:
        problems.append(f"{key} of {place} is no day: {_short(told)}")
        return None


def _text(told: Mapping[str, object], key: str) -> str | None:
    value = told.get(key)
    return visible(str(value).strip())[:_LONGEST] or None if isinstance(value, str | int) else None


def _bare(name: object) -> str:
    return str(name).lower().replace("_", "").replace("-", "")


def _short(value: object) -> str:
    return visible(str(value))[:40]


def _kind(value: object) -> str:
    names = {dict: "an object", list: "a list", str: "text"}
    return next((words for kind, words in names.items() if isinstance(value, kind)), f"a {type(value).__name__}")
