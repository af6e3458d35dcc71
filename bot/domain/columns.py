"""What is asked of every snapshot of a long list, kept as numbers.

Sequences whose elements are made when they are looked at.
"""

from array import array
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import NamedTuple, TypeVar, overload

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
NONE = -(1 << 63)
"""No parent, no checkpoint."""
LOOK = NONE + 1
"""In the column of checkpoints: only the summary can tell."""


class Columns(NamedTuple):
    ids: "array[int]"
    parents: "array[int]"
    sequence_numbers: "array[int]"
    moments: "array[int]"
    """Milliseconds since 1970."""
    checkpoints: "array[int]"
    writers: "array[int]"
    """Places in the list of writers."""


def moment_of(milliseconds: int) -> datetime:
    """As the format tells moments. Raises OverflowError outside of the calendar."""
    return _EPOCH + timedelta(milliseconds=milliseconds)


T = TypeVar("T")


class Lazy(Sequence[T]):
    """Equal to any such sequence, and to a tuple, of equal elements."""

    @overload
    def __getitem__(self, place: int) -> T: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[T]: ...
    def __getitem__(self, place: int | slice) -> T | Sequence[T]:
        if isinstance(place, slice):
            return self._cut(place)
        if not -len(self) <= place < len(self):
            raise IndexError(place)
        return self._at(place % len(self))

    def __iter__(self) -> Iterator[T]:
        return map(self._at, range(len(self)))

    def __reversed__(self) -> Iterator[T]:
        return map(self._at, range(len(self) - 1, -1, -1))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lazy | tuple):
            return NotImplemented
        return len(self) == len(other) and all(mine == theirs for mine, theirs in zip(self, other, strict=True))

    __hash__ = None  # type: ignore[assignment]  # as of a list: it is equal to others by content

    def __repr__(self) -> str:
        return f"{type(self).__name__}({len(self)} elements)"

    def _at(self, place: int) -> T:
        raise NotImplementedError

    def _cut(self, part: slice) -> Sequence[T]:
        return tuple(self._at(place) for place in range(*part.indices(len(self))))
