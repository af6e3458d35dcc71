"""The window's commits, sorted into what a task must read: main, and branches that were rolled back."""

from collections.abc import Iterable, Sequence
from itertools import takewhile

from bot.observation.evidence import Ask
from bot.observation.ids import SnapshotId
from bot.observation.listed import marks_of
from bot.observation.looked import NotSeen
from bot.observation.record import Record
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.words import inconclusive


class Branch(Record):
    """Commits that were rolled back together."""

    fork: SnapshotId | None
    """The newest snapshot that main still has; None when it is not listed."""
    leaf: SnapshotId
    commits: tuple[Snapshot, ...]
    """Oldest first."""


class Reach(Record):
    """What the window holds."""

    since: SnapshotId | None
    """The parent of its first commit on main, if it is listed; None: from the first listed commit. Differs from
    the asked one where that was itself rolled back."""
    until: SnapshotId
    main: tuple[Snapshot, ...]
    """Ancestors of `until`, oldest first."""
    branches: tuple[Branch, ...]

    @property
    def rolled_back(self) -> tuple[Snapshot, ...]:
        return tuple(commit for branch in self.branches for commit in branch.commits)


def reach_of(ask: Ask) -> Reach:
    """The window's commits. Raises Inconclusive when the metadata no longer lists its end, or there is no commit."""
    table, window = ask.observation.table, ask.window
    if window.until is None:
        raise inconclusive(
            source=f"main of {table.name}",
            reason="Nothing was ever committed to the table.",
            remedy="Look at the job: checkpoint_health, checkpoint_pairing and leaked_manifests need no commit. "
            "Ask again after its first commit.",
        )
    if window.until not in table.by_id:
        raise inconclusive(
            source=f"snapshot {window.until} of {table.name}",
            reason="The snapshot at which the window ends is no longer listed (expired, or never there).",
            remedy="Ask again with a window that ends at the present head.",
        )
    inside = window.of(table)
    ids = {s.snapshot_id for s in inside}
    trunk = {s.snapshot_id for s in takewhile(lambda s: s.snapshot_id in ids, table.ancestors(window.until))}
    lost = {s.snapshot_id: s for s in inside if s.snapshot_id not in trunk}
    parents = {s.parent_id for s in lost.values()}
    leaves = [s for s in lost.values() if s.snapshot_id not in parents]
    main = tuple(s for s in inside if s.snapshot_id in trunk)
    since = main[0].parent_id if main else window.until
    return Reach(
        since=since if since in table.by_id else None,
        until=window.until,
        main=main,
        branches=tuple(_branch(ask, leaf, lost) for leaf in leaves),
    )


def line_of(table: TableState, of: SnapshotId | None) -> Sequence[Snapshot]:
    """`table.ancestors`, all of them at hand: on main none of fifty thousand is made before somebody looks at it."""
    if of not in table.chain_ids:
        return tuple(table.ancestors(of))
    place = next(place for place, (snapshot_id, *_) in enumerate(marks_of(table.chain)) if snapshot_id == of)
    return table.chain[place:]


def by_age(table: TableState, snapshots: Iterable[int]) -> tuple[SnapshotId, ...]:
    """Oldest first; one that is no longer listed is older than all that are."""
    ids = (SnapshotId(snapshot) for snapshot in snapshots)
    return tuple(sorted(ids, key=lambda snapshot: (table.place_of(snapshot), snapshot)))


def begin_of(reach: Reach) -> SnapshotId | None:
    """The oldest listed state that the window's rows are compared with; None: it has no commit on main."""
    return reach.since if reach.since is not None else next((s.snapshot_id for s in reach.main), None)


def is_cut(ask: Ask, reach: Reach) -> bool:
    """Whether what lay where the window begins is no longer listed: the snapshot that was asked for or, from the first
    listed commit on, what that one was built on."""
    return reach.since is None and (ask.window.since is not None or any(c.has_commit_below for c in reach.main[:1]))


def cut_off(ask: Ask, reach: Reach) -> tuple[NotSeen, ...]:
    """What is said where the window's beginning is gone; nothing where it is listed."""
    return (begin_expired(ask, reach),) if is_cut(ask, reach) else ()


def begin_expired(ask: Ask, reach: Reach) -> NotSeen:
    """What is said of a window whose beginning is gone. Where the table's first commit is listed, its beginning was no
    ancestor of that one, and expiry of ancestors has not taken it."""
    since = ask.window.since
    if since is not None and reach.main and not reach.main[0].has_commit_below:
        return NotSeen(
            source=f"snapshot {since} of {ask.observation.table.name}",
            reason="The snapshot where the window begins is no longer listed, and the table's first commit is: that "
            "snapshot was of a former table of this name, or of a line that main has left, so what lay below is not "
            "known.",
            remedy="Ask whether the table was dropped and made anew. If so, compare with the source from its beginning "
            "on. Then ask again with a window that begins at a listed snapshot.",
        )
    at = f"snapshot {since}" if since is not None else f"what lay below snapshot {reach.main[0].snapshot_id}"
    return NotSeen(
        source=f"{at} of {ask.observation.table.name}",
        reason="The snapshot where the window begins is no longer listed (expired), so what lay below is not known.",
        remedy="Ask again with a window that begins at a listed snapshot.",
    )


def _branch(ask: Ask, leaf: Snapshot, lost: dict[SnapshotId, Snapshot]) -> Branch:
    commits: list[Snapshot] = []
    fork: SnapshotId | None = None
    for snapshot in ask.observation.table.ancestors(leaf.snapshot_id):
        if snapshot.snapshot_id not in lost:
            fork = snapshot.snapshot_id
            break
        commits.append(snapshot)
    return Branch(fork=fork, leaf=leaf.snapshot_id, commits=tuple(reversed(commits)))
