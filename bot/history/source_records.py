"""Which records of its Kafka source a restore needs, which of them the broker has no more, and until when it has the
others. Pure.

A limit is never later than the truth, as far as age decides. What may come earlier (the size of a topic, compaction) is
told with it. The same of missing positions: which Kafka can still give, and which are lost for good. Less is said where
it is not sure in which partition of which topic a gap lies, never more.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

from bot.history.case import Case
from bot.observation.evidence import Ask
from bot.observation.findings import GapsFinding, GapsOnBroker, Limit, PositionGap
from bot.observation.flink import SourcePosition, StoredCheckpoint
from bot.observation.kafka import KafkaPartition
from bot.observation.looked import NotSeen, Seen
from bot.observation.sentences import counted, full_stop, span

_MOST_NAMED = 2


def on_broker(seen: Seen[KafkaPartition] | NotSeen | None, gaps: Iterable[PositionGap]) -> GapsOnBroker | None:
    """Of the gaps whose partition is known. None: nobody looked, or that is known of no gap."""
    if not isinstance(seen, Seen):
        return None
    known = [(gap, each) for gap in gaps if (each := partition_of(gap, seen.values)) is not None]
    if not known:
        return None
    spans = [(gap, each.lost(gap.first, gap.last)) for gap, each in known]
    lost = [gap.model_copy(update={"first": span[0], "last": span[1]}) for gap, span in spans if span is not None]
    held = [(max(gap.first, each.earliest), each) for gap, each in known if gap.last >= each.earliest]
    mortal = [(first, each) for first, each in held if not each.is_retention_known or each.retention is not None]
    until = [each.kept_until(first) for first, each in mortal]
    told = [at for at in until if at is not None]
    return GapsOnBroker(
        lost=tuple(lost),
        held=sum(gap.size for gap, _ in known) - sum(each.size for each in lost),
        until=min(told, default=None) if len(told) == len(until) else None,
        is_limited=any(each.retention_bytes is not None or each.is_compacted for _, each in held),
    )


def on_broker_in_words(found: GapsFinding, seen: Seen[KafkaPartition] | NotSeen | None = None) -> tuple[str, ...]:
    """Sentences: what is lost for good, and until when the others can be replayed; of a broker that could not be
    asked (`seen`), that. Empty: no broker was asked, or it is known of no gap."""
    if isinstance(seen, NotSeen):
        return (f"Whether Kafka still has them is not known: {full_stop(seen.reason)}",)
    is_whole = sum(gap.size for gap in found.gaps) == found.missing
    return in_words(found.on_broker, "of them" if is_whole else "positions of the first gaps")


def in_words(told: GapsOnBroker | None, of: str = "of them") -> tuple[str, ...]:
    """The same sentences. `of`: what the numbers count."""
    if told is None:
        return ()
    sentences = []
    if told.lost:
        sentences.append(f"Kafka no longer has {told.lost_positions:,} {of}: they are lost for good.")
        sentences += [f"Lost: {_named(each)}." for each in told.lost[:_MOST_NAMED]]
    if (more := len(told.lost) - _MOST_NAMED) > 0:
        sentences.append(f"{counted(more, 'more range')} {'is' if more == 1 else 'are'} lost.")
    if told.held:
        until = f" until at least {told.until:%Y-%m-%d %H:%M} UTC" if told.until is not None else ""
        earlier = "; its size limit or compaction may remove them earlier" if told.is_limited else ""
        which = "others" if told.lost else of
        sentences.append(f"Kafka still holds the offsets of {told.held:,} {which}{until}{earlier}.")
    return tuple(sentences)


def partition_of(gap: PositionGap, partitions: Sequence[KafkaPartition]) -> KafkaPartition | None:
    """The partition that it lies in; None where several may be meant, or none. A log that ends below it is another's:
    the topic was made anew, or the positions are no offsets."""
    if gap.partition is None:
        found = list(partitions)
    else:
        found = [each for each in partitions if str(each.partition) == gap.partition]
    return found[0] if len(found) == 1 and gap.last < found[0].latest else None


def may_be_deleted(seen: Seen[KafkaPartition] | NotSeen | None, gap: PositionGap) -> str | None:
    """What has to be known of positions that may have had no record, a clause: whether Kafka deleted records there
    before the job read them. None: it still has all that it ever had there, or no broker is configured."""
    if isinstance(seen, NotSeen):
        return f"whether Kafka still has what lies between rows: {full_stop(seen.reason)} {seen.remedy}"
    for each in seen.values if seen is not None else ():
        is_meant = gap.partition in (None, str(each.partition)) and gap.last < each.latest
        if is_meant and each.lost(gap.first, gap.last) is not None:
            return f"whether Kafka deleted records of {each.name} before the job read them, where positions have no row"
    return None


def _named(gap: PositionGap) -> str:
    partition = f"partition {gap.partition}, " if gap.partition is not None else ""
    offsets = f"offsets {gap.first:,} to {gap.last:,}" if gap.size > 1 else f"offset {gap.first:,}"
    times = [each for each in (gap.event_from, gap.event_until) if each is not None]
    is_one_day = len({each.date() for each in times}) == 1
    about = " to ".join(f"{each:%H:%M:%S}" if is_one_day else f"{each:%Y-%m-%d %H:%M:%S}" for each in times)
    day = f" on {times[0]:%Y-%m-%d}" if is_one_day else ""
    return f"{partition}{offsets}{f', event times about {about} UTC{day}' if times else ''}"


SOURCE_UNKNOWN = "How long the source keeps its records is not known."
_KAFKA_UNKNOWN = "How long Kafka keeps the records is not known"
_READ_FROM_START = -2
_LOSES = "After that, a restore or replay from there loses these records."


def records_lost(seen: Case | Ask, stored: StoredCheckpoint) -> tuple[str, ...]:
    """Ranges of records that a restore from it needs and Kafka has no more, a clause each; of a broker that was not
    seen, none."""
    return SourceRecords(seen).lost(stored.source_positions)


class SourceRecords:
    """What the broker tells of the records that are needed."""

    def __init__(self, seen: Case | Ask) -> None:
        world = seen.observation
        self._looked, self._now = world.kafka, world.table.read_at
        self._is_hidden = seen.contract.hides(seen.contract.position)
        held = world.kafka.values if world.kafka is not None else ()
        self._held = {(each.topic, each.partition): each for each in held}

    def _needed(self, positions: Sequence[SourcePosition]) -> Iterator[tuple[KafkaPartition, int]]:
        """(Partition, first offset that is needed of it), of those that the broker knows. A partition that came since
        is read from its beginning."""
        known = {(each.topic, each.partition): each.following for each in positions}
        topics = {each.topic for each in positions}
        for place, partition in self._held.items():
            following = known.get(place, _READ_FROM_START if partition.topic in topics else -1)
            if following == _READ_FROM_START:
                yield partition, partition.earliest
            elif 0 <= following <= partition.latest:
                yield partition, following

    def limits(self, positions: Sequence[SourcePosition]) -> Iterator[Limit]:
        for partition, offset in self._needed(positions):
            yield from self._limit(partition, max(offset, partition.earliest))

    def limits_of_gap(self, gap: PositionGap) -> Iterator[Limit]:
        partition = partition_of(gap, tuple(self._held.values()))
        if partition is not None and gap.last >= partition.earliest:
            yield from self._limit(partition, max(gap.first, partition.earliest))

    def _kept(self, partition: KafkaPartition, offset: int) -> datetime | None:
        return partition.kept_until(max(offset, partition.earliest))

    def _limit(self, partition: KafkaPartition, offset: int) -> Iterator[Limit]:
        """Of a record that has yet to come, from now on."""
        is_there = offset < partition.latest
        until = partition.kept_until(offset) if is_there else None
        if not is_there and partition.retention is not None:
            until = self._now + partition.retention
        if until is None or partition.retention is None:
            return
        yield Limit(
            kind="records",
            what=f"Kafka may delete {self._from(partition.name, offset)}",
            at=max(until, self._now),
            how=f"retention.ms of {partition.topic} is {span(partition.retention)}",
            after=_LOSES,
            earlier=_earlier(partition),
        )

    def lost(self, positions: Sequence[SourcePosition]) -> tuple[str, ...]:
        """`orders/2, offsets 4,100 to 5,204` each; of a topic that is gone or was made anew, that."""
        gone = [each for each in positions if each.following >= 0 and self._is_gone(each)]
        told = [self._from(f"{each.topic}/{each.partition}", each.following) for each in gone]
        ranges = ((p, p.lost(offset, max(p.latest - 1, offset))) for p, offset in self._needed(positions))
        return (*told, *(self._range(partition, found) for partition, found in ranges if found is not None))

    def lost_of_gap(self, gap: PositionGap) -> tuple[str, ...]:
        partition = partition_of(gap, tuple(self._held.values()))
        found = partition.lost(gap.first, gap.last) if partition is not None else None
        return (self._range(partition, found),) if partition is not None and found is not None else ()

    def _is_gone(self, position: SourcePosition) -> bool:
        """Whether the broker was seen, and does not reach up to the position: its topic was deleted, or made anew."""
        if not self._held:
            return False
        partition = self._held.get((position.topic, position.partition))
        return partition is None or partition.latest < position.following

    def _from(self, partition: str, offset: int) -> str:
        return f"{partition} from {'where it is needed' if self._is_hidden else f'offset {offset:,}'} on"

    def _range(self, partition: KafkaPartition, found: tuple[int, int]) -> str:
        if self._is_hidden:
            return f"{partition.name}, {counted(found[1] - found[0] + 1, 'record')}"
        return f"{partition.name}, offsets {found[0]:,} to {found[1]:,}"

    def unknown(self, positions: Sequence[SourcePosition]) -> Iterator[str]:
        if self._looked is None:
            yield f"{_KAFKA_UNKNOWN}: no broker is configured." if positions else SOURCE_UNKNOWN
        elif isinstance(self._looked, NotSeen):
            yield f"{_KAFKA_UNKNOWN}: {full_stop(self._looked.reason)}"
        elif not positions:
            yield "Where the job's source goes on is not known, so neither is until when Kafka has the records."
        for partition, offset in self._needed(positions):
            if not partition.is_retention_known:
                yield f"{_KAFKA_UNKNOWN}: the broker did not tell it for {partition.topic}."
            elif (
                offset < partition.latest and partition.retention is not None and self._kept(partition, offset) is None
            ):
                yield f"How old the records of {partition.name} are is not known."


def _earlier(partition: KafkaPartition) -> str | None:
    if partition.retention_bytes is not None:
        return f"They may go earlier: the topic {partition.topic} has a size limit."
    return f"Some may go earlier: the topic {partition.topic} is compacted." if partition.is_compacted else None
