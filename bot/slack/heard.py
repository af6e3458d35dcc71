"""A message of somebody else, as Slack delivers it: who wrote it, in which thread, and its words without markup."""

import html
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from bot.domain.ids import UserId
from bot.domain.record import Record, Utc

EVENTS = frozenset({"message", "app_mention"})
_NEW = frozenset({None, "bot_message", "file_share", "thread_broadcast"})
"""Subtypes of messages that somebody has just written; not of edits, joins, topics."""
_MARKED = re.compile(r"<(?P<to>[^<>|]*)(?:\|(?P<label>[^<>]*))?>")
_MOST = 8000
"""Characters that are read: a name further down is not what a message is about."""


class Heard(Record):
    """One message. `user` is who is answered; empty for a bot."""

    user: UserId
    bot: str
    """What the bot that wrote it is called; empty for a person."""
    channel: str
    ts: str
    root: str
    at: Utc
    text: str
    is_asked: bool
    """Whether it mentions us."""


def heard_in(body: dict[str, Any]) -> Heard | None:
    """What was written; None for anything else, and for what we wrote ourselves. Never raises."""
    event = body.get("event") or {}
    if event.get("type") not in EVENTS or event.get("subtype") not in _NEW or _is_ours(body, event):
        return None
    channel, ts = str(event.get("channel") or ""), str(event.get("ts") or "")
    if not channel or re.fullmatch(r"\d{1,11}\.\d{1,6}", ts) is None:
        return None
    written = str(event.get("text") or "")[:_MOST]
    text = written
    for us in _us(body):
        text = re.sub(rf"(?<!\s)\s*<@{re.escape(us)}(\|[^<>]*)?>[\s:,]*", " ", text).strip()
    bot = "" if not event.get("bot_id") else _called(event)
    return Heard(
        user=UserId("" if bot else str(event.get("user") or "")),
        bot=bot,
        channel=channel,
        ts=ts,
        root=str(event.get("thread_ts") or ts),
        at=datetime.fromtimestamp(float(ts), UTC),
        text=_plain("\n".join(dict.fromkeys(part for part in (text, *_more(event)) if part.strip())))[:_MOST],
        is_asked=event["type"] == "app_mention" or text != written.strip(),
    )


def said_key(body: dict[str, Any]) -> str | None:
    """The same for a message that comes as two events: as written where we listen, and as mentioning us."""
    event = body.get("event") or {}
    return f"said/{event.get('channel')}/{event.get('ts')}" if event.get("type") in EVENTS else None


def _us(body: dict[str, Any]) -> list[str]:
    given = (each.get("user_id") for each in body.get("authorizations") or () if each.get("is_bot"))
    return [str(each) for each in given if each]


def _is_ours(body: dict[str, Any], event: dict[str, Any]) -> bool:
    app = body.get("api_app_id")
    theirs = (event.get("app_id"), (event.get("bot_profile") or {}).get("app_id"))
    return event.get("user") in _us(body) or (app is not None and app in theirs)


def _called(event: dict[str, Any]) -> str:
    name = event.get("username") or (event.get("bot_profile") or {}).get("name") or event["bot_id"]
    return str(name)[:80]


def _more(event: dict[str, Any]) -> Iterator[str]:
    """What stands in attachments (as Alertmanager, Grafana and many others write) and in blocks, in reading order."""
    for attachment in _records(event.get("attachments")):
        told = [str(attachment.get(key) or "") for key in ("pretext", "title", "text")]
        told += [f"{f.get('title') or ''}: {f.get('value') or ''}" for f in _records(attachment.get("fields"))]
        yield from told if any(told) else [str(attachment.get("fallback") or "")]
        yield from _of_blocks(attachment.get("blocks"))
    yield from _of_blocks(event.get("blocks"))


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
