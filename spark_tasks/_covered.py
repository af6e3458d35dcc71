"""What part of the source commits cover, and which of them cover the same."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from bot.domain.ids import SnapshotId


@dataclass(frozen=True)
class Range:
    """What one commit covers: of one source partition by position, or of all of them by event time."""

    snapshot_id: SnapshotId
    partition: str
    low: int
    high: int
    """Inclusive."""
    rows: int | None = None
    """That have a position, or a time, in it; None: not known."""

    @property
    def is_dense(self) -> bool:
        """Whether it has each position between its ends once, as far as a count tells."""
        return self.rows == self.high - self.low + 1


@dataclass(frozen=True)
class Overlap:
    """Two commits, and how much of the source both cover."""

    one: SnapshotId
    other: SnapshotId
    partition: str
    low: int
    size: int
    is_exact: bool
    """Whether positions show it, and more of them than the one at which two longer ranges touch."""
    is_of_positions: bool


@dataclass(frozen=True)
class Covered:
    """Ranges of commits, by the better measure that they have."""

    positions: tuple[Range, ...] = ()
    """Of commits all of whose files hold one source partition each, or whose source has only one."""
    times: tuple[Range, ...] = ()
    """Of commits by event time."""
    commits: frozenset[SnapshotId] = frozenset()
    """Those that added rows, with a range or without."""
    unstated: frozenset[SnapshotId] = frozenset()
    """Those with a file that may hold positions and of which nothing tells which: their writer left out the bounds."""
    mixed: frozenset[SnapshotId] = frozenset()
    """Those with a file of several source partitions: its bounds tell nothing of any."""
    untold: frozenset[SnapshotId] = frozenset()
    """Those of which neither bounds nor rows tell all, whoever made them and whether or not they are compared."""
    unread: str = ""
    """Why the rows of both kinds were not read instead, as the end of a sentence."""
    bare: Mapping[SnapshotId, int] = field(default_factory=dict)
    """Commit -> rows that have no position, as far as that is counted."""

    def __add__(self, other: "Covered") -> "Covered":
        """Of commits that are others'."""
        return Covered(
            positions=self.positions + other.positions,
            times=self.times + other.times,
            commits=self.commits | other.commits,
            unstated=self.unstated | other.unstated,
            mixed=self.mixed | other.mixed,
            untold=self.untold | other.untold,
            bare={**self.bare, **other.bare},
        )

    def known(self, commits: Sequence[SnapshotId]) -> bool:
        """Whether any two of these can be compared: all by position, or all by event time."""
        by_position, by_time = ({r.snapshot_id for r in ranges} for ranges in (self.positions, self.times))
        return by_position >= set(commits) or by_time >= set(commits)

    def overlaps(self) -> Iterator[Overlap]:
        """Pairs that cover the same: positions exactly; event times, which overlap a little at every orderly
        hand-over, where half of the shorter one is covered, and only for pairs that positions do not tell."""
        exact = {r.snapshot_id for r in self.positions}
        for one, other, low, size, shorter in _overlaps(self.positions):
            yield Overlap(
                one.snapshot_id, other.snapshot_id, one.partition, low, size,
                is_exact=size > 1 or shorter == 1, is_of_positions=True,
            )  # fmt: skip
        for one, other, low, size, shorter in _overlaps(self.times):
            pair = one.snapshot_id, other.snapshot_id
            if 2 * size >= shorter and not {*pair} <= exact:
                yield Overlap(*pair, one.partition, low, size, is_exact=False, is_of_positions=False)


def _overlaps(ranges: Iterable[Range]) -> Iterator[tuple[Range, Range, int, int, int]]:
    """Pairs of one partition that share a place, with the first place that they share, how many they share, and the
    size of the shorter one; swept by lower end."""
    open_ones: list[Range] = []
    partition: str | None = None
    for each in sorted(ranges, key=lambda r: (r.partition, r.low)):
        if each.partition != partition:
            open_ones, partition = [], each.partition
        open_ones = [one for one in open_ones if one.high >= each.low]
        for one in open_ones:
            size = min(one.high, each.high) - each.low + 1
            shorter = min(one.high - one.low, each.high - each.low) + 1
            if one.snapshot_id != each.snapshot_id:
                yield one, each, each.low, size, shorter
        open_ones.append(each)
