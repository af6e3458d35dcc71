"""People whom texts name, by their Slack user ids."""

import re
from collections.abc import Iterable

from bot.domain.ids import UserId

_USER = re.compile(r"\b[UW][A-Z0-9]{7,}\b")
_MENTION = re.compile(r"<@([UW][A-Z0-9]{2,})(?:\|[^<>]*)?>")


def users_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The user ids that these texts hold, each once, in order."""
    return tuple(dict.fromkeys(found for text in texts for found in _USER.findall(text)))


def mentioned(text: str) -> UserId | None:
    """Whom a text mentions that is nothing but a mention, `<@U0ANA00001|ana>`; None: it is something else."""
    found = _MENTION.fullmatch(text)
    return UserId(found[1]) if found else None
