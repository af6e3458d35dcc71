"""State handles in a `_metadata` file: where a piece of state lies and how large it is."""

from dataclasses import dataclass

from bot.adapters.checkpoint_bytes import JavaBytes, NotUnderstood, StateFile


@dataclass(frozen=True, slots=True)
class Handle:
    """One piece of state: inline, or in a file."""

    size: int
    inline: bytes | None = None
    file: str | None = None
    """As Flink writes it; relative to the checkpoint's own folder where `is_relative`."""
    is_relative: bool = False
    start: int = 0
    """Where it begins in its file, where several pieces share one."""


_NOTHING = Handle(size=0, inline=b"")


@dataclass(frozen=True, slots=True)
class OperatorList:
    """List states that one subtask keeps in one handle."""

    offsets: dict[str, tuple[int, ...]]
    """Name -> where each of its items begins in the handle's content."""
    handle: Handle


def stream(data: JavaBytes) -> Handle:
    """A `StreamStateHandle`."""
    kind = data.byte()
    match kind:
        case 0 | 16:  # none, or an empty segment of a shared file
            return _NOTHING
        case 1:
            data.text()
            content = data.block()
            return Handle(size=len(content), inline=content)
        case 2:
            return _in_file(data, Handle(size=data.size(), file=data.text()))
        case 3:
            data.int32()
            data.skip_longs(data.int32())
            return stream(data)
        case 6:
            file = data.text()
            return _in_file(data, Handle(size=data.size(), file=file, is_relative=True))
        case 15:
            start, size = data.size(), data.size()
            data.int32()  # shared or exclusive
            file = data.text()
            data.text()  # the logical file's id
            return _in_file(data, Handle(size=size, file=file, start=start))
        case _:
            raise NotUnderstood(f"a state handle before byte {data.at} is of the unknown kind {kind}")


def _in_file(data: JavaBytes, handle: Handle) -> Handle:
    if handle.file is not None:
        data.files.append(StateFile(handle.file, handle.is_relative, handle.start + handle.size))
    return handle


def coordinator(data: JavaBytes) -> int:
    """Bytes of the operator coordinator's state."""
    return stream(data).size


def operator_lists(data: JavaBytes) -> OperatorList | None:
    """An `OperatorStateHandle`; None where there is none."""
    kind = data.byte()
    if kind == 0:
        return None
    if kind not in {4, 17}:
        raise NotUnderstood(f"operator state before byte {data.at} is of the unknown kind {kind}")
    offsets = {}
    for _ in range(data.count()):
        name = data.text()
        data.byte()  # how it is spread over the subtasks
        offsets[name] = data.longs(data.int32())
    if kind == 17:  # written into files that are shared
        data.text()
        data.text()
        data.byte()
    return OperatorList(offsets=offsets, handle=stream(data))


def keyed(data: JavaBytes) -> int:
    """Bytes of one `KeyedStateHandle`, those it is made of included."""
    kind = data.byte()
    match kind:
        case 0:
            return 0
        case 3 | 7 | 12:  # of a checkpoint, of a savepoint, of a checkpoint with an id
            data.int32()
            data.skip_longs(data.int32())
            size = stream(data).size
            if kind == 12:
                data.text()
            return size
        case 5 | 11:
            return _incremental(data, has_id=kind == 11)
        case 8 | 14:
            return _changelog(data, has_checkpoint_id=kind == 14)
        case 9:
            return _changes_inline(data)
        case 10 | 13:
            return _changes_in_files(data, has_storage=kind == 13)
        case _:
            raise NotUnderstood(f"keyed state before byte {data.at} is of the unknown kind {kind}")


def channels(data: JavaBytes, *, is_tagged: bool) -> int:
    """Bytes of records in flight (unaligned checkpoints), of one direction."""
    return sum(_channel(data, is_tagged=is_tagged) for _ in range(data.count()))


def _channel(data: JavaBytes, *, is_tagged: bool) -> int:
    is_merged = is_tagged and data.byte() in {3, 4}
    data.int32()  # the subtask
    if is_merged:
        size = data.size()
        stream(data)
        data.block()
        return size
    data.int32()  # gate or partition
    data.int32()  # channel or subpartition
    data.skip_longs(data.int32())
    size = data.size()
    stream(data)
    return size


def _incremental(data: JavaBytes, *, has_id: bool) -> int:
    data.int64()  # the checkpoint that it belongs to
    data.text()
    data.int32()
    data.int32()
    if has_id:
        data.int64()
    size = stream(data).size
    for _ in ("shared", "private"):
        for _ in range(data.count()):
            data.text()
            size += stream(data).size
    if has_id:
        data.text()
    return size


def _changelog(data: JavaBytes, *, has_checkpoint_id: bool) -> int:
    data.int32()
    data.int32()
    data.int64()
    size = 0
    for _ in ("materialized", "since then"):
        size += sum(keyed(data) for _ in range(data.count()))
    data.int64()
    if has_checkpoint_id:
        data.int64()
    data.text()
    return size


def _changes_inline(data: JavaBytes) -> int:
    data.int32()
    data.int32()
    data.int64()
    data.int64()
    size = 0
    for _ in range(data.count()):
        data.int32()
        size += len(data.block())
    data.text()
    return size


def _changes_in_files(data: JavaBytes, *, has_storage: bool) -> int:
    data.int32()
    data.int32()
    for _ in range(data.count()):
        data.int64()
        stream(data)
    size = data.size()
    data.int64()
    data.text()
    if has_storage:
        data.text()
    return size
