"""The base of every record that crosses a boundary or enters the journal."""

from datetime import datetime
from typing import Annotated

from pydantic import AwareDatetime, BaseModel, ConfigDict

Utc = Annotated[datetime, AwareDatetime]
"""A moment with its zone; naive datetimes are refused at the boundary."""


class Record(BaseModel):
    """An immutable value: equal by content, closed to unknown fields, safe to keep for years."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_timedelta="float")


class Documented(Record):
    """A record for readers outside: what stands below each field is its description in references and schemas."""

    model_config = ConfigDict(use_attribute_docstrings=True)
