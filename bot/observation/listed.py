"""The snapshots of a long history in little memory: fifty thousand of them in six megabytes.

As records of their own they take nearly a kilobyte each, and a bot holds several tables at once. Here numbers stand in
columns and texts in small compressed blocks; a snapshot is made when somebody looks at it, and what is asked of every
one is kept as numbers.

To whoever looks at it, such a snapshot is a `Snapshot` like any other: two words of memory, and every field looked up
when somebody asks for it. Pydantic asks a record for its `__dict__`, which here is made anew each time. A copy of it is
a plain one.
"""

from array import array
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar, overload

from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId
from bot.observation.snapshot import Snapshot

if TYPE_CHECKING:
    pass
import marshal
import zlib
from bisect import bisect_right
from collections.abc import Iterable, Mapping, Set
from functools import cached_property
from itertools import repeat

from bot.observation.ids import DRAINED
from bot.observation.snapshot import Alike, unpacked

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


class ListedSnapshot(Snapshot):
    """Made by `listed_snapshot` alone."""

    __slots__ = ("_of", "_place")

    if TYPE_CHECKING:
        _of: "Listed"
        _place: int
    else:
        __dict__ = property(lambda self: {name: getattr(self, name) for name in Snapshot.model_fields})
        __pydantic_fields_set__ = property(lambda _self: set(Snapshot.model_fields))
        __pydantic_extra__ = property(lambda _self: None)
        __pydantic_private__ = property(lambda _self: None)

    @property
    def job_id(self) -> JobId | None:
        """See `Snapshot`; from a column, because every commit of a table is asked for it."""
        return self._of.writers[self._of.columns.writers[self._place]][0]

    @property
    def operator_id(self) -> OperatorId | None:
        return self._of.writers[self._of.columns.writers[self._place]][1]

    @property
    def checkpoint_id(self) -> CheckpointId | None:
        found = self._of.columns.checkpoints[self._place]
        if found > LOOK:
            return CheckpointId(found)
        return None if found == NONE else super().checkpoint_id

    def __copy__(self) -> Any:
        return Snapshot.model_construct(**self.__dict__)

    def __deepcopy__(self, memo: dict[int, Any] | None = None) -> Any:
        return self.__copy__()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Snapshot) and self.__dict__ == other.__dict__

    def __reduce__(self) -> tuple[Any, ...]:
        return Snapshot.model_validate, (self.__dict__,)


def _parent_id(self: ListedSnapshot) -> SnapshotId | None:
    found = self._of.columns.parents[self._place]
    return None if found == NONE else SnapshotId(found)


_FIELDS: dict[str, Callable[[ListedSnapshot], object]] = {
    "snapshot_id": lambda self: self._of.columns.ids[self._place],
    "parent_id": _parent_id,
    "sequence_number": lambda self: self._of.columns.sequence_numbers[self._place],
    "committed_at": lambda self: moment_of(self._of.columns.moments[self._place]),
    "operation": lambda self: self._of.kind_at(self._place).operation,
    "manifest_list": lambda self: self._of.manifest_list_at(self._place),
    "schema_id": lambda self: self._of.kind_at(self._place).schema_id,
    "summary": lambda self: self._of.summary_at(self._place),
}


assert _FIELDS.keys() == Snapshot.model_fields.keys()


for _name, _read in _FIELDS.items():  # not in the class: pydantic takes a property there for a field's default
    setattr(ListedSnapshot, _name, property(_read))


_set_list, _set_place = (vars(ListedSnapshot)[slot].__set__ for slot in ("_of", "_place"))


def listed_snapshot(of: "Listed", place: int) -> ListedSnapshot:
    made = ListedSnapshot.__new__(ListedSnapshot)
    _set_list(made, of)
    _set_place(made, place)
    return made


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
        self,
        columns: Columns,
        writers: Sequence[tuple[JobId | None, OperatorId | None]],
        blocks: Sequence[Block],
        begins: "array[int]",
        naming: "array[int]",
    ) -> None:
        self.columns: Columns = columns
        self.writers = writers
        self._blocks = blocks
        self.begins = begins
        """Places, rising, where a stretch of commits begins: of one writer with rows, alike but for their numbers, each
        the parent of the next, at rising checkpoints and no earlier. Any other commit is a stretch of its own."""
        self.naming = naming
        """Places of repairs and cherry-picks, rising."""
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
        return unpacked(self.kind_at(place).alike, self._texts(place)[place % BLOCK * 2 + 1])

    @cached_property
    def _by_id(self) -> tuple["array[int]", "array[int]"]:
        """(Ids in rising order, the place of each); of equal ids the last one counts."""
        ids = self.columns.ids
        order = array("I", sorted(range(len(ids)), key=ids.__getitem__))
        return array("q", (ids[place] for place in order)), order

    def at(self, places: Iterable[int]) -> Iterator[ListedSnapshot]:
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


Mark = tuple[SnapshotId, JobId | None, OperatorId | None, CheckpointId | None]
"""What tells whose commit a snapshot is."""
Writer = tuple[JobId, OperatorId | None]


class Picked(Lazy[Snapshot]):
    """Some snapshots of a list, in an order of their own."""

    def __init__(self, of: Listed, places: Sequence[int]) -> None:
        self._of = of
        self._places = places

    def __len__(self) -> int:
        return len(self._places)

    def __iter__(self) -> Iterator[Snapshot]:
        return self._of.at(self._places)

    def __reversed__(self) -> Iterator[Snapshot]:
        return self._of.at(reversed(self._places))

    def _at(self, place: int) -> Snapshot:
        return self._of[self._places[place]]

    def _cut(self, part: slice) -> "Picked":
        return Picked(self._of, self._places[part])

    def where(self, fits: Callable[[Snapshot], bool]) -> "Picked":
        """Those that fit, in the same order."""
        fit = (place for place, each in zip(self._places, self, strict=True) if fits(each))
        return Picked(self._of, array("I", fit))

    def left_out(self) -> Iterator[Snapshot]:
        """What is in the list and not among these, in the list's order."""
        return self._of.at(self.ids.places_without())

    def marks(self) -> Iterator[Mark]:
        """Of each, in order, without making it."""
        columns = self._of.columns
        writers = map(self._of.writers.__getitem__, map(columns.writers.__getitem__, self._places))
        checkpoints = map(columns.checkpoints.__getitem__, self._places)
        for place, (job, operator), told in zip(self._places, writers, checkpoints, strict=True):
            checkpoint = told if told > LOOK else None if told == NONE else self._of[place].checkpoint_id
            yield (
                SnapshotId(columns.ids[place]),
                job,
                operator,
                checkpoint if checkpoint is None else CheckpointId(checkpoint),
            )

    def highest(self) -> dict[Writer, CheckpointId]:
        """See `highest_of`. Twice as fast as `marks`."""
        columns = self._of.columns
        found: list[CheckpointId | None] = [None] * len(self._of.writers)
        writers, checkpoints = (map(each.__getitem__, self._places) for each in (columns.writers, columns.checkpoints))
        for number, (writer, checkpoint) in enumerate(zip(writers, checkpoints, strict=True)):
            told = self[number].checkpoint_id if checkpoint == LOOK else checkpoint
            if told is None or checkpoint == NONE or told == DRAINED:
                continue
            if (most := found[writer]) is None or most < told:
                found[writer] = CheckpointId(told)
        told_of = zip(self._of.writers, found, strict=True)
        return {(job, of): most for (job, of), most in told_of if job is not None and most is not None}

    def first_by(self, jobs: Set[JobId]) -> Iterator[int]:
        """See `first_by`."""
        left = {number for number, (job, _) in enumerate(self._of.writers) if job in jobs}
        writers = self._of.columns.writers
        for number, place in enumerate(self._places):
            if not left:
                return
            if writers[place] in left:
                left.discard(writers[place])
                yield number

    def at_checkpoints(self, checkpoints: Set[CheckpointId]) -> Iterator[int]:
        """See `at_checkpoints`."""
        told = map(self._of.columns.checkpoints.__getitem__, self._places)
        for number, checkpoint in enumerate(told):
            told_here = self[number].checkpoint_id if checkpoint == LOOK else checkpoint
            if checkpoint != NONE and told_here in checkpoints:
                yield number

    @cached_property
    def ids(self) -> "PickedIds":
        """For membership."""
        return PickedIds(self._of, self._places)


class PickedIds(Set[SnapshotId]):
    def __init__(self, of: Listed, places: Sequence[int]) -> None:
        self._of = of
        self._places = places
        self._is_picked = bytearray(len(of))
        for place in places:
            self._is_picked[place] = 1

    def __contains__(self, snapshot_id: object) -> bool:
        place = self._of.place(snapshot_id) if isinstance(snapshot_id, int) else None
        return place is not None and bool(self._is_picked[place])

    def places_without(self) -> Iterator[int]:
        """Of the snapshots that are not picked."""
        place = self._is_picked.find(0)
        while place >= 0:
            yield place
            place = self._is_picked.find(0, place + 1)

    def __iter__(self) -> Iterator[SnapshotId]:
        return map(self._of.id_at, self._places)

    def __len__(self) -> int:
        return len(self._places)

    @classmethod
    def _from_iterable(cls, ids: Iterable[T]) -> frozenset[T]:
        return frozenset(ids)


class ById(Mapping[SnapshotId, Snapshot]):
    def __init__(self, of: Listed) -> None:
        self._of = of

    def __getitem__(self, snapshot_id: SnapshotId) -> Snapshot:
        place = self._of.place(snapshot_id)
        if place is None:
            raise KeyError(snapshot_id)
        return self._of[place]

    def __contains__(self, snapshot_id: object) -> bool:
        return isinstance(snapshot_id, int) and self._of.place(snapshot_id) is not None

    def __iter__(self) -> Iterator[SnapshotId]:
        return map(self._of.id_at, range(len(self._of)))

    def __len__(self) -> int:
        return len(self._of)


def chosen(snapshots: Sequence[Snapshot], fits: Callable[[Snapshot], bool]) -> Sequence[Snapshot]:
    """Those that fit, in the same order, in as little memory as they had."""
    return snapshots.where(fits) if isinstance(snapshots, Picked) else tuple(filter(fits, snapshots))


def marks_of(snapshots: Sequence[Snapshot]) -> Iterator[Mark]:
    """Of each, in order. There may be fifty thousand, and few of them are wanted whole."""
    if isinstance(snapshots, Picked):
        return snapshots.marks()
    return ((each.snapshot_id, each.job_id, each.operator_id, each.checkpoint_id) for each in snapshots)


def highest_of(snapshots: Sequence[Snapshot]) -> dict[Writer, CheckpointId]:
    """Writer -> the highest checkpoint id among its commits here, `DRAINED` left out; writers without one are too."""
    if isinstance(snapshots, Picked):
        return snapshots.highest()
    found: dict[Writer, CheckpointId] = {}
    for _, job, operator, checkpoint in marks_of(snapshots):
        if job is not None and checkpoint is not None and checkpoint != DRAINED:
            found[job, operator] = max(checkpoint, found.get((job, operator), checkpoint))
    return found


def first_by(snapshots: Sequence[Snapshot], jobs: Set[JobId]) -> Iterator[int]:
    """Places of the first commit here of each writer of these runs, rising."""
    if isinstance(snapshots, Picked):
        yield from snapshots.first_by(jobs)
        return
    found: set[Writer] = set()
    for place, (_, job, operator, _) in enumerate(marks_of(snapshots)):
        if job is not None and job in jobs and (job, operator) not in found:
            found.add((job, operator))
            yield place


def jobs_of(snapshots: Sequence[Snapshot]) -> Set[JobId | None]:
    if isinstance(snapshots, Listed):
        return {job for job, _ in snapshots.writers}
    return {snapshot.job_id for snapshot in snapshots}


def at_checkpoints(snapshots: Sequence[Snapshot], checkpoints: Set[CheckpointId]) -> Iterator[int]:
    """Places of the commits here that carry one of these checkpoint ids, rising."""
    if isinstance(snapshots, Picked):
        return snapshots.at_checkpoints(checkpoints)
    return (place for place, each in enumerate(snapshots) if each.checkpoint_id in checkpoints)
