"""People whom texts name, by their Slack user ids, and how texts of ours mention them."""

import re
from collections.abc import Iterable

from bot.domain.ids import UserId

PERSON = r"[UW][A-Z0-9]{2,}"
"""A user id, as Slack makes them."""
MENTION = re.compile(r"<([@#])([A-Z0-9]{2,})>")
"""A person or a channel in a text of ours: `@` or `#`, and the id."""
_BARE = re.compile(r"\b[UW][A-Z0-9]{7,}\b")
"""A user id without a mark; a short one might be a word."""
_TYPED = re.compile(rf"<@({PERSON})(?:\|[^<>]*)?>")
"""As Slack hands on what people type: with or without the name."""


def users_in(texts: Iterable[str]) -> tuple[str, ...]:
    """The user ids that these texts hold, each once, in order."""
    return tuple(dict.fromkeys(found for text in texts for found in _BARE.findall(text)))


def mentioned(text: str) -> UserId | None:
    """Whom a text mentions that is nothing but a mention, `<@U0ANA00001|ana>`; None: it is something else."""
    found = _TYPED.fullmatch(text)
    return UserId(found[1]) if found else None
