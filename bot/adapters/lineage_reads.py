"""Which run read which snapshot of a table, from all of its OpenLineage events together; pure.

Who read what a table's readers wrote, and who read that: readers of any distance, from OpenLineage events; pure.
"""

from collections import deque
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from datetime import datetime

from bot.adapters.lineage_events import Dataset, LineageEvent, place_of
from bot.domain.ids import SnapshotId
from bot.domain.reads import FarRead, ReadRun
from bot.domain.table import TableState

_EXACT_BELOW = 2**53
"""Greater integers may have been rounded on their way, and then end in noughts."""
_At = dict[SnapshotId | None, datetime]
"""Snapshot -> the last event that tells it; None where it is not told which."""


@dataclass
class _Run:
    """What the events of one run tell of its reads of the table."""

    consumer: str
    application: str | None
    first_at: datetime
    last_at: datetime
    outputs: set[str] = field(default_factory=set)
    scanned: _At = field(default_factory=dict)
    current: _At = field(default_factory=dict)

    @property
    def wrote(self) -> set[tuple[str, str]]:
        """(Application, place) of what it wrote."""
        return {(self.application, place) for place in self.outputs} if self.application is not None else set()

    def is_around(self, inner: "_Run") -> bool:
        """Whether the other's time is within its own."""
        return self.first_at <= inner.first_at and inner.last_at <= self.last_at

    @property
    def read(self) -> _At:
        """What was scanned. Where no event tells that, the table's current snapshot is what was read unless the run
        travelled in time, read a cache or was answered from metadata: so both, that one and "not told"."""
        if self.scanned:
            return self.scanned
        return {**self.current, None: max(self.current.values())} if self.current else {}


def reads_in(
    events: Iterable[LineageEvent], table: TableState, names: Set[str], since: datetime
) -> tuple[ReadRun, ...]:
    """One a run and snapshot, at the time of the run's last event after `since` (exclusive) to tell it, oldest first.

    All event types count: a run that failed may have read, and published, before it did. What was scanned is told by
    the last event; START tells the table's current snapshot in its place. `names`: what engines call the table.
    """
    listed: dict[float, SnapshotId] | None = None
    runs: dict[str, _Run] = {}
    for event in sorted(events, key=lambda event: event.at):
        consumer = event.consumer
        if event.run is None or consumer is None:
            continue
        run = runs.setdefault(event.run.run_id, _Run(consumer, event.application, event.at, event.at))
        run.last_at = event.at
        run.outputs |= {place for each in event.outputs for place in each.places}
        for dataset in event.inputs if event.at > since else ():
            if not is_read_of(dataset, table, names):
                continue
            if dataset.scanned is not None:
                listed = listed or {float(each.snapshot_id): each.snapshot_id for each in table.snapshots}
                run.scanned[_exact(dataset, listed)] = event.at
            else:
                run.current[None if dataset.current is None else SnapshotId(dataset.current)] = event.at
    # `CREATE TABLE … AS SELECT` has a run around the run that reads and writes, and only the inner one tells the scan.
    inner: dict[tuple[str, str], list[_Run]] = {}
    for run in runs.values():
        for wrote in run.wrote if run.scanned else ():
            inner.setdefault(wrote, []).append(run)
    told = [
        ReadRun(consumer=run.consumer, run_id=run_id, at=at, snapshot_id=snapshot_id)
        for run_id, run in runs.items()
        if run.scanned or not any(run.is_around(each) for wrote in run.wrote for each in inner.get(wrote, ()))
        for snapshot_id, at in run.read.items()
    ]
    return tuple(sorted(told, key=lambda read: (read.at, read.run_id)))


def united(reads: Iterable[ReadRun]) -> tuple[ReadRun, ...]:
    """What several sources tell, oldest first: a run and snapshot counts once, at the later time."""
    found: dict[tuple[str, SnapshotId | None], ReadRun] = {}
    for read in reads:
        known = found.get((read.run_id, read.snapshot_id))
        found[read.run_id, read.snapshot_id] = read if known is None or read.at > known.at else known
    return tuple(sorted(found.values(), key=lambda read: (read.at, read.run_id)))


def _exact(dataset: Dataset, listed: dict[float, SnapshotId]) -> SnapshotId | None:
    """The id that was scanned. A rounded one is that of the listed snapshot next to it, else the current one's where
    it is that; None where it is neither, as of a snapshot that has expired."""
    told, current = dataset.scanned, dataset.current
    if told is None or float(told) in listed:
        return None if told is None else listed[float(told)]
    if current is not None and float(current) == float(told):
        return SnapshotId(current)
    is_exact = isinstance(told, int) and (told < _EXACT_BELOW or told % 10 != 0)
    return SnapshotId(int(told)) if is_exact else None


def is_read_of(dataset: Dataset, table: TableState, names: Set[str]) -> bool:
    """Whether rows of the table are read: by name, its own or a symlink's, or by location (Spark's name of an Iceberg
    input)."""
    if dataset.names & names:
        return True
    return dataset.place == place_of(table.location) and not dataset.is_metadata


MOST_STEPS = 12
"""A longer way is not followed: lineage that runs in circles must end."""


@dataclass
class _RunDownstream:
    """One run over all of its events."""

    run_id: str
    consumer: str
    first_at: datetime
    last_at: datetime
    inputs: dict[str, str] = field(default_factory=dict)
    """Place -> the dataset's name, as its event says it."""
    outputs: dict[str, str] = field(default_factory=dict)


def downstream_in(
    events: Iterable[LineageEvent], table: TableState, names: Set[str], since: datetime
) -> tuple[FarRead, ...]:
    """Each run that may have read what came of a read of the table after `since`, nearest first; the table's own
    readers are not among them.

    A run counts when its last event is not before the first event of the run that wrote its input: rather one too many
    than one too few. `names`: what engines call the table. *cost*: one pass over the events, and one over the runs that
    are reached.
    """
    told = list(events)
    runs = _runs(told)
    readers_of: dict[str, list[_RunDownstream]] = {}
    for run in runs.values():
        for place in run.inputs:
            readers_of.setdefault(place, []).append(run)
    found: dict[tuple[str, str, int | None], FarRead] = {}
    for read in reads_in(told, table, names, since):
        for far in _from(runs[read.run_id], readers_of):
            run, path = far
            key = (run.run_id, read.run_id, read.snapshot_id)
            if key not in found:
                found[key] = FarRead(
                    consumer=run.consumer, run_id=run.run_id, at=run.last_at, origin=read.run_id,
                    snapshot_id=read.snapshot_id, path=path,
                )  # fmt: skip
    return tuple(sorted(found.values(), key=lambda far: (far.distance, far.at, far.run_id)))


def _from(
    origin: _RunDownstream, readers_of: dict[str, list[_RunDownstream]]
) -> Iterable[tuple[_RunDownstream, tuple[str, ...]]]:
    """Breadth first, so that each run comes by its shortest way."""
    waiting: deque[tuple[_RunDownstream, tuple[str, ...]]] = deque([(origin, (origin.consumer,))])
    reached = {origin.run_id}
    while waiting:
        writer, path = waiting.popleft()
        if len(path) // 2 >= MOST_STEPS:
            continue
        for place, dataset in writer.outputs.items():
            for reader in readers_of.get(place, ()):
                if reader.run_id in reached or reader.last_at < writer.first_at:
                    continue
                reached.add(reader.run_id)
                yield reader, (*path, dataset)
                waiting.append((reader, (*path, dataset, reader.consumer)))


def _runs(events: Iterable[LineageEvent]) -> dict[str, _RunDownstream]:
    found: dict[str, _RunDownstream] = {}
    for event in events:
        consumer = event.consumer
        if event.run is None or consumer is None:
            continue
        run = found.setdefault(event.run.run_id, _RunDownstream(event.run.run_id, consumer, event.at, event.at))
        run.first_at, run.last_at = min(run.first_at, event.at), max(run.last_at, event.at)
        run.inputs |= {place: each.name for each in event.inputs if not each.is_metadata for place in each.places}
        run.outputs |= {place: each.name for each in event.outputs for place in each.places}
    return found
