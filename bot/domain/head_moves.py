"""The snapshot log: which snapshot was the head of main, and from when on.

In which order the commits of a table were made. Pure.
"""

from array import array
from collections.abc import Iterable, Sequence

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from bot.domain.columns import Lazy, moment_of
from bot.domain.ids import SnapshotId
from bot.domain.record import Utc


@dataclass(frozen=True, slots=True, config=ConfigDict(extra="forbid"))
class HeadMove:
    """One line of the snapshot log: from `at` on, `snapshot_id` was the head of main.

    Not a `Record`: there is one for every commit, and so it takes a third of the memory.
    """

    at: Utc
    snapshot_id: SnapshotId


class HeadMoves(Lazy[HeadMove]):
    """Kept as numbers: there is a move for every commit."""

    def __init__(self, told: Iterable[tuple[int, int]]) -> None:
        """(Milliseconds since 1970, snapshot id). Raises OverflowError where one is none of a log."""
        self._moments, self._ids = array("q"), array("q")
        for moment, snapshot_id in told:
            moment_of(moment)
            self._moments.append(moment)
            self._ids.append(snapshot_id)

    def __len__(self) -> int:
        return len(self._ids)

    def _at(self, place: int) -> HeadMove:
        return HeadMove(at=moment_of(self._moments[place]), snapshot_id=SnapshotId(self._ids[place]))


Age = tuple[int, int, int]


def ages(
    ids: Sequence[int], parents: Sequence[int | None], numbers: Sequence[int], moments: Sequence[int]
) -> list[Age]:
    """What each commit sorts by, the oldest first, none before its parent.

    By sequence number; in format v1, where it is 0 of every commit, by its moment (any unit), but never by one before
    the parent's, for the clocks of two writers differ; then by the number of its ancestors.
    """
    place = {each: at for at, each in enumerate(ids)}
    told: dict[int, Age] = {}
    for start in range(len(ids)):
        line: list[int] = []
        at: int | None = start
        while at is not None and at not in told:
            line.append(at)
            told[at] = (numbers[at], moments[at], 0)
            at = place.get(parents[at] or 0)
        for each in reversed(line):
            _, moment, depth = told[at] if at is not None else (0, moments[each], 0)
            told[each] = (numbers[each], max(moment, moments[each]), depth + 1)
            at = each
    return [told[at] for at in range(len(ids))]
