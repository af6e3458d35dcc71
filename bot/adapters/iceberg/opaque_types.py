"""Column types that PyIceberg (0.12) cannot parse: such a column is carried along unread, and the table is read.

PyIceberg refuses a whole table for one such column: `ValidationError: Unsupported field type: 'variant'`, also for
`geometry(srid:4326)`. The column keeps its type's name, in what is read and in what is written again.
"""

import re
from collections.abc import Callable

from pydantic import Field, model_serializer
from pyiceberg.exceptions import ValidationError
from pyiceberg.types import IcebergType, PrimitiveType

_A_TYPE = re.compile(r"[a-z][a-z0-9_]*(?:\s*[(\[].*[)\]])?")
_parse: Callable[[object, object], IcebergType] = IcebergType.handle_primitive_type  # type: ignore[assignment]


class OpaqueType(PrimitiveType):
    """A type of which nothing but its name is known."""

    root: tuple[str] = Field()
    """No text, which PyIceberg would parse as the type that it is."""

    def __init__(self, name: str) -> None:
        super().__init__(root=(name,))

    @model_serializer
    def ser_model(self) -> str:
        return self.root[0]

    def __str__(self) -> str:
        return self.root[0]

    def __repr__(self) -> str:
        return f"OpaqueType({self.root[0]!r})"

    def __getnewargs__(self) -> tuple[str]:
        return self.root


def _parsed(value: object, handler: object) -> IcebergType:
    try:
        return _parse(value, handler)
    except (ValidationError, ValueError):
        if isinstance(value, str) and _A_TYPE.fullmatch(value):
            return OpaqueType(value)
        raise


def read_any_type() -> None:
    """Has PyIceberg read a field of any type, from now on in this process. Elements of lists and maps are not told this
    way: a table with a list of such a type still cannot be read."""
    IcebergType.handle_primitive_type = staticmethod(_parsed)  # type: ignore[method-assign,assignment]
