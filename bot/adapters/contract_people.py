"""The `team` of a data contract, in both forms of the standard: the object with `members` (v3.1), the list (v3.0).

Read softly: a member that is not understood is left out and named by `waterline doctor`; the others count. Who a member
is in Slack stands in a custom property (`slackId`), or is the username itself where that is a Slack user id.

Who is told of a table because its data contract says so: support channels for announcements.

Slack channels (by id, or an address with one) and e-mail addresses can be told; of the others it is said why not.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from pathlib import Path

from open_data_contract_standard.model import OpenDataContractStandard, Support
from pydantic import ValidationError
from ruamel.yaml.error import YAMLError

from bot.adapters.contracts import read_contract, team_as_written
from bot.domain.errors import BadConfiguration
from bot.domain.ids import UserId
from bot.domain.inert import visible
from bot.domain.reads import Consumer, Untold
from bot.domain.setup import Team, TeamMember

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


_SLACK_ID = re.compile(r"(?:^|/)([CG][A-Z0-9]{6,})(?:$|[/?#])")
_TOLD = frozenset({"", "announcements", "notifications"})
"""Scopes (any case) in which people expect to be told; in the others they ask."""


def announced_to(file: Path, *, has_mail: bool) -> tuple[tuple[Consumer, ...], tuple[Untold, ...]]:
    """(who can be told, channels of the contract that cannot be). `has_mail`: whether a mail server is configured.
    Raises BadConfiguration."""
    told: list[Consumer] = []
    others: list[Untold] = []
    contract: OpenDataContractStandard = read_contract(file)
    for support in contract.support or []:
        if (support.scope or "").lower() not in _TOLD:
            continue
        consumer = _consumer(support)
        if consumer is None or (consumer.email and not has_mail):
            name = support.channel or support.id or "a channel without a name"
            others.append(Untold(name=name, why=_why_not(support, consumer)))
        else:
            told.append(consumer)
    return tuple(told), tuple(others)


def once_each(consumers: Iterable[Consumer]) -> tuple[Consumer, ...]:
    """The first of each name, and nobody who is told at the very same places as one before: a contract may name the
    channel that the settings name, too."""
    found: dict[str, Consumer] = {}
    places: set[tuple[object, ...]] = set()
    for each in consumers:
        where = (each.channel, each.email, each.webhook, each.folder)
        if each.name not in found and (each.kind != "channel" or where not in places):
            found[each.name] = each
        places.add(where)
    return tuple(found.values())


def _consumer(support: Support) -> Consumer | None:
    name = re.sub(r"[/\r\n]+", "-", (support.channel or support.id or "").strip())[:80]
    tool, url = (support.tool or "").lower(), support.url or ""
    mail = url.removeprefix("mailto:").split("?")[0] if url.startswith("mailto:") else support.channel or ""
    slack = _SLACK_ID.search(url) or _SLACK_ID.search(support.channel or "")
    try:
        if tool in {"email", ""} and "@" in mail:
            return Consumer(name=name, kind="channel", email=(mail,))
        if tool in {"slack", ""} and slack is not None:
            return Consumer(name=name, kind="channel", channel=slack[1])
    except ValidationError:
        return None
    return None


def _why_not(support: Support, consumer: Consumer | None) -> str:
    if consumer is not None:
        return "it is told by e-mail, and no mail server is configured"
    match (support.tool or "").lower():
        case "slack":
            return "the contract gives no Slack channel id for it"
        case "email":
            return "the contract gives no e-mail address for it"
        case "":
            return "the contract gives neither a Slack channel id nor an e-mail address for it"
        case tool:
            return f"Waterline has no way to {tool}"
