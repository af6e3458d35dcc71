"""The snapshot log: which snapshot was the head of main, and from when on."""

from array import array
from collections.abc import Iterable

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from bot.domain.columns import moment_of
from bot.domain.ids import SnapshotId
from bot.domain.lazy import Lazy
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
