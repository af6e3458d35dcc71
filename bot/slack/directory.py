"""Who is in a Slack user group, read when the click comes; for App Home, where nobody decides, as it was just now.

Slack user ids as the names that people go by, for documents that leave Slack.

What Slack's client raises where no answer of Slack's came, or not the whole of it.

What `waterline doctor` asks Slack: token, scopes, channels, user groups.
"""

import threading
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from http.client import HTTPException

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.domain.errors import CouldNotLook
from bot.domain.ids import UserId
from bot.domain.setup import TableSetup
from bot.ports import Clock, Directory

UNREACHABLE = (SlackClientError, OSError, HTTPException)
"""The client hands on what urllib raises: an answer that ends in the middle is no OSError. A refusal, SlackApiError, is
one of the first kind: whoever tells it apart catches it before."""


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


SCOPES = (
    "commands",
    "chat:write",
    "files:write",
    "usergroups:read",
    "users:read",
    "channels:read",
    "channels:history",
    "groups:read",
    "groups:history",
    "app_mentions:read",
)
"""What the bot token needs; deploy/slack/manifest.yaml asks for them and says of each what for."""
EVENTS = ("app_home_opened", "app_mention")
"""What the manifest subscribes to."""


def slack_findings(
    client: WebClient, setups: Sequence[TableSetup], rooms: Collection[str] = ()
) -> Iterator[tuple[str, bool, str, str]]:
    """(what, is it good, what was found, what to do), one line a question. `rooms`: further channels to be in."""
    try:
        answer = client.auth_test()
    except SlackApiError as error:
        yield (
            "bot token",
            False,
            f"auth.test: {error.response.get('error')}",
            "Set SLACK_BOT_TOKEN to the app's bot token.",
        )
        return
    except UNREACHABLE as error:
        yield "Slack", False, str(error), "Check slack.base_url and the network."
        return
    yield "bot token", True, f"@{answer['user']} in {answer['team']}", ""
    granted = {scope for scope in str(answer.headers.get("x-oauth-scopes", "")).split(",") if scope}
    missing = [scope for scope in SCOPES if granted and scope not in granted]
    if missing:
        yield "scopes", False, f"missing: {', '.join(missing)}", "Add them to the app and install it again."
    else:
        yield "scopes", True, "all there" if granted else "Slack did not list them", ""
    consumers = {c.channel for setup in setups for c in setup.consumers if c.channel is not None}
    yield from _channels(client, {*consumers, *rooms})
    yield from _groups(client, setups)


def _channels(client: WebClient, channels: Collection[str]) -> Iterator[tuple[str, bool, str, str]]:
    for channel in sorted(channels):
        try:
            info = client.conversations_info(channel=channel)["channel"]
        except SlackApiError as error:
            yield f"channel {channel}", False, str(error.response.get("error")), "Correct the id, or invite the bot."
            continue
        if info.get("is_archived"):
            yield f"channel #{info['name']}", False, "the channel is archived", "Unarchive it, or name another channel."
            continue
        is_in = bool(info.get("is_member", True))
        remedy = "" if is_in else f"Type /invite @waterline in #{info['name']}."
        yield f"channel #{info['name']}", is_in, "the bot is in it" if is_in else "the bot is not in it", remedy


def _groups(client: WebClient, setups: Sequence[TableSetup]) -> Iterator[tuple[str, bool, str, str]]:
    groups = {group for setup in setups for policy in setup.policies.values() for group in policy.all_groups}
    for group in sorted(groups):
        try:
            users = client.usergroups_users_list(usergroup=group).get("users") or []
        except SlackApiError as error:
            yield f"group {group}", False, str(error.response.get("error")), "Correct the id; needs usergroups:read."
            continue
        yield (
            f"group {group}",
            bool(users),
            f"{len(users)} members",
            "" if users else "Nobody can approve: add members.",
        )
