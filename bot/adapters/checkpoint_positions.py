"""Where a job's Kafka sources go on after a restore: the splits in the state of their readers, in pure Python.

A source's reader (FLIP-27) keeps its splits in the list state `SourceReaderState`: each item is the bytes of one split,
with the version of its serializer before them. Only Kafka's splits are understood (version 0 of
`KafkaPartitionSplitSerializer`, the only one up to connector 4.0): topic, partition, the next offset, and the one to
stop at. An item must be exactly as long as such a split, so another source's state is not taken for one.
"""

from collections.abc import Callable, Iterator, Sequence

from bot.adapters.checkpoint_bytes import JavaBytes, NotUnderstood
from bot.adapters.checkpoint_handles import Handle
from bot.adapters.checkpoint_layout import OperatorPart
from bot.domain.flink import SourcePosition
from bot.domain.ids import OperatorId

_READERS_STATE = "SourceReaderState"
_KAFKAS_VERSION = 0
_NEVER_STOPS = -(2**63)


def readers_handles(operators: Sequence[OperatorPart]) -> Iterator[tuple[OperatorId, Handle, tuple[int, ...]]]:
    """Where the splits of each source's subtask lie, and where each begins in there."""
    for part in operators:
        for each in part.lists:
            if offsets := each.offsets.get(_READERS_STATE):
                yield part.operator_id, each.handle, offsets


def positions_in(
    operators: Sequence[OperatorPart], beside: Callable[[Handle], bytes | None]
) -> tuple[SourcePosition, ...]:
    """By operator, topic and partition. Empty where some reader's state could not be had, or is not Kafka's: a part of
    the positions would pass for all of them."""
    found: list[SourcePosition] = []
    for operator, handle, offsets in readers_handles(operators):
        content = handle.inline if handle.inline is not None else beside(handle)
        if content is None:
            return ()
        try:
            found += (_split(JavaBytes(content, at), operator) for at in offsets)
        except NotUnderstood:
            return ()
    return tuple(sorted(found, key=lambda each: (each.operator_id, each.topic, each.partition)))


def _split(data: JavaBytes, operator: OperatorId) -> SourcePosition:
    """One item: its length, the serializer's version, the split's length, the split."""
    whole = data.int32()
    start = data.at
    version, length = data.int32(), data.int32()
    if version != _KAFKAS_VERSION or length != whole - 8:
        raise NotUnderstood(f"the split at byte {start} is not of Kafka's connector")
    topic, partition, following, until = data.text(), data.int32(), data.int64(), data.int64()
    if data.at != start + whole or partition < 0:
        raise NotUnderstood(f"the split at byte {start} is not of Kafka's connector")
    return SourcePosition(
        operator_id=operator,
        topic=topic,
        partition=partition,
        following=following,
        until=None if until == _NEVER_STOPS else until,
    )
