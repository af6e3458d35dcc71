"""Which channels are private, and who is in them, read when it matters."""

from collections.abc import Mapping

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.domain.errors import CouldNotLook
from bot.domain.ids import UserId
from bot.slack.unreachable import UNREACHABLE

_PAGE = 500


class SlackRooms:
    """Over `conversations.info` and `conversations.members` (scopes channels:read, and groups:read for private ones).

    Reads only; every method raises CouldNotLook when Slack does not say.
    """

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def is_private(self, channel: str) -> bool:
        """Whether only invited people can read it."""
        try:
            found: Mapping[str, object] = self._client.conversations_info(channel=channel)["channel"]
        except UNREACHABLE as error:
            raise _unreadable(channel, error) from error
        return bool(found.get("is_private") or found.get("is_im") or found.get("is_mpim"))

    def members(self, channel: str) -> frozenset[UserId]:
        """Everyone who is in it now."""
        found: set[UserId] = set()
        cursor = ""
        while True:
            try:
                page = self._client.conversations_members(channel=channel, limit=_PAGE, cursor=cursor)
            except UNREACHABLE as error:
                raise _unreadable(channel, error) from error
            found |= {UserId(user) for user in page.get("members") or []}
            cursor = str((page.get("response_metadata") or {}).get("next_cursor") or "")
            if not cursor:
                return frozenset(found)


def _unreadable(channel: str, error: Exception) -> CouldNotLook:
    found = error.response.get("error") if isinstance(error, SlackApiError) else type(error).__name__
    return CouldNotLook(
        f"Slack did not say who can read <#{channel}>.",
        f"Expected its kind and its members; found: {found}.",
        "Invite the bot to the channel and check the scopes channels:read and groups:read, then try again.",
    )
