"""Seals of the record as they stand in Slack: what the bot has posted, read back without trusting the database."""

from collections.abc import Callable, Iterator
from typing import Any

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError
from slack_sdk.web import SlackResponse

from bot.domain.errors import CouldNotLook
from bot.domain.seal import Seal, seals_in

_PAGE = 200
_KINDS = "public_channel,private_channel"


def posted_seals(client: WebClient) -> tuple[Seal, ...]:
    """Every seal that the bot itself posted in a channel that it is in. Raises CouldNotLook.

    Scopes: channels:read and channels:history (groups:… for private ones). What other people post counts nothing.
    Cost: every channel's messages are read, and each incident's thread.
    """
    try:
        bot = str(client.auth_test()["user_id"])
        return tuple(seal for channel in _channels(client) for seal in _seals(client, channel, bot))
    except (SlackApiError, SlackClientError, OSError) as error:
        found = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
        raise CouldNotLook(
            "The posted seals could not be read.",
            f"Expected the channels' messages from Slack; found: {found}.",
            "Check the token and the scopes channels:history and groups:history, or name a seal with --anchor.",
        ) from error


def _channels(client: WebClient) -> Iterator[str]:
    for page in _pages(client.users_conversations, types=_KINDS, limit=_PAGE):
        yield from (str(channel["id"]) for channel in page.get("channels") or [])


def _seals(client: WebClient, channel: str, bot: str) -> Iterator[Seal]:
    for page in _pages(client.conversations_history, channel=channel, limit=_PAGE, include_all_metadata=True):
        for message in page.get("messages") or []:
            if message.get("user") == bot and _key(message).endswith("/card"):
                yield from _in_thread(client, channel, str(message["ts"]), bot)


def _in_thread(client: WebClient, channel: str, ts: str, bot: str) -> Iterator[Seal]:
    for page in _pages(client.conversations_replies, channel=channel, ts=ts, limit=_PAGE, include_all_metadata=True):
        for message in page.get("messages") or []:
            if message.get("user") == bot and "/seal/" in _key(message):
                yield from seals_in(str(message.get("text") or ""))


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
