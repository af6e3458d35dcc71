"""Libraries that only some kinds of catalog need, and whether they are installed here."""

from collections.abc import Mapping
from importlib.util import find_spec

from bot.adapters.iceberg.kinds import kind_of
from bot.domain.errors import CouldNotLook

_NEEDS = {"hive": "thrift", "glue": "boto3", "dynamodb": "boto3", "bigquery": "google", "rest-sigv4": "boto3"}
"""PyIceberg's extra -> a package that it brings."""


def extra_for(properties: Mapping[str, str]) -> str | None:
    """The extra of PyIceberg that this catalog needs beside what Waterline itself brings; None: none."""
    kind = kind_of(properties)
    if properties.get("rest.sigv4-enabled", "").lower() == "true":
        return "rest-sigv4"
    return kind if kind in _NEEDS else None


def missing_extra(properties: Mapping[str, str]) -> str | None:
    """The extra that this catalog needs and that is not installed; None where nothing is missing."""
    extra = extra_for(properties)
    return extra if extra is not None and find_spec(_NEEDS[extra]) is None else None


def how_to_install(extra: str) -> str:
    """What to do about it."""
    return f"Install it beside Waterline (pip install 'pyiceberg[{extra}]'), then start Waterline again."


def must_be_installed(name: str, properties: Mapping[str, str]) -> None:
    """Raises CouldNotLook where this kind of catalog needs a library that is not there."""
    extra = missing_extra(properties)
    if extra is not None:
        kind = kind_of(properties) or extra
        raise CouldNotLook(
            f"The catalog {name} could not be opened: what it needs is not installed.",
            f"Expected PyIceberg with its extra “{extra}”, for a catalog of type {kind}; found PyIceberg without.",
            how_to_install(extra),
        )
