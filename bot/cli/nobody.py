"""The workspace directory of a terminal: there is none, and that is said."""

from collections.abc import Sequence

from bot.domain.errors import CouldNotLook
from bot.domain.ids import UserId


class NobodyThere:
    """`Directory` where no Slack is connected."""

    def members(self, groups: Sequence[str]) -> frozenset[UserId]:
        """Always raises CouldNotLook."""
        raise CouldNotLook(
            f"The user groups {', '.join(groups)} cannot be read here.",
            "This command is not connected to Slack.",
            "Decide in Slack.",
        )
