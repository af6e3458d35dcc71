"""What a receiver of a webhook answers at once, in the body of its response. Nothing of a call for help is lost."""

import json
import re
from collections.abc import Callable
from typing import Final

import httpx
from pydantic import JsonValue, TypeAdapter, ValidationError

from bot.domain.notice import Answer
from bot.domain.record import Record

_MOST_BYTES = 64 * 1024
_MOST_TEXT = 1000
"""Characters of its words; the rest is cut, visibly."""
_QUOTED = 200
_HALF: Final = re.compile("[\ud800-\udfff]")
_KNOWN: Final[TypeAdapter[Answer]] = TypeAdapter(Answer)


class Said(Record):
    """What it says. Receivers need not say anything."""

    answer: Answer | None = None
    text: str = ""
    unread: str = ""
    """A sentence, where the body has an `answer` that is none: for the record, and whoever reads it there."""


def said_in(response: httpx.Response, hidden: Callable[[str], str]) -> Said:
    """What the body says; `hidden` takes out of its words what is not to be told, before they are cut. A body that is
    no JSON object, or has no `answer`, says nothing; an answer is known in any case, and with `_` or spaces for `-`."""
    if len(response.content) > _MOST_BYTES:
        return Said(unread=f"Its body has {len(response.content):,} bytes and was not read; up to {_MOST_BYTES:,} are.")
    try:
        body: JsonValue = json.loads(response.content)
    except (ValueError, RecursionError):
        return Said()
    if not isinstance(body, dict) or body.get("answer") is None:
        return Said()
    text, word = hidden(_text(body.get("text"))), _text(body["answer"])
    try:
        answer = _KNOWN.validate_python(word.lower().replace("_", "-").replace(" ", "-"))
    except ValidationError:
        words = f", with the words “{_cut(text, _QUOTED)}”" if text else ""
        return Said(
            unread=f"It answered “{_cut(hidden(word), _QUOTED)}”{words}, which is none of acknowledged, re-ran and "
            "needs-help: ask whoever runs it what it means."
        )
    return Said(answer=answer, text=_cut(text, _MOST_TEXT))


def _text(value: JsonValue) -> str:
    """Words; what is not text is shown as JSON. JSON can name half a character, which no record can hold: it is shown
    as one that cannot be read."""
    if value is None:
        return ""
    return _HALF.sub("\N{REPLACEMENT CHARACTER}", value).strip() if isinstance(value, str) else json.dumps(value)


def _cut(text: str, most: int) -> str:
    mark = f"… ({len(text):,} characters)"
    return text if len(text) <= most else text[: most - len(mark)] + mark
