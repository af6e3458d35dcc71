"""JSON for programs: no number in it is one that they would round."""

from typing import Any

from pydantic import JsonValue
from rich.console import Console

_EXACT = 2**53 - 1
"""The largest whole number that JavaScript, jq and all who read JSON numbers as doubles keep as it is."""


def exact(told: Any) -> JsonValue:
    """The same, with whole numbers beyond +-(2^53 - 1) as text: Iceberg's snapshot ids are such, and rounded they name
    another snapshot or none. `told`: what `model_dump(mode="json")` gives."""
    if isinstance(told, dict):
        return {key: exact(value) for key, value in told.items()}
    if isinstance(told, list | tuple):
        return [exact(value) for value in told]
    return str(told) if isinstance(told, int) and abs(told) > _EXACT else told


def print_exact(console: Console, told: Any) -> None:
    """Print it so, indented."""
    console.print_json(data=exact(told))
