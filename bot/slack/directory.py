"""Who is in a Slack user group, read when the click comes."""

from collections.abc import Sequence

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError, SlackClientError

from bot.domain.errors import CouldNotLook
from bot.domain.ids import UserId


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
            except (SlackClientError, OSError) as error:
                raise _unreadable(group, str(error)) from error
            found |= {UserId(user) for user in answer.get("users") or []}
        return frozenset(found)


def _unreadable(group: str, found: str) -> CouldNotLook:
    return CouldNotLook(
        f"The user group {group} could not be read.",
        f"Expected its members from Slack; found: {found}.",
        "Check the scope usergroups:read and the group's id in the approval policy.",
    )
