"""The source of a history: its partitions, the records that each still has, and where a reader stands in all of them.

A record is one number, its partition times `STRIDE` plus its offset, so that those of a source with one partition are
their offsets.
"""

from collections.abc import Iterable, Set
from random import Random

STRIDE = 10_000
Stand = tuple[int, ...]
"""The next offset of each partition."""
_HOLES = 0.08
"""So often an offset has no record: a transaction's marker, or what compaction took."""
_FAST = 0.8
"""How often the next record is of a partition of which more is there already."""
_CHANGES = 0.15
"""How often a partition falls silent, or has records again, from one read to the next."""


class Source:
    """Keeps its records unless they are deleted. Whoever reads again gets the same of each partition, and perhaps more
    of one sooner than of another."""

    def __init__(self, partitions: int = 1, *, holes_of: str | None = None) -> None:
        self.partitions, self.holes_of = partitions, holes_of
        self.draw = Random()  # noqa: S311 - seeded before each event
        self.begins = [0] * partitions
        """The oldest offset that each partition still has."""
        self.furthest = [0] * partitions
        """It has records at least up to here; below it, they come fast."""
        self.silent = set[int]()
        self.skipped = set[int]()
        """Records that a reader found deleted where it was to go on, and jumped over."""

    @property
    def zero(self) -> Stand:
        return (0,) * self.partitions

    def has(self, partition: int, offset: int) -> bool:
        """Whether there ever was a record."""
        return self.holes_of is None or Random(f"{self.holes_of} {partition} {offset}").random() >= _HOLES  # noqa: S311

    def reaches(self, stand: Stand) -> None:
        """Somebody stands there, so it has records at least up to there."""
        self.furthest = [max(each) for each in zip(self.furthest, stand, strict=True)]

    @property
    def every(self) -> frozenset[int]:
        return frozenset(range(self.partitions))

    def behind(self, stand: Stand, read: Set[int]) -> int:
        """How many offsets a reader of these partitions has still before it, of those that are known."""
        return sum(max(0, self.furthest[each] - self._kept(stand, read)[each]) for each in read)

    def gives(self, stand: Stand, number: int, read: Set[int]) -> tuple[tuple[int, ...], Stand]:
        """So many records of these partitions from there on, and where their reader stands then."""
        at, held = self._kept(stand, read), list[int]()
        self.skipped |= self.below(tuple(at)) - self.below(stand)
        self._changes()
        for _ in range(number):
            partition = self._next(at, sorted(read))
            while not self.has(partition, at[partition]):
                at[partition] += 1
            held.append(partition * STRIDE + at[partition])
            at[partition] += 1
        after = tuple(at) if held else stand
        self.reaches(after)
        return tuple(held), after

    def deletes_oldest(self) -> None:
        """Retention leaves the newest few of each partition, which everybody may have read."""
        for partition, end in enumerate(self.furthest):
            self.begins[partition] = max(self.begins[partition], end - self.draw.choice([0, 1, 3, 6]))

    def deletes_unread(self, stand: Stand) -> None:
        """Records pile up behind the readers in one partition, and retention deletes some before they are read."""
        partition = self.draw.randrange(self.partitions)
        piled = self.draw.choice([2, 4, 8])
        first = max(stand[partition], self.begins[partition])
        self.furthest[partition] = max(self.furthest[partition], first + piled)
        self.begins[partition] = first + self.draw.randint(1, piled)

    def below(self, stand: Stand) -> frozenset[int]:
        """Every record that it ever had before this stand."""
        every = ((partition, offset) for partition, end in enumerate(stand) for offset in range(end))
        return frozenset(partition * STRIDE + offset for partition, offset in every if self.has(partition, offset))

    def end_of(self, records: Iterable[int]) -> Stand:
        """Right behind the last of these in each partition."""
        ends = list(self.zero)
        for each in records:
            partition, offset = divmod(each, STRIDE)
            ends[partition] = max(ends[partition], offset + 1)
        return tuple(ends)

    def _kept(self, stand: Stand, read: Set[int]) -> list[int]:
        return [max(at, self.begins[each]) if each in read else at for each, at in enumerate(stand)]

    def _changes(self) -> None:
        """Some partitions fall silent, and others have records again; one is never silent."""
        for partition in range(1, self.partitions):
            if self.draw.random() < _CHANGES:
                self.silent ^= {partition}

    def _next(self, at: list[int], read: list[int]) -> int:
        if len(read) == 1:
            return read[0]
        behind = [each for each in read if at[each] < self.furthest[each]]
        active = [each for each in read if each not in self.silent] or read
        return self.draw.choice(behind if behind and self.draw.random() < _FAST else active)


def has_passed(stand: Stand, record: int) -> bool:
    """Whether a reader there has it behind itself."""
    partition, offset = divmod(record, STRIDE)
    return offset < stand[partition]


def offset_of(record: int) -> int:
    """Its position within its partition."""
    return record % STRIDE


def by_partition(records: Iterable[int]) -> dict[int, list[int]]:
    """Partition -> its offsets among these, rising."""
    found = dict[int, list[int]]()
    for each in sorted(records):
        partition, offset = divmod(each, STRIDE)
        found.setdefault(partition, []).append(offset)
    return found


def stand_in_words(stand: Stand) -> str:
    """`3`, or of several partitions `3/0/7`."""
    return "/".join(map(str, stand))
