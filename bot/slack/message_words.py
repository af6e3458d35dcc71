"""The words of a message, wherever Slack keeps them, without markup: other bots write them into attachments."""

import html
import re
from collections.abc import Iterator, Mapping
from typing import Any

_MARKED = re.compile(r"<(?P<to>[^<>|]*)(?:\|(?P<label>[^<>]*))?>")
_MOST = 8000
"""Characters that are read: a name further down is not what a message is about."""


def words_of(message: Mapping[str, Any]) -> str:
    """Text, attachments and blocks in reading order, a line each. Never raises, whatever the message looks like."""
    text = message.get("text")
    parts = (str(text or "")[:_MOST].strip(), *_more(message))
    return _plain("\n".join(dict.fromkeys(part for part in parts if part.strip())))[:_MOST].strip()


def _more(message: Mapping[str, Any]) -> Iterator[str]:
    """What stands in attachments (as Alertmanager, Grafana and many others write) and in blocks."""
    for attachment in _records(message.get("attachments")):
        told = [str(attachment.get(key) or "") for key in ("pretext", "title", "text")]
        told += [f"{f.get('title') or ''}: {f.get('value') or ''}" for f in _records(attachment.get("fields"))]
        yield from told if any(told) else [str(attachment.get("fallback") or "")]
        yield from _of_blocks(attachment.get("blocks"))
    yield from _of_blocks(message.get("blocks"))


def _of_blocks(blocks: Any) -> Iterator[str]:
    """Sections, headings and small print. What a person typed is in the text already."""
    for block in _records(blocks):
        if block.get("type") in {"section", "header", "context"}:
            for each in _records([block.get("text")], block.get("fields"), block.get("elements")):
                if isinstance(each.get("text"), str):
                    yield each["text"]


def _records(*lists: Any) -> Iterator[dict[str, Any]]:
    """What is an object in these lists, if they are any."""
    for each in lists:
        yield from (one for one in (each if isinstance(each, list) else ()) if isinstance(one, dict))


def _plain(text: str) -> str:
    """Links by their label, mentions as an @ that names nobody, and the three characters that Slack escapes."""

    def shown(found: re.Match[str]) -> str:
        to, label = found["to"], found["label"]
        if to.startswith(("@", "!")):
            return f"@{label or to[1:].partition('^')[0]}"
        return label or to

    return html.unescape(_MARKED.sub(shown, text))
