"""What is lost or doubled in the little world, counted by positions along the chain."""

from collections import Counter
from collections.abc import Iterable

from bot.domain.ids import JobId, SnapshotId
from bot.domain.table import Snapshot
from tests.cases import Tale


class Truth:
    """Which positions each commit holds or takes off."""

    def __init__(self, tale: Tale) -> None:
        self.tale = tale
        self.position = 0
        """The next one that the job reads."""
        self.holds: dict[SnapshotId, tuple[int, ...]] = {}
        self.takes: dict[SnapshotId, frozenset[int]] = {}
        self.replaced: set[tuple[JobId, int]] = set()
        """The runs' positions on main before somebody replaced the table under them."""
        self.answers_for: JobId | None = None
        """The run whose rows alone count, because it had no state when the table was replaced."""

    def chain(self) -> list[Snapshot]:
        """Main, oldest first."""
        by_id = {s.snapshot_id: s for s in self.tale.snapshots}
        found, at = [], self.tale.head
        while at is not None and at in by_id:
            found.append(by_id[at])
            at = by_id[at].parent_id
        return found[::-1]

    def live(self, until: SnapshotId | None = None) -> list[int]:
        """Positions at the head, or at a commit on main, once for each live row."""
        rows: list[int] = []
        for commit in self.chain():
            rows = self._after(rows, commit)
            if commit.snapshot_id == until:
                break
        return rows

    def live_at(self, snapshot: SnapshotId) -> list[int]:
        """The same at any listed commit, on main or not."""
        rows: list[int] = []
        for commit in reversed(list(self.tale.table.ancestors(snapshot))):
            rows = self._after(rows, commit)
        return rows

    def _after(self, rows: Iterable[int], commit: Snapshot) -> list[int]:
        gone = self.takes.get(commit.snapshot_id, frozenset())
        return [*(each for each in rows if each not in gone), *self.holds.get(commit.snapshot_id, ())]

    def lost(self, finished: Iterable[int]) -> set[int]:
        """Positions up to the highest finished one that are not at the head, from the lowest live one on, and that
        the job will not read again."""
        live = set(self.live())
        until = min(max(finished, default=-1) + 1, self.position)
        return set(range(min(live, default=0), until)) - live

    def never_arrived(self, finished: Iterable[int]) -> set[int]:
        """Those of them that are not at the head, and that the job will not read again."""
        return {each for each in finished if each < self.position} - set(self.live())

    def taken_off(self) -> set[int]:
        """Positions that main had and has no more, as its history shows, and that the job will not read again."""
        once = {move.snapshot_id for move in self.tale.moves} & {s.snapshot_id for s in self.tale.snapshots}
        off = once - {s.snapshot_id for s in self.chain()}
        gone = {each for snapshot in off for each in self.holds.get(snapshot, ()) if each < self.position}
        return gone - set(self.live())

    def replaced_under_it(self) -> set[int]:
        """Positions that a replaced table had of the job, that are not at the head, and that are not read again."""
        mine = {each for run, each in self.replaced if self.answers_for in (run, None)}
        return {each for each in mine if each < self.position} - set(self.live())

    def doubled(self, until: SnapshotId | None) -> set[int]:
        """Positions in two live rows at this commit."""
        return {each for each, rows in Counter(self.live(until)).items() if rows > 1}
