"""The base of every record that crosses a boundary or enters the journal."""

from datetime import datetime
from functools import cache
from typing import Annotated, TypeVar

from pydantic import AwareDatetime, BaseModel, ConfigDict

Utc = Annotated[datetime, AwareDatetime]
"""A moment with its zone; naive datetimes are refused at the boundary."""


class Record(BaseModel):
    """An immutable value: equal by content, closed to unknown fields, safe to keep for years."""

    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_timedelta="float")


R = TypeVar("R", bound=Record)


def slender(kind: type[R], **values: object) -> R:
    """A record of every field's value, all known to be valid, for records of which there are tens of thousands.

    Pydantic's `model_construct` gives each a dictionary of its own, which takes more memory than the rest of it;
    attributes that are set one by one are kept in the object, as Python does for any class.
    """
    record = kind.__new__(kind)
    for name, value in values.items():
        object.__setattr__(record, name, value)
    object.__setattr__(record, "__pydantic_fields_set__", _all_fields(kind))
    object.__setattr__(record, "__pydantic_extra__", None)
    object.__setattr__(record, "__pydantic_private__", None)
    return record


@cache
def _all_fields(kind: type[Record]) -> set[str]:
    return set(kind.model_fields)
