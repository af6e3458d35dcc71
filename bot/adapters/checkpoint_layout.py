"""The operators in a `_metadata` file: whose state it is, how large, and where it lies. Format versions 3 to 6.

Follows the order in which Flink's serializers write (`MetadataV3Serializer` to `MetadataV6Serializer`, and
their state handles up to Flink 2.1). Nothing of a state's own content is read here.
"""

from bot.adapters.checkpoint_bytes import JavaBytes, NotUnderstood, StateFile
from bot.adapters.checkpoint_handles import OperatorList, channels, coordinator, keyed, operator_lists
from bot.domain.ids import OperatorId
from bot.domain.record import Record

_AFTER_CHECKPOINT_ID = 16
_MASTER_STATE = 0xC96B1696
_JAVA_OBJECT = b"\xac\xed\x00\x05"
"""How the properties begin, which end the file since version 4."""
_NAMES_SINCE = 5
_TAGGED_CHANNELS_SINCE = 6
_PROPERTIES_SINCE = 4


class OperatorPart(Record):
    """One operator's part of the checkpoint."""

    operator_id: OperatorId
    name: str | None
    """Written since version 5, where the job names its operators."""
    parallelism: int
    bytes: int
    """All its state, inline and in files; 0: it is listed and keeps none."""
    lists: tuple[OperatorList, ...]
    """Its operator state (not the keyed one): list states by name, and where they lie."""


def operators_in(content: bytes, version: int) -> tuple[OperatorPart, ...]:
    """In the file's order. `content` is the whole file. Raises NotUnderstood."""
    return _read(JavaBytes(content, _AFTER_CHECKPOINT_ID), version)


def blocks_in(content: bytes, version: int) -> tuple[tuple[int, int], ...]:
    """Where the file holds content of a state rather than its frame: each begin and length. Raises NotUnderstood."""
    data = JavaBytes(content, _AFTER_CHECKPOINT_ID)
    _read(data, version)
    return tuple(data.blocks)


def operators_and_files(content: bytes, version: int) -> tuple[tuple[OperatorPart, ...], tuple[StateFile, ...]]:
    """The same, and the files that hold what this one does not. Raises NotUnderstood."""
    data = JavaBytes(content, _AFTER_CHECKPOINT_ID)
    return _read(data, version), tuple(data.files)


def _read(data: JavaBytes, version: int) -> tuple[OperatorPart, ...]:
    data.times(lambda: _pass_master_state(data))
    parts = tuple(_operator(data, version) for _ in range(data.count()))
    if version >= _PROPERTIES_SINCE and data.take(len(_JAVA_OBJECT)) != _JAVA_OBJECT:
        raise NotUnderstood(f"the properties do not follow the last operator at byte {data.at}")
    return parts


def _pass_master_state(data: JavaBytes) -> None:
    magic = data.int32() & 0xFFFFFFFF
    if magic != _MASTER_STATE:
        raise NotUnderstood(f"a master state before byte {data.at} begins with {magic:08x}")
    data.block()


def _operator(data: JavaBytes, version: int) -> OperatorPart:
    name = data.text() if version >= _NAMES_SINCE else ""
    if version >= _NAMES_SINCE:
        data.text()  # the uid; its hash follows
    operator_id = OperatorId(data.take(16).hex())
    parallelism = data.int32()
    data.int32()  # the maximal parallelism
    size = coordinator(data)
    lists: list[OperatorList] = []
    for _ in range(max(data.int32(), 0)):  # negative: the whole operator has finished
        if data.int32() < 0:  # this subtask has finished and keeps no state
            continue
        found, bytes_of_subtask = _subtask(data, version)
        lists += found
        size += bytes_of_subtask
    return OperatorPart(
        operator_id=operator_id, name=name or None, parallelism=parallelism, bytes=size, lists=tuple(lists)
    )


def _subtask(data: JavaBytes, version: int) -> tuple[list[OperatorList], int]:
    lists = [found for _ in ("managed", "raw") if data.int32() and (found := operator_lists(data)) is not None]
    size = sum(each.handle.size for each in lists) + keyed(data) + keyed(data)
    is_tagged = version >= _TAGGED_CHANNELS_SINCE
    size += channels(data, is_tagged=is_tagged) + channels(data, is_tagged=is_tagged)
    return lists, size
