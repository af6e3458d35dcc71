"""Java's `DataInput` over bytes in hand: what Flink's `_metadata` is written with."""

import struct
from collections.abc import Callable
from typing import NamedTuple

_MOST_PARTS = 10_000_000
"""No list in a `_metadata` is longer; a count above it means that the place is not what it was taken for."""


class NotUnderstood(Exception):
    """The bytes do not follow the layout; only within the reading of one file."""


class StateFile(NamedTuple):
    """A file that holds a piece of state."""

    path: str
    """As Flink writes it."""
    is_relative: bool
    """To the folder of `_metadata`."""
    end: int
    """So many bytes of it are needed."""


class JavaBytes:
    """A cursor. Every method moves it on and raises NotUnderstood where the bytes end or make no sense."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self._content = content
        self.at = at
        self.blocks: list[tuple[int, int]] = []
        """Where each block that was passed lies, and its length: content of a state, not its frame."""
        self.files: list[StateFile] = []
        """Each file that was named, in that order; one may come more than once."""

    @property
    def left(self) -> int:
        """Bytes that are not read yet."""
        return len(self._content) - self.at

    def take(self, count: int) -> bytes:
        """The next `count` bytes."""
        if not 0 <= count <= self.left:
            raise NotUnderstood(f"{count} bytes were expected at byte {self.at}; {self.left} are left")
        self.at += count
        return self._content[self.at - count : self.at]

    def byte(self) -> int:
        """One byte, unsigned."""
        return self.take(1)[0]

    def int32(self) -> int:
        """Signed."""
        return int(struct.unpack(">i", self.take(4))[0])

    def int64(self) -> int:
        """Signed."""
        return int(struct.unpack(">q", self.take(8))[0])

    def size(self) -> int:
        """A size in bytes; Flink writes -1 where it does not know it, which counts as 0."""
        return max(self.int64(), 0)

    def text(self) -> str:
        """Java's modified UTF-8, its length before it; what is no plain text is shown as well as it goes."""
        return self.take(int.from_bytes(self.take(2), "big")).decode("utf-8", "replace")

    def block(self) -> bytes:
        """Bytes with their length before them."""
        content = self.take(self._not_negative(self.int32(), "a length"))
        self.blocks.append((self.at - len(content), len(content)))
        return content

    def times(self, read: Callable[[], object]) -> None:
        """A count, and that many parts, of which nothing is kept."""
        for _ in range(self.count()):
            read()

    def count(self) -> int:
        """How many parts follow."""
        count = self._not_negative(self.int32(), "a count")
        if count > min(_MOST_PARTS, self.left):
            raise NotUnderstood(f"{count} parts were announced before byte {self.at}; {self.left} bytes are left")
        return count

    def longs(self, count: int) -> tuple[int, ...]:
        """So many signed ones."""
        return struct.unpack(f">{count}q", self.take(8 * self._not_negative(count, "a count")))

    def skip_longs(self, count: int) -> None:
        """Passes over offsets."""
        self.take(8 * self._not_negative(count, "a count"))

    def _not_negative(self, value: int, what: str) -> int:
        if value < 0:
            raise NotUnderstood(f"{what} before byte {self.at} is {value}")
        return value
