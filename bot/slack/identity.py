"""As whom the bot speaks: asked of Slack before anything is opened."""

from collections.abc import Callable

from slack_sdk import WebClient
from slack_sdk.errors import SlackApiError

from bot.domain.errors import BadConfiguration
from bot.slack.unreachable import UNREACHABLE


def check_identity(client: WebClient, explain: Callable[[str], str]) -> str:
    """The bot's user name, from auth.test. Raises BadConfiguration if the token is not good."""
    try:
        answer = client.auth_test()
    except SlackApiError as error:
        raise BadConfiguration(
            "Slack does not accept the bot token.",
            f"auth.test answered: {error.response.get('error')}.",
            explain("SLACK_BOT_TOKEN"),
        ) from error
    except UNREACHABLE as error:
        raise BadConfiguration(
            "Slack cannot be reached.", f"auth.test failed: {error}.", explain("slack.base_url")
        ) from error
    return str(answer["user"])
