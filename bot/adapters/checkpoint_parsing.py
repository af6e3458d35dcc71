"""What a `_metadata` file says of itself, in pure Python: Flink 1.11 to 2.x (format versions 3 to 6).

The header, the operators with the size of their state, since version 4 the checkpoint's properties as the last
thing in the file, where Kafka sources go on, and the text of Iceberg's committer state: inline below
`execution.checkpointing.data-inline-threshold` (20 KB by default), else in a file beside this one.
Where the operators' layout cannot be followed, the text is looked for in the whole file, and that is said.
"""

import re
from collections.abc import Callable, Sequence

from bot.adapters.checkpoint_bytes import NotUnderstood, StateFile
from bot.adapters.checkpoint_handles import Handle
from bot.adapters.checkpoint_layout import OperatorPart, operators_and_files
from bot.adapters.checkpoint_positions import positions_in, readers_handles
from bot.domain.flink import CheckpointKind, SourcePosition
from bot.domain.ids import CheckpointId, JobId, OperatorId
from bot.domain.record import Record

_MAGIC = 0x4960672D
_HEADER_BYTES = 24
_VERSIONS = range(3, 7)
_FIRST_WITH_PROPERTIES = 4

_MANIFEST = re.compile(rb"/(([0-9a-f]{32})-([0-9a-f]{32})-\d{5}-\d+-(\d+)-\d{5}(?:-[0-9a-f-]{36})?\.avro)")
"""In whichever folder: the table property `flink.manifests.location` may name any."""
_NOT_IN_A_PATH = re.compile(rb"[\x00-\x1f\x7f]")
"""The length before a path ends with such a byte, because no manifest's path has fewer than 64 characters."""
_LONGEST_FOLDER = 4096
_V1_JOB = re.compile(rb"!([0-9a-f]{32})(?![0-9a-f-])")
"""V1 committer: the value of `iceberg-flink-job-id`, length plus one before it."""
_V2_JOB_AND_OPERATOR = re.compile(rb"\x00\x20([0-9a-f]{32})\x00\x20([0-9a-f]{32})(?![0-9a-f-])")
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


class Told(Record):
    """One `_metadata` file's own words."""

    checkpoint_id: CheckpointId | None = None
    kind: CheckpointKind = CheckpointKind.UNKNOWN
    """UNKNOWN before version 4, which does not say."""
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
    named_operators: tuple[OperatorId, ...] = ()
    """Operators that the text of committer state names."""
    source_positions: tuple[SourcePosition, ...] = ()
    """Where its Kafka sources go on; empty: not known."""
    not_understood: str | None = None
    """What of the file could not be followed although it is whole; a sentence."""
    problem: str | None = None
    """Why nothing may be restored from it; a sentence."""


def _nothing_beside(_handle: Handle) -> bytes | None:
    """For a file that stands alone."""
    return None


def told_by(content: bytes, beside: Callable[[Handle], bytes | None] = _nothing_beside) -> Told:
    """Never raises: whatever cannot be understood is said in a sentence.

    `beside` gives the content of a state that lies in another file, None where it cannot or will not.
    """
    if (problem := _problem_of_header(content)) is not None:
        return Told(problem=problem)
    version = int.from_bytes(content[4:8], "big")
    kind, is_drained, problem = CheckpointKind.UNKNOWN, False, None
    if version >= _FIRST_WITH_PROPERTIES:
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
    manifests = sorted({(int(m[4]), m[1].decode(), m[2].decode(), m[3].decode()) for m in found})
    job_id = _job_id(texts, manifests[-1][2] if manifests else None)
    return Told(
        checkpoint_id=CheckpointId(int.from_bytes(content[8:16], "big", signed=True)),
        kind=kind,
        is_drained=is_drained,
        job_id=job_id,
        pending_manifests=tuple(name for _, name, _, _ in manifests),
        manifest_folders=_folders(found),
        is_committer_read=all(_is_legible(piece) for piece in pieces) if pieces else job_id is not None,
        operators=operators,
        state_files=state_files,
        named_operators=_named(texts, {operator for _, _, _, operator in manifests}),
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


def understood_handles(operators: tuple[OperatorPart, ...], *, of_kafka: bool) -> list[Handle]:
    """Where the state lies that is read: of Iceberg's committers, and (`of_kafka`: where they are known to be Kafka's)
    of the sources' readers. It holds no values of rows."""
    readers = [handle for _, handle, _ in readers_handles(operators)] if of_kafka else []
    return [*_committers_handles(operators), *readers]


def _committer_state(
    operators: tuple[OperatorPart, ...], beside: Callable[[Handle], bytes | None]
) -> list[bytes | None]:
    """The state of each committer's subtask; None where it could not be had."""
    handles = _committers_handles(operators)
    return [handle.inline if handle.inline is not None else beside(handle) for handle in handles]


def _committers_handles(operators: tuple[OperatorPart, ...]) -> list[Handle]:
    """Where the state of each subtask of an Iceberg committer lies. A restored V2 writer keeps an empty list under the
    committer's name, for what an older Flink kept there (seen on 2.1.1): that holds nothing."""
    lists = (each for part in operators for each in part.lists)
    return [each.handle for each in lists if any(each.offsets.get(name) for name in _COMMITTERS_STATE)]


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
    """The run whose commits the restored committer will look for."""
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


def _named(texts: Sequence[bytes], of_manifests: set[str]) -> tuple[OperatorId, ...]:
    named = {match[2].decode() for text in texts for match in _V2_JOB_AND_OPERATOR.finditer(text)}
    return tuple(OperatorId(each) for each in sorted(named | of_manifests))
