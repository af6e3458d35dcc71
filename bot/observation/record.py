"""The base of every record that crosses a boundary or enters the journal."""

from datetime import datetime
from typing import Annotated, Any

from pydantic import AwareDatetime, BaseModel, ConfigDict

Utc = Annotated[datetime, AwareDatetime]
"""A moment with its zone; naive datetimes are refused at the boundary."""


class Record(BaseModel):
    """An immutable value: equal by content, closed to unknown fields, safe to keep for years."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_timedelta="float")


def unwrapped(text: str) -> str:
    """On one line, however it is wrapped where it is written."""
    return " ".join(text.split())


def _with_whole_lines(schema: dict[str, Any]) -> None:
    for field in schema.get("properties", {}).values():
        if "description" in field:
            field["description"] = unwrapped(field["description"])


class Documented(Record):
    """A record for readers outside: what stands below each field is its description in references and schemas."""

    model_config = ConfigDict(use_attribute_docstrings=True, json_schema_extra=_with_whole_lines)
