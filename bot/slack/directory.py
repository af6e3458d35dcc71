"""Who is in a Slack user group, read when the click comes; for App Home, where nobody decides, as it was just now.

Who is of the bot's own workspace or organisation, and who of another one, in a channel that both share.

Slack user ids as the names that people go by, for documents that leave Slack.

What Slack's client raises where no answer of Slack's came, or not the whole of it.

What `waterline doctor` asks Slack: token, scopes, channels, user groups.
"""

import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from http.client import HTTPException
from typing import Any

import structlog
from cachetools import TTLCache, cachedmethod
from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.incident.setup import TableSetup
from bot.observation.errors import CouldNotLook, Refused
from bot.observation.ids import UserId
from bot.ports import Clock, Directory
from bot.slack.requests import Asked, answers_notice

UNREACHABLE = (SlackClientError, OSError, HTTPException)
"""The client hands on what urllib raises: an answer that ends in the middle is no OSError. A refusal, SlackApiError, is
one of the first kind: whoever tells it apart catches it before."""


log = structlog.get_logger(__name__)
_KEPT_S = 60.0
_UNKNOWN = {"user_not_found", "users_not_found", "user_not_visible"}
_GROUP_REMEDIES = {
    "missing_argument": "The app is installed for a whole organisation: set slack.team_id to the workspace's id (T…).",
    "team_access_not_granted": "Ask an admin of the organisation to add the app to the workspace of slack.team_id.",
}


def is_shared_outside(channel: Mapping[str, Any]) -> bool:
    """Whether people of another organisation read it, or are invited to; of an answer of conversations.info."""
    return bool(channel.get("is_ext_shared") or channel.get("is_pending_ext_shared"))


class OwnTeam:
    """Of which team the bot is, asked of Slack once (auth.test)."""

    def __init__(self, client: WebClient) -> None:
        self._client = client
        self._own: tuple[str, ...] = ()
        """The workspace; in an Enterprise Grid then the organisation."""

    def learn(self) -> None:
        """Ask now, if Slack answers: a click while it does not is refused otherwise."""
        with suppress(*UNREACHABLE):
            self._ask()

    def _ask(self) -> tuple[str, ...]:
        if self._own == ():
            answer = self._client.auth_test()
            self._own = tuple(str(each) for each in (answer["team_id"], answer.get("enterprise_id")) if each)
        return self._own

    def must_be_ours(self, request: Asked) -> None:
        """Raises Refused for whoever is of another organisation, unless they answer a notice; CouldNotLook.

        A payload that names no team, as that of App Home, says nothing: Slack is asked for the person's."""
        if answers_notice(request):
            return
        team = request.team
        try:
            own = self._ask()
            if team in own:
                return
            if not team or len(own) > 1:
                person = self._client.users_info(user=request.user).get("user") or {}
                team = team or str(person.get("team_id") or "unknown")
                if team in own or (person.get("enterprise_user") or {}).get("enterprise_id") in own:
                    return
        except UNREACHABLE as error:
            raise CouldNotLook(
                "Nothing was done.", f"Slack did not say who is of its own workspace: {error}.", "Try again."
            ) from error
        log.warning("refused somebody of another organisation", user=request.user, team=team)
        raise Refused(
            "Nothing was done, because you belong to another organisation.",
            f"Expected a member of the organisation that runs Waterline; Slack says that your team is {team}.",
            "You can answer notices in this channel. For everything else, ask the incident's responder.",
        )


class SlackDirectory:
    """`Directory` over `usergroups.users.list` and `users.info` (scopes usergroups:read and users:read). `team_id`: the
    workspace whose groups they are, where the app is installed for a whole organisation."""

    def __init__(self, client: WebClient, team_id: str | None = None) -> None:
        self._client = client
        self._team_id = team_id

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of the groups. Raises CouldNotLook if one of them cannot be read."""
        found: set[UserId] = set()
        for group in groups:
            try:
                answer = self._client.usergroups_users_list(usergroup=group, team_id=self._team_id)
            except UNREACHABLE as error:
                code = str(error.response.get("error")) if isinstance(error, SlackApiError) else str(error)
                raise CouldNotLook(
                    f"The user group {group} could not be read.",
                    f"Expected its members from Slack; found: {code}.",
                    _GROUP_REMEDIES.get(code, "Check the scope usergroups:read and the group's id in the policy."),
                ) from error
            found |= {UserId(user) for user in answer.get("users") or []}
        return frozenset(found)

    def absent(self, users: Iterable[UserId]) -> frozenset[UserId]:
        """Those whom Slack does not know, or who are deactivated. Raises CouldNotLook. One call a user."""
        found = set()
        for user in users:
            try:
                answer = self._client.users_info(user=user)
                is_gone = bool((answer.get("user") or {}).get("deleted"))
            except UNREACHABLE as error:
                code = error.response.get("error") if isinstance(error, SlackApiError) else str(error)
                if code not in _UNKNOWN:
                    raise CouldNotLook(
                        f"Slack did not say whether {user} is there.", f"Found: {code}.", "Check the scope users:read."
                    ) from error
                is_gone = True
            found |= {user} if is_gone else set()
        return frozenset(found)


class RecentMembers:
    """The same for what is only shown: each group is read once a minute, whoever looks.

    Slack lets a bot read some twenty groups a minute, and approvals need theirs. What cannot be read is not kept.
    """

    def __init__(self, directory: Directory, clock: Clock) -> None:
        self._directory = directory
        self._lock = threading.Lock()
        self._known: TTLCache[str, frozenset[UserId]] = TTLCache(1024, _KEPT_S, lambda: clock.now().timestamp())

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Everyone in any of the groups, a minute ago at most. Raises CouldNotLook if one of them cannot be read."""
        return frozenset(user for group in groups for user in self._of(group))

    @cachedmethod(lambda self: self._known, lock=lambda self: self._lock)
    def _of(self, group: str) -> frozenset[UserId]:
        return self._directory.members([group])


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
)
"""What the bot token needs; deploy/slack/manifest.yaml asks for them and says of each what for."""
EVENTS = ("app_home_opened",)
"""What the manifest subscribes to."""


Told = tuple[str, bool, str, str]
_LIMITS = ("read_only", "thread_only", "non_threadable")


def slack_findings(
    client: WebClient, setups: Sequence[TableSetup], rooms: Collection[str] = (), team_id: str | None = None
) -> Iterator[Told]:
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
    for channel in sorted({*consumers, *rooms}):
        yield from _channel(client, channel)
    yield from _approvers(SlackDirectory(client, team_id), setups)


def _channel(client: WebClient, channel: str) -> Iterator[Told]:
    try:
        info = client.conversations_info(channel=channel)["channel"]
    except SlackApiError as error:
        yield f"channel {channel}", False, str(error.response.get("error")), "Correct the id, or invite the bot."
        return
    what = f"channel #{info['name']}"
    limits = [limit for limit in _LIMITS if info.get(f"is_{limit}")]
    if info.get("is_archived"):
        yield what, False, "the channel is archived", "Unarchive it, or name another channel."
    elif not info.get("is_member", True):
        yield what, False, "the bot is not in it", f"Type /invite @waterline in #{info['name']}."
    elif limits:
        found = f"its posting permissions limit the bot: {', '.join(limits)}"
        yield what, False, found, "Ask an admin of the workspace to let the app post there, also in threads."
    else:
        yield what, True, "the bot is in it", ""
    if is_shared_outside(info):
        who = "People of that organisation read what is posted there. They can answer notices, and do nothing else."
        yield what, True, "it is shared with another organisation", who


def _approvers(directory: SlackDirectory, setups: Sequence[TableSetup]) -> Iterator[Told]:
    """Each group, then each policy that names somebody who is gone, or that too few people can fulfil."""
    from bot.service.proposals.approving import who_is_gone

    policies = {f"{key} of {setup.name}": policy for setup in setups for key, policy in setup.policies.items()}
    for group in sorted({group for policy in policies.values() for group in policy.all_groups}):
        try:
            users = directory.members((group,))
        except CouldNotLook as error:
            yield f"group {group}", False, error.found, error.remedy
            continue
        remedy = "" if users else "Nobody can approve: add members."
        yield f"group {group}", bool(users), f"{len(users)} members", remedy
    for name, policy in policies.items():
        if found := who_is_gone(directory, policy):
            yield f"policy {name}", False, found, "Name people who are there, in `policies` of the table."
