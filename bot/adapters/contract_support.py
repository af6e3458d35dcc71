"""Who is told of a table because its data contract says so: support channels for announcements.

Slack channels (by id, or an address with one) and e-mail addresses can be told; others are named by `waterline doctor`.
"""

import re
from collections.abc import Iterable
from pathlib import Path

from open_data_contract_standard.model import OpenDataContractStandard, Support
from pydantic import ValidationError

from bot.adapters.contracts import read_contract
from bot.domain.reads import Consumer

_SLACK_ID = re.compile(r"(?:^|/)([CG][A-Z0-9]{6,})(?:$|[/?#])")
_TOLD = frozenset({"", "announcements", "notifications"})
"""Scopes (any case) in which people expect to be told; in the others they ask."""


def announced_to(file: Path) -> tuple[tuple[Consumer, ...], tuple[str, ...]]:
    """(who can be told, channels of the contract that cannot be, with the reason). Raises BadConfiguration."""
    told: list[Consumer] = []
    others: list[str] = []
    contract: OpenDataContractStandard = read_contract(file)
    for support in contract.support or []:
        if (support.scope or "").lower() not in _TOLD:
            continue
        consumer = _consumer(support)
        if consumer is None:
            others.append(f"{support.channel or 'a channel without a name'} ({support.tool or 'no tool'})")
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
