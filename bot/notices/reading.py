"""What was seen of one consumer's reading: itself, through others, not at all, or not known. Pure."""

from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from bot.incident.notice import ObservedReader
from bot.notices.extent import SnapshotRange, ranges_of
from bot.observation.ids import SnapshotId
from bot.observation.looked import NotSeen, Seen
from bot.observation.readers import Consumer, FarRead, ReadRun
from bot.observation.record import Documented, Utc
from bot.observation.table import Snapshot


class RunAbove(Documented):
    """A run of this consumer that read affected commits."""

    run_id: str
    """As lineage names it."""
    at: Utc
    """By when it had read the first of them: of the last event that tells so."""
    ranges: tuple[SnapshotRange, ...]
    """Which affected snapshots it read, at least one."""


class ReadAbove(Documented):
    """This consumer was seen reading above the waterline."""

    kind: Literal["read-above"] = "read-above"
    """Which of the five it is."""
    runs: tuple[RunAbove, ...]
    """Oldest first, at least one."""
    snapshots: tuple[SnapshotId, ...]
    """Every affected snapshot that they read: full ids, oldest first."""
    ranges: tuple[SnapshotRange, ...]
    """The same, condensed."""


class RunThrough(Documented):
    """A run of this consumer that read what another run had computed from an affected commit."""

    run_id: str
    """As lineage names it."""
    at: Utc
    """When it ran."""
    path: tuple[str, ...]
    """The way from the table to it: datasets and the consumers that wrote them, in turn."""
    distance: int
    """Runs between the table and it, itself included: at least 2."""


class ReadThrough(Documented):
    """This consumer did not read an affected commit itself, but results that were computed from one."""

    kind: Literal["read-through"] = "read-through"
    """Which of the five it is."""
    runs: tuple[RunThrough, ...]
    """Nearest first, at least one."""
    snapshots: tuple[SnapshotId, ...]
    """Every affected snapshot from which their inputs came: full ids, oldest first."""
    ranges: tuple[SnapshotRange, ...]
    """The same, condensed."""


class ConsumerRuns(Documented):
    """How many runs of one consumer read an affected commit, themselves or through others."""

    consumer: str
    """Its name in lineage."""
    runs: int
    """How many of its runs."""
    distance: int
    """Runs between the table and it, itself included: 1 reads the table."""


class ManyReaders(Documented):
    """The audience is a channel or a list of addresses, not one consumer: everybody who was seen reading."""

    kind: Literal["many"] = "many"
    """Which of the five it is."""
    consumers: tuple[ConsumerRuns, ...]
    """Nearest first; empty: nobody was seen."""


class NotObserved(Documented):
    """Lineage was asked, and no run of this consumer read an affected commit."""

    kind: Literal["not-observed"] = "not-observed"
    """Which of the five it is."""
    runs_seen: int
    """Runs of this consumer that lineage does know in that time."""


class ReadersUnknown(Documented):
    """We could not look, or what we saw does not name the snapshot."""

    kind: Literal["unknown"] = "unknown"
    """Which of the five it is."""
    source: str
    """What was asked; for responders, as the reason is."""
    reason: str
    """Why it could not tell. It may name addresses and paths that are nothing to consumers."""


Reading = Annotated[ReadAbove | ReadThrough | ManyReaders | NotObserved | ReadersUnknown, Field(discriminator="kind")]
Reads = Seen[ReadRun] | NotSeen
FarReads = Seen[FarRead] | NotSeen


def reading_of(consumer: Consumer, affected: tuple[Snapshot, ...], reads: Reads, far: FarReads) -> Reading:
    """`NotObserved` only when lineage answered, every event could be read, and every run of this consumer names its
    snapshot."""
    if isinstance(reads, NotSeen):
        return ReadersUnknown(source=reads.source, reason=reads.reason)
    if consumer.kind == "channel":
        readers = observed_readers((), affected, reads, far)
        if not readers and (unread := _unread(reads, far)):
            return ReadersUnknown(source=reads.source, reason=unread)
        return ManyReaders(
            consumers=tuple(
                ConsumerRuns(consumer=each.consumer, runs=each.runs, distance=each.distance) for each in readers
            )
        )
    ids = {s.snapshot_id for s in affected}
    theirs = [run for run in reads.values if run.consumer == consumer.name]
    above = [run for run in sorted(theirs, key=lambda run: run.at) if run.snapshot_id in ids]
    if above:
        return _above(above, affected)
    through = [run for run in _far_above(affected, far) if run.consumer == consumer.name]
    if through:
        return _through(through, affected)
    silent = _silent(theirs, affected)
    if silent:
        return ReadersUnknown(source=reads.source, reason=_nameless(silent))
    if isinstance(far, NotSeen):
        return ReadersUnknown(source=far.source, reason=far.reason)
    if unread := _unread(reads, far):
        return ReadersUnknown(source=reads.source, reason=unread)
    return NotObserved(runs_seen=len({run.run_id for run in theirs}))


def observed_readers(
    declared: Iterable[str], affected: tuple[Snapshot, ...], reads: Reads, far: FarReads
) -> tuple[ObservedReader, ...]:
    """Everybody who was seen reading an affected commit, nearest first; each consumer at its shortest distance."""
    ids, known = {s.snapshot_id for s in affected}, set(declared)
    runs: dict[str, set[str]] = {}
    distance: dict[str, int] = {}
    for read in (r for r in reads.values if r.snapshot_id in ids):
        runs.setdefault(read.consumer, set()).add(read.run_id)
        distance[read.consumer] = 1
    for through in _far_above(affected, far):
        runs.setdefault(through.consumer, set()).add(through.run_id)
        distance[through.consumer] = min(distance.get(through.consumer, through.distance), through.distance)
    return tuple(
        ObservedReader(consumer=name, distance=distance[name], runs=len(runs[name]), is_declared=name in known)
        for name in sorted(runs, key=lambda name: (distance[name], name))
    )


def why_unknown(affected: tuple[Snapshot, ...], reads: Reads, far: FarReads) -> str | None:
    """Why others may have read unseen; None when every source answered and every run names its snapshot."""
    for looked in (reads, far):
        if isinstance(looked, NotSeen):
            return f"{looked.source}: {looked.reason}"
        if looked.unread:
            return f"{looked.source}: {looked.unread}"
    silent = _silent(list(reads.values), affected)
    return _nameless(silent) if silent else None


def _unread(*looked: Reads | FarReads) -> str | None:
    """What could not be read of sources that answered; a reader may be in it."""
    return next((each.unread for each in looked if not isinstance(each, NotSeen) and each.unread), None)


def _above(reads: list[ReadRun], affected: tuple[Snapshot, ...]) -> ReadAbove:
    """`reads` oldest first; each run once, with all that it read."""
    by_run: dict[str, list[ReadRun]] = {}
    for read in reads:
        by_run.setdefault(read.run_id, []).append(read)
    read_ones = _those(affected, reads)
    return ReadAbove(
        runs=tuple(
            RunAbove(run_id=run, at=theirs[0].at, ranges=ranges_of(_those(affected, theirs)))
            for run, theirs in by_run.items()
        ),
        snapshots=tuple(s.snapshot_id for s in read_ones),
        ranges=ranges_of(read_ones),
    )


def _through(reads: list[FarRead], affected: tuple[Snapshot, ...]) -> ReadThrough:
    read_ones = _those(affected, reads)
    return ReadThrough(
        runs=tuple(RunThrough(run_id=r.run_id, at=r.at, path=r.path, distance=r.distance) for r in _nearest(reads)),
        snapshots=tuple(s.snapshot_id for s in read_ones),
        ranges=ranges_of(read_ones),
    )


def _those(affected: tuple[Snapshot, ...], reads: Iterable[ReadRun | FarRead]) -> list[Snapshot]:
    """The affected commits among those that were read, oldest first."""
    ids = {read.snapshot_id for read in reads}
    return [snapshot for snapshot in affected if snapshot.snapshot_id in ids]


def _far_above(affected: tuple[Snapshot, ...], far: FarReads) -> list[FarRead]:
    ids = {s.snapshot_id for s in affected}
    return [run for run in far.values if run.snapshot_id in ids]


def _nearest(runs: list[FarRead]) -> list[FarRead]:
    """Each run once, by its shortest way."""
    found: dict[str, FarRead] = {}
    for run in sorted(runs, key=lambda run: (run.distance, run.at, run.path)):
        found.setdefault(run.run_id, run)
    return list(found.values())


def _silent(runs: list[ReadRun], affected: tuple[Snapshot, ...]) -> list[ReadRun]:
    earliest = min((s.committed_at for s in affected), default=None)
    return [run for run in runs if run.snapshot_id is None and earliest is not None and run.at >= earliest]


def _nameless(runs: list[ReadRun]) -> str:
    names = ", ".join(run.run_id for run in runs[:3]) + ("" if len(runs) <= 3 else " and others")
    return f"the events of {names} do not name the snapshot that was read"
