"""Which part of the source a commit covers, by the bounds of its files; who covers the same, and which run read it.

A source partition is spelled alike wherever it was found: a bound keeps an int in four bytes and, since its column was
widened, in eight; a row holds the number itself.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, field

from bot.history.other_writers import origin_of
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask
from bot.observation.ids import JobId, OperatorId, SnapshotId
from bot.observation.ledger import SourceRange
from bot.observation.looked import NotSeen
from bot.observation.sentences import counted
from bot.observation.table import Snapshot, TableState
from spark_tasks._support.manifest_entries import WHOLE, Asked, Bounds, Entry, asked_of


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


NULL = "null"
"""Of rows that have none; no value is spelled so: numbers in digits, all else by its bytes in capital digits."""


def of_bounds(bounds: Bounds, rows: int, kind: str) -> str | None:
    """The one value in a file of so many rows; None where the file holds several, null among them, or does not say."""
    if bounds.stored_low is None or bounds.stored_high is None:
        return NULL if bounds.nulls == rows else None
    if bounds.nulls:
        return None
    if kind in WHOLE:
        return str(bounds.low) if bounds.low is not None and bounds.low == bounds.high else None
    return bounds.stored_low.hex().upper() if bounds.stored_low == bounds.stored_high else None


def of_value(value: str | None, kind: str) -> str:
    """Of a value that a row holds, as text; `kind` is one of `WHOLE`, or `string`."""
    if value is None:
        return NULL
    return str(int(value)) if kind in WHOLE else value.encode().hex().upper()


def in_words(spelled: str, kind: str) -> str | None:
    """As people write it; None: none."""
    if spelled == NULL:
        return None
    return bytes.fromhex(spelled).decode(errors="replace") if kind == "string" else spelled


def without_position(ask: Ask, column: str, bare: int, rows: int, doubt: str) -> NotSeen:
    """`bare` of `rows` have null in the column; `doubt`: what is not known of them, after "whether"."""
    has = "has" if bare == 1 else "have"
    return NotSeen(
        source=f"column {column} of {ask.observation.table.name}",
        reason=f"{bare:,} of the window's {counted(max(rows, bare), 'row')} {has} null in {column}: whether {doubt} is "
        "not known.",
        remedy="Look who wrote them, and whether the job still fills it; duplicate_rows compares what lives by its "
        "key.",
    )


_COUNTERS = ("added-data-files", "added-records")
BATCH = "flink.batch-index"
"""Flink CDC commits a checkpoint in several batches."""


def earlier_of_checkpoint(
    commits: Sequence[Snapshot], overlapping: Set[tuple[SnapshotId, SnapshotId]], covered: Covered
) -> Iterator[tuple[SnapshotId, SnapshotId]]:
    """(first, again) of one run, operator and checkpoint id, oldest first, where the second repeats the first.

    Their source ranges decide, where both have one; else whether both added as many files and rows.
    """
    seen: dict[tuple[str | None, str | None, int], Snapshot] = {}
    for commit in commits:
        if commit.job_id is None or commit.checkpoint_id is None or BATCH in commit.summary:
            continue
        name = (commit.job_id, commit.operator_id, commit.checkpoint_id)
        first = seen.setdefault(name, commit)
        if first is not commit and _repeats(first, commit, overlapping, covered):
            yield first.snapshot_id, commit.snapshot_id


def came_whole(first: Snapshot, again: Snapshot, covered: Covered) -> bool:
    """Whether the second brought as many files and rows as the first, and none of another part of the source: then all
    its rows are surely the first one's."""
    if any(first.counted(key) != again.counted(key) for key in _COUNTERS):
        return False
    for ranges in (covered.positions, covered.times):
        of_first, of_again = (
            {(each.partition, each.low, each.high) for each in ranges if each.snapshot_id == commit.snapshot_id}
            for commit in (first, again)
        )
        if of_first and of_again:
            return of_first == of_again
    return True


def _repeats(
    first: Snapshot, again: Snapshot, overlapping: Set[tuple[SnapshotId, SnapshotId]], covered: Covered
) -> bool:
    pair = (first.snapshot_id, again.snapshot_id)
    if covered.known(pair):
        return pair in overlapping
    return all(first.counted(key) == again.counted(key) > 0 for key in _COUNTERS)


def run_of(table: TableState, commit: Snapshot) -> JobId | None:
    """The Flink run that read its rows; of a cherry-pick that of the commit which it copied. None also of what moves
    rows, and of a copy whose source is no longer listed."""
    origin = origin_of(table, commit)
    return origin.job_id if origin is not None and commit.operation != "replace" else None


Pair = tuple[SnapshotId, SnapshotId]
"""Two commits, in the order of main."""


def read_twice(
    table: TableState, commits: Sequence[Snapshot], positions: Iterable[Range], exact: Set[Pair]
) -> frozenset[Pair]:
    """Of `exact`, the pairs of one sink of one run that share positions, those between which the run went back.

    A source that goes back begins anew where a checkpoint had ended: with the very position with which an earlier
    commit began. Ranges that overlap without one mix source partitions that the contract does not tell apart, or
    topics. Nor are the batches of one Flink CDC checkpoint held against each other.
    """
    lines: dict[tuple[JobId, OperatorId | None], list[SnapshotId]] = {}
    for commit in commits:
        if BATCH not in commit.summary and (run := run_of(table, commit)) is not None:
            lines.setdefault((run, commit.operator_id), []).append(commit.snapshot_id)
    begins: dict[SnapshotId, dict[str, int]] = {}
    for each in positions:
        lowest = begins.setdefault(each.snapshot_id, {})
        lowest[each.partition] = min(each.low, lowest.get(each.partition, each.low))
    turns = {at: (sink, turn) for sink, line in lines.items() for at, turn in _turns(line, begins)}
    told = (pair for pair in exact if turns.keys() >= set(pair))
    return frozenset(
        (first, again)
        for first, again in told
        if turns[first][0] == turns[again][0] and turns[first][1] < turns[again][1]
    )


def _turns(
    line: Sequence[SnapshotId], begins: Mapping[SnapshotId, Mapping[str, int]]
) -> Iterator[tuple[SnapshotId, int]]:
    """How often the sink's source had gone back when it brought each commit."""
    seen, turn = set[tuple[str, int]](), 0
    for snapshot in line:
        here = set(begins.get(snapshot, {}).items())
        turn += bool(here & seen)
        seen |= here
        yield snapshot, turn


def by_two_runs(table: TableState, first: Snapshot, again: Snapshot) -> bool:
    """Whether two runs read what the commits brought, as far as both are known."""
    runs = {run_of(table, commit) for commit in (first, again)}
    return None not in runs and len(runs) > 1


def source_columns(table: TableState, contract: TableContract) -> Asked:
    """Columns whose bounds tell what part of the source a file covers. No event time that is a date: all commits of a
    day cover that day, and repeat nothing of each other. Hidden ones too, as ranges are compared and not shown."""
    asked = asked_of(table, contract)
    is_date = asked.event is not None and asked.event.type == "date"
    return asked._replace(event=None) if is_date else asked


def ranges_of(added: Iterable[Entry], table: TableState, contract: TableContract) -> Covered:
    """`added`: entries with status 1, as of `asked_of`."""
    has_partitions, asked = contract.position_partition is not None, source_columns(table, contract)
    kind = asked.source.type if asked.source is not None else ""
    alike: dict[tuple[SnapshotId, str | None], list[Entry]] = {}
    for entry in added:
        if entry.is_data and entry.rows > 0:
            partition = of_bounds(entry.source, entry.rows, kind) if has_partitions else ""
            alike.setdefault((SnapshotId(entry.snapshot_id), partition), []).append(entry)
    positions: list[Range] = []
    times: list[Range] = []
    unplaced, unstated, mingled, untimed = set[SnapshotId](), set[SnapshotId](), set[SnapshotId](), set[SnapshotId]()
    bare: dict[SnapshotId, int] = {}
    for (commit, partition), files in alike.items():
        placed = [file for file in files if file.position.low is not None]
        if any(file.position.nulls != file.rows for file in files if file.position.low is None):
            unplaced.add(commit)
        if has_partitions and any(f.source.stored_low is None and f.source.nulls != f.rows for f in placed):
            unstated.add(commit)
        if asked.event is None or any(file.event.low is None for file in files):
            untimed.add(commit)
        if without := sum(file.position.nulls or 0 for file in files):
            bare[commit] = bare.get(commit, 0) + without
        if placed and partition is None:
            mingled.add(commit)
        elif placed and partition is not None:
            is_counted = all(file.position.nulls is not None for file in placed)
            rows = sum(file.rows for file in files) - without if is_counted else None
            positions += _range(commit, partition, [file.position for file in placed], rows)
        times += _range(commit, "", [file.event for file in files], None)
    unstated |= unplaced
    return Covered(
        positions=tuple(each for each in positions if each.snapshot_id not in mingled | unplaced),
        times=tuple(each for each in times if each.snapshot_id not in untimed),
        commits=frozenset(commit for commit, _ in alike),
        unstated=frozenset(unstated),
        mixed=frozenset(mingled - unstated),
        untold=frozenset(unstated | mingled),
        bare=bare,
    )


def _range(commit: SnapshotId, partition: str, bounds: Sequence[Bounds], rows: int | None) -> list[Range]:
    lows, highs = (
        [end for end in ends if end is not None] for ends in zip(*((e.low, e.high) for e in bounds), strict=True)
    )
    return [Range(commit, partition, min(lows), max(highs), rows)] if lows and highs else []


def told_ranges(
    covered: Covered, table: TableState, contract: TableContract, commits: Iterable[SnapshotId]
) -> dict[SnapshotId, tuple[SourceRange, ...]] | None:
    """What each of these commits brought, by partition and rising; without commits that do not tell all. None where
    the contract hides the position or the source partition, or the table does not have it."""
    position, of = asked_of(table, contract).position, asked_of(table, contract).source
    named = contract.position_partition
    if position is None or (named is not None and of is None) or contract.hides(position.name) or contract.hides(named):
        return None
    found: dict[SnapshotId, list[SourceRange]] = {each: [] for each in commits if each not in covered.untold}
    for each in sorted(covered.positions, key=lambda one: (one.partition, one.low)):
        if each.snapshot_id in found:
            partition = in_words(each.partition, of.type) if of is not None else None
            found[each.snapshot_id].append(
                SourceRange(partition=partition, low=each.low, high=each.high, rows=each.rows)
            )
    return {each: tuple(ranges) for each, ranges in found.items()}
