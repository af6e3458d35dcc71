"""What a `_metadata` file says of itself, in pure Python: Flink 1.16 to 2.x (format versions 4 to 6).

The header, the operators with the size of their state, the checkpoint's properties as the last thing in the file,
where Kafka sources go on, and the text of Iceberg's committer state: inline below
`execution.checkpointing.data-inline-threshold` (20 KB by default), else in a file beside this one. Where the layout of
the operators cannot be followed, the text is looked for in the whole file, and that is said.

The order is that in which Flink's serializers write (`MetadataV4Serializer` to `MetadataV6Serializer`, and their state
handles up to Flink 2.1). A source's reader (FLIP-27) keeps its splits in the list state `SourceReaderState`. Only
Kafka's are understood (version 0 of `KafkaPartitionSplitSerializer`, the only one up to connector 4.0), and an item
must be exactly as long as such a split: another source's state is not taken for one.
"""

import re
import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from bot.observation.flink import CheckpointKind, SourcePosition
from bot.observation.ids import CheckpointId, JobId, OperatorId
from bot.observation.record import Record

_MOST_PARTS = 10_000_000
"""No list in a `_metadata` is longer; a count above it means that the place is not what it was taken for."""


class NotUnderstood(Exception):
    """The bytes do not follow the layout; only within the reading of one file."""


class StateFile(NamedTuple):
    path: str
    """As Flink writes it."""
    is_relative: bool
    """To the folder of `_metadata`."""
    end: int
    """So many bytes of it are needed."""


class JavaBytes:
    """A cursor. Every method moves it on and raises NotUnderstood where the bytes end or make no sense."""

    def __init__(self, content: bytes, at: int = 0) -> None:
        self._content = content
        self.at = at
        self.files: list[StateFile] = []
        """Each file that was named, in that order; one may come more than once."""

    @property
    def left(self) -> int:
        return len(self._content) - self.at

    def take(self, count: int) -> bytes:
        if not 0 <= count <= self.left:
            raise NotUnderstood(f"{count} bytes were expected at byte {self.at}; {self.left} are left")
        self.at += count
        return self._content[self.at - count : self.at]

    def byte(self) -> int:
        return self.take(1)[0]

    def int32(self) -> int:
        return int(struct.unpack(">i", self.take(4))[0])

    def int64(self) -> int:
        return int(struct.unpack(">q", self.take(8))[0])

    def size(self) -> int:
        """A size in bytes; Flink writes -1 where it does not know it, which counts as 0."""
        return max(self.int64(), 0)

    def text(self) -> str:
        """Java's modified UTF-8, its length before it; what is no plain text is shown as well as it goes."""
        return self.take(int.from_bytes(self.take(2), "big")).decode("utf-8", "replace")

    def block(self) -> bytes:
        """Bytes with their length before them."""
        return self.take(self._not_negative(self.int32(), "a length"))

    def times(self, read: Callable[[], object]) -> None:
        """A count, and that many parts, of which nothing is kept."""
        for _ in range(self.count()):
            read()

    def count(self) -> int:
        count = self._not_negative(self.int32(), "a count")
        if count > min(_MOST_PARTS, self.left):
            raise NotUnderstood(f"{count} parts were announced before byte {self.at}; {self.left} bytes are left")
        return count

    def longs(self, count: int) -> tuple[int, ...]:
        return struct.unpack(f">{count}q", self.take(8 * self._not_negative(count, "a count")))

    def pass_longs(self) -> None:
        """A count, and that many."""
        self.take(8 * self._not_negative(self.int32(), "a count"))

    def _not_negative(self, value: int, what: str) -> int:
        if value < 0:
            raise NotUnderstood(f"{what} before byte {self.at} is {value}")
        return value


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
            data.pass_longs()
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
        case 7 | 12:  # of a savepoint, of a checkpoint
            data.int32()
            data.pass_longs()
            size = stream(data).size
            if kind == 12:
                data.text()
            return size
        case 9:
            return _changes_inline(data)
        case 11:
            return _incremental(data)
        case 13:
            return _changes_in_files(data)
        case 14:
            return _changelog(data)
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
    data.take(8)  # gate and channel, or partition and subpartition
    data.pass_longs()
    size = data.size()
    stream(data)
    return size


def _incremental(data: JavaBytes) -> int:
    data.int64()  # the checkpoint that it belongs to
    data.text()
    data.take(16)
    size = stream(data).size
    for _ in ("shared", "private"):
        for _ in range(data.count()):
            data.text()
            size += stream(data).size
    data.text()
    return size


def _changelog(data: JavaBytes) -> int:
    data.take(16)
    size = 0
    for _ in ("materialized", "since then"):
        size += sum(keyed(data) for _ in range(data.count()))
    data.take(16)
    data.text()
    return size


def _changes_inline(data: JavaBytes) -> int:
    data.take(24)
    size = 0
    for _ in range(data.count()):
        data.int32()
        size += len(data.block())
    data.text()
    return size


def _changes_in_files(data: JavaBytes) -> int:
    data.take(8)
    for _ in range(data.count()):
        data.int64()
        stream(data)
    size = data.size()
    data.int64()
    data.text()
    data.text()
    return size


_AFTER_CHECKPOINT_ID = 16
_MASTER_STATE = 0xC96B1696
_JAVA_OBJECT = b"\xac\xed\x00\x05"
"""How the properties begin, which end the file."""
_NAMES_SINCE = 5
_TAGGED_CHANNELS_SINCE = 6


class OperatorPart(Record):
    operator_id: OperatorId
    name: str | None
    """Written since version 5, where the job names its operators."""
    parallelism: int
    bytes: int
    """All its state, inline and in files; 0: it is listed and keeps none."""
    lists: tuple[OperatorList, ...]
    """Its operator state (not the keyed one): list states by name, and where they lie."""


def operators_and_files(content: bytes, version: int) -> tuple[tuple[OperatorPart, ...], tuple[StateFile, ...]]:
    """The parts in the file's order, and the files that hold what this one does not. Raises NotUnderstood."""
    data = JavaBytes(content, _AFTER_CHECKPOINT_ID)
    data.times(lambda: _pass_master_state(data))
    parts = tuple(_operator(data, version) for _ in range(data.count()))
    if data.take(len(_JAVA_OBJECT)) != _JAVA_OBJECT:
        raise NotUnderstood(f"the properties do not follow the last operator at byte {data.at}")
    return parts, tuple(data.files)


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
    size = stream(data).size  # of its coordinator
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


_READERS_STATE = "SourceReaderState"
_KAFKAS_VERSION = 0
_NEVER_STOPS = -(2**63)


def positions_in(
    operators: Sequence[OperatorPart], beside: Callable[[Handle], bytes | None]
) -> tuple[SourcePosition, ...]:
    """By operator, topic and partition. Empty where some reader's state could not be had, or is not Kafka's: a part of
    the positions would pass for all of them."""
    found: list[SourcePosition] = []
    for operator, state in ((part.operator_id, each) for part in operators for each in part.lists):
        if not (offsets := state.offsets.get(_READERS_STATE)):
            continue
        content = state.handle.inline if state.handle.inline is not None else beside(state.handle)
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


_MAGIC = 0x4960672D
_HEADER_BYTES = 24
_VERSIONS = range(4, 7)

_MANIFEST = re.compile(rb"/(([0-9a-f]{32})-[0-9a-f]{32}-\d{5}-\d+-(\d+)-\d{5}(?:-[0-9a-f-]{36})?\.avro)")
"""In whichever folder: the table property `flink.manifests.location` may name any."""
_NOT_IN_A_PATH = re.compile(rb"[\x00-\x1f\x7f]")
"""The length before a path ends with such a byte, because no manifest's path has fewer than 64 characters."""
_LONGEST_FOLDER = 4096
_V1_JOB = re.compile(rb"!([0-9a-f]{32})(?![0-9a-f-])")
"""V1 committer: the value of `iceberg-flink-job-id`, length plus one before it."""
_V2_JOB_AND_OPERATOR = re.compile(rb"\x00\x20([0-9a-f]{32})\x00\x20[0-9a-f]{32}(?![0-9a-f-])")
"""V2 committer: each committable names the run and the operator that wrote it."""

_COMMITTERS_STATE = {"iceberg-files-committer-state", "iceberg-flink-job-id", "streaming_committer_raw_states"}
"""List states of Iceberg's V1 committer, and of any V2 committer."""
_V1_STATE = b"iceberg-flink-job-id"
_V2_COLLECTOR = b"\xb9\x1f\x25\x2c"
"""Begins each collector of committables; not to be seen where the state is compressed."""

_PROPERTIES = b"org.apache.flink.runtime.checkpoint.CheckpointProperties"
_LAST_WORD = re.compile(rb"t\x00([\x01-\x40])([A-Z_]+)\Z", re.DOTALL)
"""The end of the properties: a Java enum constant, its length before it."""
_KINDS = {
    b"NONE": CheckpointKind.SAVEPOINT,
    b"SUSPEND": CheckpointKind.STOP_SAVEPOINT,
    b"TERMINATE": CheckpointKind.STOP_SAVEPOINT,
}
_DRAINED = b"TERMINATE"


class ParsedMetadata(Record):
    checkpoint_id: CheckpointId | None = None
    kind: CheckpointKind = CheckpointKind.UNKNOWN
    is_drained: bool = False
    job_id: JobId | None = None
    pending_manifests: tuple[str, ...] = ()
    """By rising checkpoint id; names without their folder."""
    manifest_folders: dict[str, tuple[str, ...]] = {}
    """Name -> the folders where the state says that it lies: the job's tables may have manifests of one name."""
    is_committer_read: bool = False
    """Whether the whole state of every committer was at hand and legible."""
    operators: tuple[OperatorPart, ...] = ()
    """All that the file lists; empty where its layout was not understood."""
    state_files: tuple[StateFile, ...] = ()
    """Those that hold what the file itself does not; empty where its layout was not understood."""
    source_positions: tuple[SourcePosition, ...] = ()
    """Where its Kafka sources go on; empty: not known."""
    not_understood: str | None = None
    """What of the file could not be followed although it is whole; a sentence."""
    problem: str | None = None
    """Why nothing may be restored from it; a sentence."""


def _nothing_beside(_handle: Handle) -> bytes | None:
    return None


def told_by(content: bytes, beside: Callable[[Handle], bytes | None] = _nothing_beside) -> ParsedMetadata:
    """Never raises: whatever cannot be understood is said in a sentence.

    `beside` gives the content of a state that lies in another file, None where it cannot or will not.
    """
    if (problem := _problem_of_header(content)) is not None:
        return ParsedMetadata(problem=problem)
    version = int.from_bytes(content[4:8], "big")
    kind, is_drained, problem = _properties(content)
    not_understood = None
    operators: tuple[OperatorPart, ...] = ()
    state_files: tuple[StateFile, ...] = ()
    try:
        operators, state_files = operators_and_files(content, version)
    except NotUnderstood as error:
        not_understood = f"Which operators it holds, and how large, could not be followed: {error}."
    pieces = _committer_state(operators, beside)
    texts = [content, *(piece for piece in pieces if piece is not None)]
    found = [match for text in texts for match in _MANIFEST.finditer(text)]
    manifests = sorted({(int(m[3]), m[1].decode(), m[2].decode()) for m in found})
    job_id = _job_id(texts, manifests[-1][2] if manifests else None)
    return ParsedMetadata(
        checkpoint_id=CheckpointId(int.from_bytes(content[8:16], "big", signed=True)),
        kind=kind,
        is_drained=is_drained,
        job_id=job_id,
        pending_manifests=tuple(name for _, name, _ in manifests),
        manifest_folders=_folders(found),
        is_committer_read=all(_is_legible(piece) for piece in pieces) if pieces else job_id is not None,
        operators=operators,
        state_files=state_files,
        source_positions=positions_in(operators, beside),
        not_understood=not_understood,
        problem=problem,
    )


def _problem_of_header(content: bytes) -> str | None:
    if len(content) < _HEADER_BYTES:
        return f"Its _metadata is cut off after {len(content)} bytes."
    magic, version = int.from_bytes(content[:4], "big"), int.from_bytes(content[4:8], "big")
    if magic != _MAGIC:
        return f"Its _metadata begins with {magic:08x}, not with Flink's {_MAGIC:08x}."
    if version not in _VERSIONS:
        return (
            f"Its _metadata has format version {version}; Waterline reads versions "
            f"{_VERSIONS.start} to {_VERSIONS.stop - 1}."
        )
    checkpoint_id = int.from_bytes(content[8:16], "big", signed=True)
    if checkpoint_id < 0:
        return f"Its _metadata carries the impossible checkpoint id {checkpoint_id}."
    return None


def _committer_state(
    operators: tuple[OperatorPart, ...], beside: Callable[[Handle], bytes | None]
) -> list[bytes | None]:
    """The state of each committer's subtask; None where it could not be had. A restored V2 writer keeps an empty list
    under the committer's name, for what an older Flink kept there (seen on 2.1.1): that holds nothing."""
    lists = (each for part in operators for each in part.lists)
    handles = (each.handle for each in lists if any(each.offsets.get(name) for name in _COMMITTERS_STATE))
    return [handle.inline if handle.inline is not None else beside(handle) for handle in handles]


def _is_legible(piece: bytes | None) -> bool:
    """Whether pending manifests would be seen in it if there were any."""
    if piece is None:
        return False
    return _V2_COLLECTOR in piece or (_V1_STATE in piece and _V1_JOB.search(piece) is not None)


def _properties(content: bytes) -> tuple[CheckpointKind, bool, str | None]:
    """Kind, whether it was drained, and the problem, from the Java object that ends the file."""
    start = content.rfind(_PROPERTIES)
    last = _LAST_WORD.search(content, start) if start >= 0 else None
    if last is None or last[1][0] != len(last[2]):
        return CheckpointKind.UNKNOWN, False, "Its _metadata is cut off: the properties that end it are missing."
    kind = _KINDS.get(last[2], CheckpointKind.CHECKPOINT)
    if last[2] == _DRAINED:
        problem = "It was taken with drain: true; Iceberg's V1 sink, started from it, never commits again."
        return kind, True, problem
    return kind, False, None


def _job_id(texts: Sequence[bytes], of_newest_manifest: str | None) -> JobId | None:
    if of_newest_manifest is not None:
        return JobId(of_newest_manifest)
    tried = (pattern.search(text) for pattern in (_V1_JOB, _V2_JOB_AND_OPERATOR) for text in texts)
    found = next((match for match in tried if match is not None), None)
    return JobId(found[1].decode()) if found else None


def _folders(manifests: Sequence[re.Match[bytes]]) -> dict[str, tuple[str, ...]]:
    folders: dict[str, set[str]] = {}
    for each in manifests:
        before = each.string[max(0, each.start() - _LONGEST_FOLDER) : each.start()]
        folder = _NOT_IN_A_PATH.split(before)[-1].decode(errors="replace")
        folders.setdefault(each[1].decode(), set()).add(folder)
    return {name: tuple(sorted(named)) for name, named in sorted(folders.items())}
