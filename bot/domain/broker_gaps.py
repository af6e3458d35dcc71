"""Which missing source positions the Kafka broker can still give, and which are lost for good. Pure.

Says less where it is not sure which partition of which topic a gap lies in, never more.
"""

from collections.abc import Iterable, Sequence

from bot.domain.findings import GapsFinding, GapsOnBroker, PositionGap
from bot.domain.kafka import KafkaPartition
from bot.domain.looked import NotSeen, Seen
from bot.domain.sentences import counted, full_stop

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


def _named(gap: PositionGap) -> str:
    partition = f"partition {gap.partition}, " if gap.partition is not None else ""
    offsets = f"offsets {gap.first:,} to {gap.last:,}" if gap.size > 1 else f"offset {gap.first:,}"
    times = [each for each in (gap.event_from, gap.event_until) if each is not None]
    is_one_day = len({each.date() for each in times}) == 1
    about = " to ".join(f"{each:%H:%M:%S}" if is_one_day else f"{each:%Y-%m-%d %H:%M:%S}" for each in times)
    day = f" on {times[0]:%Y-%m-%d}" if is_one_day else ""
    return f"{partition}{offsets}{f', event times about {about} UTC{day}' if times else ''}"
