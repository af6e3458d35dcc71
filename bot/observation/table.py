"""What Iceberg's metadata says of a table at one pinned `metadata.json`."""

import re
from array import array
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from functools import cached_property
from itertools import takewhile, zip_longest
from typing import Annotated, TypeVar

from pydantic import (
    ConfigDict,
    Field,
    SerializerFunctionWrapHandler,
    ValidatorFunctionWrapHandler,
    WrapSerializer,
    WrapValidator,
)
from pydantic.dataclasses import dataclass

from bot.observation.ids import SnapshotId, TableName
from bot.observation.listed import ById, Lazy, Listed, Picked, chosen, moment_of
from bot.observation.record import Record, Utc
from bot.observation.snapshot import REPAIR as REPAIR
from bot.observation.snapshot import TOOK_OUT as TOOK_OUT
from bot.observation.snapshot import Snapshot as Snapshot


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
        self._moments, self.ids = array("q"), array("q")
        for moment, snapshot_id in told:
            moment_of(moment)
            self._moments.append(moment)
            self.ids.append(snapshot_id)

    def __len__(self) -> int:
        return len(self.ids)

    def _at(self, place: int) -> HeadMove:
        return HeadMove(at=moment_of(self._moments[place]), snapshot_id=SnapshotId(self.ids[place]))


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


MOST_PARTITIONS = 20
"""Values of one field that are kept of one commit; how many more there are is counted."""
_WORDS = re.compile(r"(?P<transform>\w+)(?:\[\d+\])?\((?P<inside>.+)\)", re.DOTALL)


class PartitionField(Record):
    words: str
    """As `day(event_time)`; a column by its name where it is taken as it is."""
    name: str
    """The field's own, as manifests have it: `event_time_day`."""
    type: str
    """Of its values, in Iceberg's words."""

    @property
    def transform(self) -> str:
        """`day`, `bucket`, …, `identity`."""
        return transform_and_column(self.words)[0]

    @property
    def column(self) -> str:
        return transform_and_column(self.words)[1]


class TouchedPartitions(Record):
    """Where one commit added or removed files, by one field of the partitioning. Never of a column that is hidden."""

    field: str
    """Its `words`."""
    values: tuple[str, ...]
    """As engines show them, at most `MOST_PARTITIONS`; `null` where the column is."""
    more: int = 0
    """How many further ones there are."""


def transform_and_column(words: str) -> tuple[str, str]:
    """`day(event_time)` -> (`day`, `event_time`); `region` -> (`identity`, `region`)."""
    found = _WORDS.fullmatch(words)
    return (found["transform"], found["inside"]) if found else ("identity", words)


T = TypeVar("T")


def _lazy_or_plain(told: object, validated: ValidatorFunctionWrapHandler) -> object:
    return told if isinstance(told, Lazy) else tuple(validated(told))


def _plain(told: Sequence[T], serialized: SerializerFunctionWrapHandler) -> object:
    return serialized(tuple(told))


Long = Annotated[Sequence[T], WrapValidator(_lazy_or_plain), WrapSerializer(_plain)]
"""A tuple, or a sequence whose elements are made when they are looked at."""
_UNSET = Field(default=None, exclude_if=lambda told: told is None)


class Ref(Record):
    """A named pointer: branch or tag."""

    name: str
    kind: str
    snapshot_id: SnapshotId
    max_ref_age_ms: int | None = _UNSET
    """From this age of its snapshot on, expiry drops the branch or tag itself; None: the table's rule."""
    max_snapshot_age_ms: int | None = _UNSET
    """Of a branch: the age from which its snapshots may expire; None: the table's rule."""
    min_snapshots: int | None = _UNSET
    """Of a branch: its newest snapshots that stay whatever their age; None: the table's rule."""


class Column(Record):
    """A top-level column with its Iceberg type in words (`long`, `timestamptz`, `decimal(12, 2)`)."""

    field_id: int
    name: str
    type: str
    is_required: bool = False
    """Whether the table itself refuses null there."""
    has_default: bool | None = _UNSET
    """Whether rows of files that lack it read a value of the table's own (format 3, `initial-default`)."""


class UnnamedCommit(Record):
    """The newest commit in a metadata file of the table's folder that neither the catalog nor the log of the current
    file names."""

    path: str
    """Of the metadata file."""
    commit: Snapshot
    files: int
    """Data files that it added."""
    unreadable: int
    """Of these, which storage does not have, or not whole."""


class TableState(Record):
    """A table at one metadata file; everything Waterline says of a table is said of such a state."""

    name: TableName
    uuid: str
    location: str
    metadata_location: str
    format_version: int
    head: SnapshotId | None
    snapshots: Long[Snapshot]
    """Every snapshot that is still listed, oldest first, none before its parent; rolled-back ones, too."""
    refs: tuple[Ref, ...] = ()
    head_moves: Long[HeadMove] = ()
    """The snapshot log, oldest first. Expiry shortens it."""
    properties: dict[str, str] = {}
    columns: tuple[Column, ...] = ()
    read_at: Utc
    lost_metadata: str | None = None
    """Where the catalog points, if that file cannot be read; then all the rest is said of the newest metadata file
    that can be (F10), and no commit may be based on it."""
    partitioning: tuple[str, ...] = ()
    """Fields of the current partition spec in words, as `day(event_time)`; empty: unpartitioned."""
    schemas: dict[int, tuple[Column, ...]] = {}
    """Schema id -> its columns, of every schema that the table ever had; snapshots name theirs."""
    specs: dict[int, tuple[str, ...]] = {}
    """Partition spec id -> its fields in words, of every spec that the table ever had."""
    spec_fields: dict[int, tuple[PartitionField, ...]] = {}
    """The same fields as manifests hold them; without those whose type no schema tells."""
    last_sequence_number: int | None = _UNSET
    """Of the newest snapshot ever, listed or not, on whatever branch; None: format v1, or an older record."""
    lineage_since: int | None = _UNSET
    """The lowest sequence number of a listed snapshot whose rows have ids (format 3); None: of none, or not told."""

    @cached_property
    def by_id(self) -> Mapping[SnapshotId, Snapshot]:
        """Snapshot id -> snapshot, of all that the metadata lists."""
        if isinstance(self.snapshots, Listed):
            return ById(self.snapshots)
        return {snapshot.snapshot_id: snapshot for snapshot in self.snapshots}

    def ancestors(self, of: SnapshotId | None) -> Iterator[Snapshot]:
        """`of` and its parents, newest first; ends where a parent is gone (expired) or None."""
        if isinstance(self.snapshots, Listed):
            yield from self.snapshots.at(self.snapshots.line(of))
            return
        current = self.by_id.get(of) if of is not None else None
        while current is not None:
            yield current
            current = self.by_id.get(current.parent_id) if current.parent_id is not None else None

    @cached_property
    def chain(self) -> Sequence[Snapshot]:
        """The ancestors of the head, head included, newest first."""
        if isinstance(self.snapshots, Listed):
            return Picked(self.snapshots, array("I", self.snapshots.line(self.head)))
        return tuple(self.ancestors(self.head))

    @cached_property
    def of_flink(self) -> Sequence[Snapshot]:
        """The commits of `chain` that carry a run and a checkpoint id, oldest first."""
        oldest_first = self.chain[::-1]
        return chosen(oldest_first, lambda each: each.job_id is not None and each.checkpoint_id is not None)

    @cached_property
    def taken_out(self) -> frozenset[SnapshotId]:
        """The commits of which a repair on main has taken files out."""
        return frozenset(each for commit in self.chain for each in commit.took_out)

    @cached_property
    def recovering(self) -> Sequence[Snapshot]:
        """The repairs of `chain` that brought rows which Flink had written, and carry no run's keys, oldest first; and
        cherry-picks, of which each may have."""
        return chosen(self.chain[::-1], lambda each: each.job_id is None and (each.is_pick or each.written is not None))

    @cached_property
    def chain_ids(self) -> Set[SnapshotId]:
        if isinstance(self.chain, Picked):
            return self.chain.ids
        if len(self.chain) == len(self.by_id):
            return self.by_id.keys()
        return frozenset(snapshot.snapshot_id for snapshot in self.chain)

    def place_of(self, snapshot_id: SnapshotId | None) -> int:
        """How many listed snapshots are older: what tells which of two came first. -1 of one that is not listed, which
        is older than all that are. Sequence numbers do not tell it: in format v1 each is 0."""
        if isinstance(self.snapshots, Listed):
            place = self.snapshots.place(snapshot_id)
            return -1 if place is None else place
        return self._places.get(snapshot_id, -1)

    @cached_property
    def _places(self) -> Mapping[SnapshotId | None, int]:
        told = [
            (s.snapshot_id, s.parent_id, s.sequence_number, round(s.committed_at.timestamp() * 1000))
            for s in self.snapshots
        ]
        ids, parents, numbers, moments = (list(each) for each in zip(*told, strict=True)) if told else ([], [], [], [])
        settled = ages(ids, parents, numbers, moments)
        oldest_first = sorted(range(len(told)), key=settled.__getitem__)
        return {ids[at]: place for place, at in enumerate(oldest_first)}

    @property
    def rolled_back(self) -> tuple[Snapshot, ...]:
        """Snapshots that were head of main once and are no longer ancestors of the head, oldest first."""
        if len(self.chain) == len(self.snapshots):
            return ()
        if isinstance(self.chain, Picked):
            aside = {snapshot.snapshot_id: snapshot for snapshot in self.chain.left_out()}
            were_head = {move.snapshot_id for move in self.head_moves if move.snapshot_id in aside}
            return tuple(snapshot for snapshot_id, snapshot in aside.items() if snapshot_id in were_head)
        once_head = {move.snapshot_id for move in self.head_moves}
        return tuple(s for s in self.snapshots if s.snapshot_id in once_head and s.snapshot_id not in self.chain_ids)

    def seen_from(self, branch: str) -> "TableState":
        """The same metadata with this branch in the place of main: what evidence says of a rehearsal."""
        return self.as_of(self.ref(branch), self.head_moves)

    def as_of(self, head: SnapshotId | None, head_moves: Sequence[HeadMove]) -> "TableState":
        """The same metadata with main at `head`, after these lines of the log: what came later was never its head."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        return TableState.model_construct(**{**fields, "head": head, "head_moves": head_moves})

    def below(self, expired: Sequence[Snapshot]) -> "TableState":
        """The same metadata with these ancestors of main, oldest first, before all that it lists."""
        fields = {name: getattr(self, name) for name in type(self).model_fields}
        oldest, joint = self.chain[-1].snapshot_id, {"parent_id": expired[-1].snapshot_id}
        listed = (each.model_copy(update=joint) if each.snapshot_id == oldest else each for each in self.snapshots)
        return TableState.model_construct(**{**fields, "snapshots": (*expired, *listed)})

    @property
    def waterline(self) -> SnapshotId | None:
        """Up to where the table says that it was verified: by the tag, or by the property where tags are not set."""
        tagged = self.ref("waterline")
        told = self.properties.get("waterline.snapshot", "")
        return tagged if tagged is not None or not told.isdecimal() else SnapshotId(int(told))

    def ref(self, name: str) -> SnapshotId | None:
        """The snapshot a branch or tag points to; None if there is no such ref."""
        return next((ref.snapshot_id for ref in self.refs if ref.name == name), None)


class Window(Record):
    """The commits under review: after `since` (exclusive), up to `until` (inclusive).

    `since` None means from the first commit that the metadata lists.
    Snapshots that main has lost since belong to the window too.
    """

    since: SnapshotId | None
    until: SnapshotId | None
    """None: main had no commit yet; the window is empty then."""

    def on_main(self, table: TableState) -> "Window":
        """The same; or, where main was rolled back to below `since`, the wider one that begins where main left the line
        of `since`: what main lost below it is in doubt too. Nothing of that line on main: from the first commit."""
        if self.since is None or self.since in table.chain_ids or self.since not in table.by_id:
            return self
        shared = (s.snapshot_id for s in table.ancestors(self.since) if s.snapshot_id in table.chain_ids)
        return Window(since=next(shared, None), until=self.until)

    def of(self, table: TableState) -> tuple[Snapshot, ...]:
        """The window's snapshots: ancestors of `until` after `since`, and branches of what main lost since then,
        wherever they left it; oldest first. What main lost before is not of it, nor what is newer than `until`; but of
        a window that ends at main's head is all that was rolled back until now."""
        newest, is_open = table.place_of(self.until), self.until == table.head
        inside = self.up_to_now(table)
        return inside if is_open or newest < 0 else tuple(s for s in inside if table.place_of(s.snapshot_id) <= newest)

    def up_to_now(self, table: TableState) -> tuple[Snapshot, ...]:
        """The same of a window that ends at the table's head, with what was rolled back until now: after a rewind that
        is newer than the head."""
        since = self.on_main(table).since
        is_open = since is None or since not in table.by_id
        trunk = _above(table, self.until, None if is_open else since)
        inside = {s.snapshot_id: s for s in trunk}
        lost = table.rolled_back
        below = {s.snapshot_id for s in table.ancestors(since)} if lost and not is_open else set()
        edge = table.place_of(since)
        below |= {s.snapshot_id for s in lost if table.place_of(s.snapshot_id) < edge}
        for leaf in lost:
            inside |= {s.snapshot_id: s for s in _down_to(below | inside.keys(), table.ancestors(leaf.snapshot_id))}
        return tuple(sorted(inside.values(), key=lambda s: table.place_of(s.snapshot_id)))


EMPTY = Window(since=None, until=None)
"""Of a table without a commit on main."""


def _above(table: TableState, until: SnapshotId | None, since: SnapshotId | None) -> Iterator[Snapshot]:
    """`until` and those of its ancestors that are not `since` or an ancestor of it, newest first. Both
    lines are walked side by side until they meet: the cost is the distance, not the table's age."""
    upper: dict[SnapshotId, Snapshot] = {}
    lower: set[SnapshotId] = set()
    for above, below in zip_longest(table.ancestors(until), table.ancestors(since)):
        if below is not None:
            lower.add(below.snapshot_id)
        if above is not None:
            upper[above.snapshot_id] = above
        if (above is not None and above.snapshot_id in lower) or (below is not None and below.snapshot_id in upper):
            break
    return takewhile(lambda snapshot: snapshot.snapshot_id not in lower, upper.values())


def _down_to(known: Set[SnapshotId], newest_first: Iterator[Snapshot]) -> list[Snapshot]:
    """Snapshots until one that is known (exclusive)."""
    return list(takewhile(lambda snapshot: snapshot.snapshot_id not in known, newest_first))
