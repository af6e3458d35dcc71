"""The difference between 'nothing there' and 'could not look', kept as data."""

from collections.abc import Iterable
from typing import Generic, Literal, TypeVar

from bot.observation.record import Record

T = TypeVar("T")


class Part(tuple[T, ...]):
    """What a source told, where some of it could not be read."""

    unread: str
    """How much, and where, as half a sentence: `3 of 20 events … could not be read`."""

    @classmethod
    def of(cls, values: Iterable[T], unread: str) -> "Part[T]":
        """These values, beside which something could not be read."""
        part = cls(values)
        part.unread = unread
        return part


def unread_in(values: tuple[T, ...]) -> str | None:
    """What could not be read beside these; None: everything was."""
    return values.unread if isinstance(values, Part) else None


class Seen(Record, Generic[T]):
    """The source answered; an empty `values` really means that nothing is there."""

    state: Literal["seen"] = "seen"
    source: str
    """Where we looked, as a responder would name it: `Flink REST at http://…`."""
    values: tuple[T, ...]
    unread: str | None = None
    """What the source holds beside these and could not be read, as half a sentence: what is not among the values may be
    in there. None: nothing."""


class NotSeen(Record):
    """The source could not be asked; nothing may be concluded from it."""

    state: Literal["not-seen"] = "not-seen"
    source: str
    reason: str
    """What happened, in one sentence."""
    remedy: str
    """What a responder can do about it."""
    lost_file: str | None = None
    """A file that the source names and that is not on storage, where that is why nothing could be seen."""
    damaged_file: str | None = None
    """The same of a file that is there and cannot be read to its end."""

    @property
    def values(self) -> tuple[()]:
        """Empty, so that lists can be built; rules must test `state` before they conclude."""
        return ()
