"""The snapshots of a long history in little memory: fifty thousand of them in six megabytes.

As records of their own they take nearly a kilobyte each, and a bot holds several tables at once. Here numbers stand in
columns and texts in small compressed blocks; a snapshot is made when somebody looks at it.
"""

import marshal
import zlib
from array import array
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import repeat
from typing import NamedTuple

from bot.domain.columns import NONE, Columns
from bot.domain.ids import JobId, OperatorId, SnapshotId
from bot.domain.lazy import Lazy
from bot.domain.listed_snapshot import ListedSnapshot, listed_snapshot
from bot.domain.snapshot import Snapshot
from bot.domain.summary import Alike, unpacked

BLOCK = 128
"""Snapshots whose texts are compressed together, and unpacked at once."""
_BLOCKS_AT_HAND = 16
"""Blocks that stay unpacked: a round of evidence looks at the newest commits again and again."""


class Kind(NamedTuple):
    """What neighbouring snapshots say alike."""

    alike: Alike | None
    operation: str
    schema_id: int | None
    folder: str
    """Of the manifest lists, with the slash at its end."""


class Block(NamedTuple):
    """The texts of up to `BLOCK` snapshots."""

    kinds: tuple[Kind, ...]
    texts: bytes
    """Compressed: of each snapshot the name of its manifest list and its own part of the summary."""


class Listed(Lazy[Snapshot]):
    """Snapshots by rising sequence number, which nobody changes any more. `packing` makes them."""

    def __init__(
        self, columns: Columns, writers: Sequence[tuple[JobId | None, OperatorId | None]], blocks: Sequence[Block]
    ) -> None:
        self.columns: Columns = columns
        self.writers = writers
        self._blocks = blocks
        self._at_hand: list[tuple[int, list[str | Mapping[str, str]]] | None] = [None] * _BLOCKS_AT_HAND

    def __len__(self) -> int:
        return len(self.columns.ids)

    def place(self, of: int | None) -> int | None:
        """Where that snapshot stands; None if it is not listed."""
        ids, places = self._by_id
        found = -1 if of is None else bisect_right(ids, of) - 1
        return places[found] if found >= 0 and ids[found] == of else None

    def line(self, of: int | None) -> Iterator[int]:
        """Places of that snapshot and of its parents, newest first."""
        ids, parents = self.columns.ids, self.columns.parents
        place = self.place(of)
        while place is not None:
            yield place
            parent = parents[place]
            if parent == NONE:
                return
            place = place - 1 if place and ids[place - 1] == parent else self.place(parent)

    def id_at(self, place: int) -> SnapshotId:
        """Without making the snapshot."""
        return SnapshotId(self.columns.ids[place])

    def kind_at(self, place: int) -> Kind:
        """What that snapshot has in common with others."""
        return self._blocks[place // BLOCK].kinds[place % BLOCK]

    def manifest_list_at(self, place: int) -> str:
        """Its whole path."""
        return f"{self.kind_at(place).folder}{self._texts(place)[place % BLOCK * 2]}"

    def summary_at(self, place: int) -> Mapping[str, str]:
        """As the writer wrote it."""
        return unpacked(self.kind_at(place).alike, self._texts(place)[place % BLOCK * 2 + 1])

    @cached_property
    def _by_id(self) -> tuple["array[int]", "array[int]"]:
        """(Ids in rising order, the place of each); of equal ids the last one counts."""
        ids = self.columns.ids
        order = array("I", sorted(range(len(ids)), key=ids.__getitem__))
        return array("q", (ids[place] for place in order)), order

    def at(self, places: Iterable[int]) -> Iterator[ListedSnapshot]:
        """The snapshots at these places."""
        return map(listed_snapshot, repeat(self), places)

    def __iter__(self) -> Iterator[Snapshot]:
        return self.at(range(len(self)))

    def _at(self, place: int) -> ListedSnapshot:
        return listed_snapshot(self, place)

    def _texts(self, place: int) -> list[str | Mapping[str, str]]:
        number = place // BLOCK
        held = self._at_hand[number % _BLOCKS_AT_HAND]
        if held is None or held[0] != number:
            texts = marshal.loads(zlib.decompress(self._blocks[number].texts))  # noqa: S302 - of this very process
            held = self._at_hand[number % _BLOCKS_AT_HAND] = (number, texts)
        return held[1]
