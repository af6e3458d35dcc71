"""Secrets: from the environment or from files that it names, never from the configuration, never shown."""

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.domain.errors import BadConfiguration


class FromFiles(PydanticBaseSettingsSource):
    """`NAME_FILE` names a file that holds the secret `NAME`, as orchestrators mount them; its last line end is cut."""

    def get_field_value(self, field: FieldInfo, field_name: str) -> tuple[Any, str, bool]:  # noqa: ARG002
        """See pydantic-settings. Raises BadConfiguration for a file that cannot be read, or where both are set."""
        name = field_name.upper()
        path = os.environ.get(f"{name}_FILE")
        if not path:
            return None, field_name, False
        if os.environ.get(name):
            raise BadConfiguration(
                f"The secret {name} is given twice.",
                f"Expected {name} or {name}_FILE in the environment; found both.",
                "Remove one of them.",
            )
        try:
            text = Path(path).read_text(encoding="utf-8").rstrip("\r\n")
        except (OSError, UnicodeDecodeError) as error:
            raise BadConfiguration(
                f"The secret {name} cannot be read.",
                f"Expected a file in UTF-8 at {path}, as {name}_FILE says; found {type(error).__name__}.",
                "Correct the path, or let the bot's user read the file.",
            ) from error
        return text or None, field_name, False

    def __call__(self) -> dict[str, Any]:
        """Every field whose file is named."""
        found = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in found.items() if value is not None}


class Secrets(BaseSettings):
    """Read once at the start; `repr` shows stars only."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,  # noqa: ARG003 - no secret is looked for in a working folder
        file_secret_settings: PydanticBaseSettingsSource,  # noqa: ARG003
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """The environment, then the files that it names."""
        return init_settings, env_settings, FromFiles(settings_cls)


class SlackSecrets(Secrets):
    """Slack's secrets. Each may be given as `NAME`, or as `NAME_FILE` with the path of a file that holds it."""

    slack_bot_token: SecretStr | None = Field(default=None, description="Bot token, `xoxb-…`; always needed.")
    slack_app_token: SecretStr | None = Field(default=None, description="App token, `xapp-…`; needed in mode `socket`.")
    slack_signing_secret: SecretStr | None = Field(
        default=None, description="Signing secret of the app; needed in mode `http`."
    )

    @classmethod
    def for_mode(cls, mode: Literal["socket", "http"]) -> "SlackSecrets":
        """The secrets that this mode needs. Raises BadConfiguration with the variables that are missing."""
        other = "slack_app_token" if mode == "socket" else "slack_signing_secret"
        return cls._with(("slack_bot_token", other), f" for mode `{mode}`")

    @classmethod
    def bot_token(cls) -> SecretStr:
        """The bot token alone. Raises BadConfiguration."""
        token = cls._with(("slack_bot_token",), "").slack_bot_token
        assert token is not None
        return token

    @classmethod
    def _with(cls, names: tuple[str, ...], what_for: str) -> "SlackSecrets":
        found = cls()
        missing = [name.upper() for name in names if getattr(found, name) is None]
        if missing:
            raise BadConfiguration(
                "Slack cannot be reached: a secret is missing.",
                f"Expected {' and '.join(missing)} in the environment{what_for}; found "
                f"{'neither' if len(missing) > 1 else 'it not set'}.",
                "Set it where the bot is started, or name a file with it (…_FILE); "
                "the values are on the app's page in Slack.",
            )
        return found
