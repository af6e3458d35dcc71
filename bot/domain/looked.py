"""The difference between 'nothing there' and 'could not look', kept as data."""

from typing import Generic, Literal, TypeVar

from bot.domain.record import Record

T = TypeVar("T")


class Seen(Record, Generic[T]):
    """The source answered; an empty `values` really means that nothing is there."""

    state: Literal["seen"] = "seen"
    source: str
    """Where we looked, as a responder would name it: `Flink REST at http://…`."""
    values: tuple[T, ...]


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

    @property
    def values(self) -> tuple[()]:
        """Empty, so that lists can be built; rules must test `state` before they conclude."""
        return ()
