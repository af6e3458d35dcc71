"""Where Kafka sources go on, from the state of their readers."""

import struct
from collections.abc import Sequence

import pytest

from bot.adapters.checkpoint_parsing import Handle, OperatorList, OperatorPart, positions_in, told_by
from bot.domain.flink import SourcePosition
from bot.domain.ids import OperatorId
from tests.adapters.test_checkpoint_parsing import recorded

SOURCE = OperatorId("cb" * 16)
NEVER = -(2**63)


def split(topic: str, partition: int, following: int, until: int = NEVER, version: int = 0) -> bytes:
    """One item of the state, as Flink's `SimpleVersionedListState` and Kafka's serializer write it."""
    name = topic.encode()
    body = struct.pack(">h", len(name)) + name + struct.pack(">iqq", partition, following, until)
    item = struct.pack(">ii", version, len(body)) + body
    return struct.pack(">i", len(item)) + item


def reader(items: Sequence[bytes], name: str = "SourceReaderState", beside: str | None = None) -> OperatorPart:
    """A source with one subtask that keeps these items."""
    content = b"".join(items)
    offsets = tuple(sum(map(len, items[:place])) for place in range(len(items)))
    handle = Handle(size=len(content), inline=None if beside else content, file=beside)
    lists = (OperatorList(offsets={name: offsets}, handle=handle),)
    return OperatorPart(operator_id=SOURCE, name=None, parallelism=1, bytes=len(content), lists=lists)


def nothing(_handle: Handle) -> bytes | None:
    """No file can be had."""
    return None


def test_each_partition_is_told_with_its_next_offset() -> None:
    """In the order of topic and partition, whichever subtask keeps it."""
    parts = (reader([split("orders", 1, 4_000), split("clicks", 0, -2)]), reader([split("orders", 0, 17, 20)]))

    found = positions_in(parts, nothing)

    assert [(each.topic, each.partition, each.following, each.until) for each in found] == [
        ("clicks", 0, -2, None),
        ("orders", 0, 17, 20),
        ("orders", 1, 4_000, None),
    ]
    assert {each.operator_id for each in found} == {SOURCE}


def test_a_state_beside_the_file_is_read_there() -> None:
    """As Flink keeps it above the inline threshold."""
    items = [split("orders", 0, 5)]

    found = positions_in((reader(items, beside="s3://state/chk-7/9a"),), lambda _: b"".join(items))

    assert found == (SourcePosition(operator_id=SOURCE, topic="orders", partition=0, following=5),)


@pytest.mark.parametrize(
    "strange",
    [
        split("orders", 0, 5, version=1),
        split("orders", 0, 5)[:-1],
        split("orders", -1, 5),
        struct.pack(">iii", 12, 0, 4) + b"file",
        b"",
    ],
    ids=["another-version", "cut-off", "no-partition", "another-source", "nothing"],
)
def test_a_part_of_the_positions_never_passes_for_all(strange: bytes) -> None:
    """Nothing is told where one split is not understood."""
    assert positions_in((reader([split("orders", 0, 5), strange]),), nothing) == ()


def test_a_state_that_cannot_be_had_tells_nothing() -> None:
    """Gone, or on a storage that is not this one."""
    parts = (reader([split("orders", 0, 5)]), reader([split("orders", 1, 5)], beside="s3://gone"))

    assert positions_in(parts, nothing) == ()


def test_another_list_state_is_no_source() -> None:
    """Whatever its bytes look like."""
    assert positions_in((reader([split("orders", 0, 5)], name="offsets"),), nothing) == ()


def test_a_savepoint_of_a_real_job_tells_where_kafka_goes_on() -> None:
    """Flink 2.1.1, Kafka 3.9.1 with connector 4.0.1, a topic of two partitions, stopped with a savepoint.

    The table held 1,058 rows of partition 0, the last of offset 1057, and 1,592 of partition 1, the last of 1591.
    """
    told = told_by(recorded("kafka_stop_savepoint.xz"))

    assert [(each.topic, each.partition, each.following) for each in told.source_positions] == [
        ("payments", 0, 1_058),
        ("payments", 1, 1_592),
    ]
