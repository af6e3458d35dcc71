"""Slack's secrets: from the environment, never from a file, never shown."""

from typing import Literal

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

from bot.domain.errors import BadConfiguration


class SlackSecrets(BaseSettings):
    """Read once at the start; `repr` shows stars only."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    slack_bot_token: SecretStr | None = Field(default=None, description="Bot token, `xoxb-…`; always needed.")
    slack_app_token: SecretStr | None = Field(default=None, description="App token, `xapp-…`; needed in mode `socket`.")
    slack_signing_secret: SecretStr | None = Field(
        default=None, description="Signing secret of the app; needed in mode `http`."
    )

    @classmethod
    def for_mode(cls, mode: Literal["socket", "http"]) -> "SlackSecrets":
        """The secrets that this mode needs. Raises BadConfiguration with the variables that are missing."""
        found = cls()
        other = "slack_app_token" if mode == "socket" else "slack_signing_secret"
        missing = [name.upper() for name in ("slack_bot_token", other) if getattr(found, name) is None]
        if missing:
            raise BadConfiguration(
                "Slack cannot be reached: a secret is missing.",
                f"Expected {' and '.join(missing)} in the environment for mode `{mode}`; found "
                f"{'neither' if len(missing) > 1 else 'it not set'}.",
                "Set it where the bot is started; the values are on the app's page in Slack.",
            )
        return found
