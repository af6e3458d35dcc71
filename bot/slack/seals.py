"""Seals of the record as they stand in Slack: what the bot has posted, read back without trusting the database."""

import json
import re
from collections.abc import Callable, Iterator
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError
from slack_sdk.web import SlackResponse

from bot.domain.errors import CouldNotLook
from bot.domain.ids import IncidentId
from bot.domain.posted_seals import Posted, PostedSeal
from bot.domain.seal import seals_in
from bot.slack.unreachable import UNREACHABLE

_PAGE = 200
_KINDS = "public_channel,private_channel"
_NAME = re.compile(r"(wl-[1-9]\d{0,8})/seal/([1-9]\d{0,8})")


def is_seal(key: str) -> bool:
    """Whether the post of this key is a seal: posted once, and never edited by the bot."""
    return _NAME.fullmatch(key) is not None


def posted_seals(client: WebClient) -> Posted:
    """Every seal that the bot itself posted in a channel that it is in, and which of those could be read.

    Raises CouldNotLook where not even the channels are told.
    Scopes: channels:read and channels:history (groups:… for private ones). What other people post counts nothing.
    Cost: every channel's messages are read, and each incident's thread.
    """
    try:
        bot = str(client.auth_test()["user_id"])
        channels = tuple(_channels(client))
    except UNREACHABLE as error:
        raise CouldNotLook(
            "The posted seals could not be read.",
            f"Expected the bot's channels from Slack; found: {_reason(error)}.",
            "Check the token and the scopes channels:history and groups:history, or name a seal with --anchor.",
        ) from error
    seals: list[PostedSeal] = []
    unread: dict[str, str] = {}
    for channel in channels:
        try:
            seals += _seals(client, channel, bot)
        except UNREACHABLE as error:
            unread[channel] = _reason(error)
    return Posted(seals=tuple(seals), channels=frozenset(channels) - frozenset(unread), unread=unread)


def _reason(error: Exception) -> str:
    return str(error.response.get("error")) if isinstance(error, SlackApiError) else type(error).__name__


def _channels(client: WebClient) -> Iterator[str]:
    for page in _pages(client.users_conversations, types=_KINDS, limit=_PAGE):
        yield from (str(channel["id"]) for channel in page.get("channels") or [])


def _seals(client: WebClient, channel: str, bot: str) -> Iterator[PostedSeal]:
    """Those of the threads, and what stands alone because its thread could not be begun."""
    for page in _pages(client.conversations_history, channel=channel, limit=_PAGE, include_all_metadata=True):
        for message in page.get("messages") or []:
            if message.get("user") == bot and _key(message).endswith("/card"):
                yield from _in_thread(client, channel, str(message["ts"]), bot)
            else:
                yield from _seal(message, bot)


def _in_thread(client: WebClient, channel: str, ts: str, bot: str) -> Iterator[PostedSeal]:
    for page in _pages(client.conversations_replies, channel=channel, ts=ts, limit=_PAGE, include_all_metadata=True):
        for message in page.get("messages") or []:
            yield from _seal(message, bot)


def _seal(message: dict[str, Any], bot: str) -> Iterator[PostedSeal]:
    """Its name is told by the metadata, which an edit of the bot's leaves as it was posted. What people read are the
    blocks: they must say the same as the text."""
    name = _NAME.fullmatch(_key(message))
    if name is None or message.get("user") != bot:
        return
    says = seals_in(str(message.get("text") or ""))
    shown = seals_in(json.dumps(message.get("blocks") or []))
    yield PostedSeal(
        incident_id=IncidentId(name[1]),
        seq=int(name[2]),
        says=says,
        is_edited="edited" in message or set(shown) != set(says),
    )


def _key(message: dict[str, Any]) -> str:
    return str(((message.get("metadata") or {}).get("event_payload") or {}).get("key") or "")


def _pages(ask: Callable[..., SlackResponse], **arguments: object) -> Iterator[SlackResponse]:
    cursor = ""
    while True:
        page = ask(**arguments, cursor=cursor)
        yield page
        cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
        if not cursor:
            return
