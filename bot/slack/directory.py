"""Who is in a Slack user group, read when the click comes; for App Home, where nobody decides, as it was just now.

Slack user ids as the names that people go by, for documents that leave Slack.
"""

import threading
from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.domain.errors import CouldNotLook
from bot.domain.ids import UserId
from bot.ports import Clock, Directory
from bot.slack.unreachable import UNREACHABLE

_KEPT = timedelta(minutes=1)


class SlackDirectory:
    """`Directory` over `usergroups.users.list` (scope usergroups:read)."""

    def __init__(self, client: WebClient) -> None:
        self._client = client

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of the groups. Raises CouldNotLook if one of them cannot be read."""
        found: set[UserId] = set()
        for group in groups:
            try:
                answer = self._client.usergroups_users_list(usergroup=group)
            except SlackApiError as error:
                raise _unreadable(group, str(error.response.get("error"))) from error
            except UNREACHABLE as error:
                raise _unreadable(group, str(error)) from error
            found |= {UserId(user) for user in answer.get("users") or []}
        return frozenset(found)


class RecentMembers:
    """The same for what is only shown: each group is read once a minute, whoever looks.

    Slack lets a bot read some twenty groups a minute, and approvals need theirs. What cannot be read is not kept.
    """

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory = directory
        self._clock = clock
        self._lock = threading.Lock()
        self._known: dict[str, tuple[datetime, frozenset[UserId]]] = {}

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of the groups, a minute ago at most. Raises CouldNotLook if one of them cannot be read."""
        return frozenset(user for group in groups for user in self._of(group))

    def _of(self, group: str) -> frozenset[UserId]:
        now = self._clock.now()
        with self._lock:
            known = self._known.get(group)
        if known is not None and now - known[0] < _KEPT:
            return known[1]
        found = self._directory.members([group])
        with self._lock:
            self._known[group] = (now, found)
        return found


def _unreadable(group: str, found: str) -> CouldNotLook:
    return CouldNotLook(
        f"The user group {group} could not be read.",
        f"Expected its members from Slack; found: {found}.",
        "Check the scope usergroups:read and the group's id in the approval policy.",
    )


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
