"""Every secret value that this process knows, from the environment and from the configuration."""

import os
import re
from collections.abc import Iterator
from urllib.parse import unquote, urlsplit

from pydantic import BaseModel, SecretStr

from bot.domain.masking import Masking
from bot.settings.model import Settings
from bot.settings.notices import NoticeSecrets
from bot.settings.secrets import SlackSecrets
from bot.settings.watch import AlertSecrets
from bot.settings.web import WebSecrets

_SECRET = re.compile(r"(?i)(secret|token|password|passwd|credential|private[._-]?key|api[._-]?key|\bsig\b)")
_WORD = re.compile(r"[a-z-]{0,19}|[A-Z]{0,19}|\d{0,9}|/.*|[A-Za-z]?[a-z]{0,15}")
"""A password that is a word or a small number stands in a hundred places that are none: masking would blot them out,
and tell it. A path is where a secret is, not one. In an address or after `password=` it is masked all the same."""
_NO_SECRET = re.compile(r"(?i)(endpoint|url|uri|region|file|path|expir|type|enabled|scope|provider)$")


def masking(settings: Settings | None = None) -> Masking:
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
