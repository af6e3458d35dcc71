"""Who is told of a table because its data contract says so: support channels for announcements.

Slack channels (by id, or an address with one) and e-mail addresses can be told; of the others it is said why not.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from open_data_contract_standard.model import OpenDataContractStandard, Support
from pydantic import ValidationError

from bot.adapters.contracts import read_contract
from bot.domain.reads import Consumer, Untold

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
