"""Slack user ids as the names that people go by, for documents that leave Slack."""

from collections.abc import Iterable

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.slack.unreachable import UNREACHABLE


class NamesInSlack:
    """Names for pages: each person is asked for once, and again only if Slack did not answer. `client` should have a
    short time limit: a page waits for it, also while Slack is away."""

    def __init__(self, client: WebClient) -> None:
        self._client = client
        self._known: dict[str, str] = {}

    def of(self, users: Iterable[str]) -> dict[str, str]:
        """User id -> name; whom Slack does not name is left out."""
        asked = tuple(users)
        self._known |= names_of(self._client, (user for user in asked if user not in self._known))
        return {user: self._known[user] for user in asked if user in self._known}


def names_of(client: WebClient, users: Iterable[str]) -> dict[str, str]:
    """User id -> display name (scope users:read). Reads only, one call a user.

    Whom Slack does not name keeps the id: a document does not fail for that. While Slack is away nobody else is asked
    for.
    """
    names: dict[str, str] = {}
    for user in users:
        try:
            answer = client.users_info(user=user)
        except SlackApiError:
            continue
        except UNREACHABLE:
            break
        profile = (answer.get("user") or {}).get("profile") or {}
        name = profile.get("display_name") or profile.get("real_name")
        if name:
            names[user] = str(name)
    return names
