"""What `waterline doctor` asks Slack: token, scopes, channels, user groups."""

from collections.abc import Collection, Iterator, Sequence

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.domain.setup import TableSetup
from bot.slack.unreachable import UNREACHABLE

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
