"""Fields of records that are as long as a table's history."""

from collections.abc import Sequence
from typing import Annotated, TypeVar

from pydantic import SerializerFunctionWrapHandler, ValidatorFunctionWrapHandler, WrapSerializer, WrapValidator

from bot.domain.lazy import Lazy

T = TypeVar("T")


def _lazy_or_plain(told: object, validated: ValidatorFunctionWrapHandler) -> object:
    return told if isinstance(told, Lazy) else tuple(validated(told))


def _plain(told: Sequence[T], serialized: SerializerFunctionWrapHandler) -> object:
    return serialized(tuple(told))


Long = Annotated[Sequence[T], WrapValidator(_lazy_or_plain), WrapSerializer(_plain)]
"""A tuple, or a sequence whose elements are made when they are looked at."""
