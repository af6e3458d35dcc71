"""Secrets: from the environment or from files that it names, never from the configuration, never shown; and every
secret value that this process knows."""

import os
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Literal
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict

from bot.observation.errors import BadConfiguration
from bot.observation.kafka import KafkaSettings
from bot.observation.masking import Masking
from bot.settings.jobs import LoginSettings


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
                "Correct the path, or let Waterline's user read the file.",
            ) from error
        return text or None, field_name, False

    def __call__(self) -> dict[str, Any]:
        found = {name: self.get_field_value(field, name)[0] for name, field in self.settings_cls.model_fields.items()}
        return {name: value for name, value in found.items() if value is not None}


class Secrets(BaseSettings):
    """Read once at the start; `repr` shows stars only."""

    model_config = SettingsConfigDict(frozen=True, extra="ignore", env_ignore_empty=True, use_attribute_docstrings=True)

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

    slack_bot_token: SecretStr | None = None
    """Bot token, `xoxb-…`; always needed."""
    slack_app_token: SecretStr | None = None
    """App token, `xapp-…`; needed in mode `socket`."""
    slack_signing_secret: SecretStr | None = None
    """Signing secret of the app; needed in mode `http`."""

    @classmethod
    def for_mode(cls, mode: Literal["socket", "http"]) -> "SlackSecrets":
        """The secrets that this mode needs. Raises BadConfiguration with the variables that are missing."""
        other = "slack_app_token" if mode == "socket" else "slack_signing_secret"
        found = cls()
        missing = [name.upper() for name in ("slack_bot_token", other) if getattr(found, name) is None]
        if missing:
            raise BadConfiguration(
                "Slack cannot be reached: a secret is missing.",
                f"Expected {' and '.join(missing)} in the environment for mode `{mode}`; found "
                f"{'neither' if len(missing) > 1 else 'it not set'}.",
                "Set it where Waterline is started, or name a file with it (…_FILE). The values are on the app's "
                "page in Slack.",
            )
        return found


class WebSecrets(Secrets):
    """`WATERLINE_WEB_TOKEN`, or `WATERLINE_WEB_TOKEN_FILE` with the path of a file that holds it."""

    waterline_web_token: SecretStr | None = None
    """Token for pages, API and MCP server: as `Authorization: Bearer …`, or as the password a browser asks for."""


class AlertSecrets(Secrets):
    """Whoever has one of these may tell of alerts, and nothing else. Each may be given as `NAME_FILE`, too."""

    waterline_alert_token: SecretStr | None = None
    """Token for `POST /v1/alerts/alertmanager`, as `Authorization: Bearer …`. Without it, that address accepts
    nothing."""
    waterline_pagerduty_secret: SecretStr | None = None
    """Secret of the PagerDuty webhook subscription, which signs `POST /v1/alerts/pagerduty`. Without it, that address
    accepts nothing."""


class NoticeSecrets(Secrets):
    """Each may be given as `NAME`, or as `NAME_FILE` with the path of a file that holds it."""

    waterline_smtp_password: SecretStr | None = None
    """Password of `notices.smtp.user` at the mail server."""
    waterline_webhook_secret: SecretStr | None = None
    """Signs webhook notices: `whsec_` and base64. Several, separated by spaces, while you change it."""


_SECRET = re.compile(r"(?i)(secret|token|password|passwd|credential|private[._-]?key|api[._-]?key|\bsig\b)")
_WORD = re.compile(r"[a-z-]{0,19}|[A-Z]{0,19}|\d{0,9}|/.*|[A-Za-z]?[a-z]{0,15}")
"""A password that is a word or a small number stands in a hundred places that are none: masking would blot them out,
and tell it. A path is where a secret is, not one. In an address or after `password=` it is masked all the same."""
_NO_SECRET = re.compile(r"(?i)(endpoint|url|uri|region|file|path|expir|type|enabled|scope|provider)$")


def secret_of(login: LoginSettings | KafkaSettings, environment: Mapping[str, str] = os.environ) -> str:
    """What its file or variable holds now. Raises OSError, and ValueError where that is nothing."""
    if login.secret_file is not None:
        secret = login.secret_file.read_text(encoding="utf-8").strip()
    else:
        secret = environment.get(login.secret_variable or "", "")
    if not secret:
        raise ValueError(f"{login.secret_file or login.secret_variable} is empty")
    return secret


def masking(settings: BaseModel | None = None) -> Masking:
    """Masks Slack's and the web's secrets, every environment variable and catalog or job property that is named like
    one, and the passwords in configured addresses."""
    known = {*_of_environment(), *_of_secrets(), *(_of_settings(settings) if settings else ())}
    return Masking(secret for secret in known if not _WORD.fullmatch(secret))


def _of_environment() -> Iterator[str]:
    yield from (value for name, value in os.environ.items() if _is_secret(name))
    for value in os.environ.values():
        yield from _passwords(value)


def _of_secrets() -> Iterator[str]:
    for secrets in (SlackSecrets(), WebSecrets(), AlertSecrets(), NoticeSecrets()):
        for value in vars(secrets).values():
            if isinstance(value, SecretStr):
                yield from {value.get_secret_value(), *value.get_secret_value().split()}


def _of_settings(value: object, name: str = "") -> Iterator[str]:
    match value:
        case str():
            if _is_secret(name):
                yield value
                yield from value.split(":", 1)  # Iceberg's `credential` is client id and secret in one
            yield from _passwords(value)
        case BaseModel():
            if isinstance(value, LoginSettings | KafkaSettings):
                with suppress(OSError, ValueError):
                    yield secret_of(value)
            for field in type(value).model_fields:
                yield from _of_settings(getattr(value, field), field)
        case dict():
            for key, inner in value.items():
                yield from _of_settings(inner, str(key))
        case tuple() | list():
            for inner in value:
                yield from _of_settings(inner, name)


def _is_secret(name: str) -> bool:
    return bool(_SECRET.search(name)) and not _NO_SECRET.search(name)


def _passwords(text: str) -> Iterator[str]:
    """Of an address: what stands between `:` and `@`, as written and decoded; and a Spark Connect token."""
    if "://" not in text:
        return
    try:
        password = urlsplit(text).password
    except ValueError:
        return
    if password:
        yield from {password, unquote(password)}
    yield from re.findall(r";token=([^;/]+)", text)
