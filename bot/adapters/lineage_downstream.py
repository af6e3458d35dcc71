"""Who read what a table's readers wrote, and who read that: readers of any distance, from OpenLineage events; pure."""

from collections import deque
from collections.abc import Iterable, Set
from dataclasses import dataclass, field
from datetime import datetime

from bot.adapters.lineage_events import LineageEvent
from bot.adapters.lineage_reads import reads_in
from bot.domain.reads import FarRead
from bot.domain.table import TableState

MOST_STEPS = 12
"""A longer way is not followed: lineage that runs in circles must end."""


@dataclass
class _Run:
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
    readers_of: dict[str, list[_Run]] = {}
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


def _from(origin: _Run, readers_of: dict[str, list[_Run]]) -> Iterable[tuple[_Run, tuple[str, ...]]]:
    """Breadth first, so that each run comes by its shortest way."""
    waiting: deque[tuple[_Run, tuple[str, ...]]] = deque([(origin, (origin.consumer,))])
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


def _runs(events: Iterable[LineageEvent]) -> dict[str, _Run]:
    found: dict[str, _Run] = {}
    for event in events:
        consumer = event.consumer
        if event.run is None or consumer is None:
            continue
        run = found.setdefault(event.run.run_id, _Run(event.run.run_id, consumer, event.at, event.at))
        run.first_at, run.last_at = min(run.first_at, event.at), max(run.last_at, event.at)
        run.inputs |= {place: each.name for each in event.inputs if not each.is_metadata for place in each.places}
        run.outputs |= {place: each.name for each in event.outputs for place in each.places}
    return found
