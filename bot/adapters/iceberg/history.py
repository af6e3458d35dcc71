"""A table's history, read from its metadata file piece by piece: fifty thousand commits in a few seconds and little
memory.

PyIceberg builds a model of every snapshot before it hands out the first: half a gigabyte for such a table. Here the
file is decoded in a stream, and every snapshot is packed as soon as it is read.
"""

import codecs
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pyiceberg.table.metadata import TableMetadata

from bot.domain.head_moves import HeadMove, HeadMoves
from bot.domain.packing import Packing
from bot.domain.snapshot import Snapshot, without_partitions

_CHUNK = 1 << 18
_Packed = tuple[Sequence[Snapshot], int | None]
"""(All snapshots, the lowest sequence number of one that gave its rows ids; None: none did.)"""


@dataclass(frozen=True)
class History:
    """What grows with each commit."""

    snapshots: Sequence[Snapshot]
    """By rising sequence number."""
    moves: Sequence[HeadMove]
    lineage_since: int | None = None
    """`TableState.lineage_since`."""


def read_split(read: Callable[[int], bytes]) -> tuple[dict[str, Any], History]:
    """(The metadata with empty `snapshots` and `snapshot-log`, its history). Raises ValueError if it is no metadata.

    `read(n)` gives at most so many bytes of UTF-8, none at the end.
    """
    text = _Text(read)
    rest: dict[str, Any] = {}
    packed: _Packed = (), None
    moves: Sequence[HeadMove] = ()
    try:
        for name in text.names():
            if name == "snapshots":
                packed = _packed(text.elements())
            elif name == "snapshot-log":
                moves = _moves(text.elements())
            else:
                rest[name] = text.value()
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"Not Iceberg metadata: {type(error).__name__} {error} in a snapshot.") from error
    return {**rest, "snapshots": [], "snapshot-log": []}, History(packed[0], moves, packed[1])


def history_of(metadata: TableMetadata) -> History:
    """The history of metadata that PyIceberg has read whole, as from a catalog that sends it itself."""
    snapshots = (each.model_dump(by_alias=True, exclude_none=True) for each in metadata.snapshots)
    moves = (each.model_dump(by_alias=True) for each in metadata.snapshot_log)
    packed = _packed(snapshots)
    return History(packed[0], _moves(moves), packed[1])


def _packed(told: Iterable[dict[str, Any]]) -> _Packed:
    packing, with_row_ids = Packing(), None
    for raw in told:
        if raw.get("first-row-id") is not None:
            number = raw.get("sequence-number") or 0
            with_row_ids = number if with_row_ids is None else min(with_row_ids, number)
        packing.add(
            snapshot_id=int(raw["snapshot-id"]),
            parent_id=raw.get("parent-snapshot-id"),
            sequence_number=raw.get("sequence-number") or 0,
            moment=int(raw["timestamp-ms"]),
            schema_id=raw.get("schema-id"),
            manifest_list=raw["manifest-list"],
            summary={key: str(value) for key, value in without_partitions(raw.get("summary") or {}).items()},
        )
    return packing.packed(), with_row_ids


def _moves(told: Iterable[dict[str, Any]]) -> HeadMoves:
    return HeadMoves((int(raw["timestamp-ms"]), int(raw["snapshot-id"])) for raw in told)


class _Text:
    """JSON of one object, decoded value by value."""

    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._decode = json.JSONDecoder().raw_decode
        self._text, self._at, self._is_over = "", 0, False

    def names(self) -> Iterator[str]:
        """The names of the object's members; the caller takes each one's value before it asks for the next."""
        self._pass("{")
        while self._next() != "}":
            name = self.value()
            self._pass(":")
            yield name
            self._pass_comma("}")

    def elements(self) -> Iterator[Any]:
        """The elements of an array; all are to be taken. A null is an empty one."""
        if self._next() != "[":
            if self.value() is not None:
                raise ValueError("Not Iceberg metadata: expected an array of snapshots.")
            return
        self._pass("[")
        while self._next() != "]":
            yield self.value()
            self._pass_comma("]")
        self._pass("]")

    def value(self) -> Any:
        """The value that begins here, whole."""
        self._next()
        while True:
            try:
                found, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                if self._is_over:
                    raise
            else:
                if end < len(self._text) or self._is_over:  # a number at the edge may go on
                    self._at = end
                    return found
            self._more()

    def _next(self) -> str:
        """The next character that is not space; it is not taken."""
        while True:
            while self._at < len(self._text):
                if not (char := self._text[self._at]).isspace():
                    return char
                self._at += 1
            if self._is_over:
                raise ValueError("Not Iceberg metadata: the file ends too early.")
            self._more()

    def _pass(self, char: str) -> None:
        if (found := self._next()) != char:
            raise ValueError(f"Not Iceberg metadata: expected {char}, found {found}.")
        self._at += 1

    def _pass_comma(self, end: str) -> None:
        if self._next() != end:
            self._pass(",")

    def _more(self) -> None:
        chunk = self._read(_CHUNK)
        self._is_over = not chunk
        self._text = self._text[self._at :] + self._utf8.decode(chunk, final=self._is_over)
        self._at = 0
