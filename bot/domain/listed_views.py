"""Parts of a long list of snapshots: some of them in another order, their ids, all of them by id."""

from array import array
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from typing import TypeVar

from bot.domain.columns import LOOK, NONE
from bot.domain.ids import DRAINED, CheckpointId, JobId, OperatorId, SnapshotId
from bot.domain.lazy import Lazy
from bot.domain.listed import Listed
from bot.domain.snapshot import Snapshot

T = TypeVar("T")
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
    """Ids of some snapshots of a list."""

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
    """Snapshots by their ids."""

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
    """The runs that wrote these."""
    if isinstance(snapshots, Listed):
        return {job for job, _ in snapshots.writers}
    return {snapshot.job_id for snapshot in snapshots}


def at_checkpoints(snapshots: Sequence[Snapshot], checkpoints: Set[CheckpointId]) -> Iterator[int]:
    """Places of the commits here that carry one of these checkpoint ids, rising."""
    if isinstance(snapshots, Picked):
        return snapshots.at_checkpoints(checkpoints)
    return (place for place, each in enumerate(snapshots) if each.checkpoint_id in checkpoints)
