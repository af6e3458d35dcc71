"""What a `_metadata` file says of itself, in pure Python: Flink 1.8 to 2.x (format versions 3 to 6).

The layout of the operators' state is left alone. What is wanted stands in the open: the header, the text of
Iceberg's committer state (inline below `execution.checkpointing.data-inline-threshold`, 20 KB by default),
and, since version 4, the checkpoint's properties as the last thing in the file.
"""

import re

from bot.domain.flink import CheckpointKind
from bot.domain.ids import CheckpointId, JobId, OperatorId
from bot.domain.record import Record

_MAGIC = 0x4960672D
_HEADER_BYTES = 24
_VERSIONS = range(3, 7)
_FIRST_WITH_PROPERTIES = 4

_MANIFEST = re.compile(rb"/metadata/(([0-9a-f]{32})-([0-9a-f]{32})-\d{5}-\d+-(\d+)-\d{5}(?:-[0-9a-f-]{36})?\.avro)")
_V1_JOB = re.compile(rb"!([0-9a-f]{32})(?![0-9a-f-])")
"""V1 committer: the value of `iceberg-flink-job-id`, length plus one before it."""
_V2_JOB_AND_OPERATOR = re.compile(rb"\x00\x20([0-9a-f]{32})\x00\x20([0-9a-f]{32})(?![0-9a-f-])")
"""V2 committer: each committable names the run and the operator that wrote it."""

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
    job_id: JobId | None = None
    pending_manifests: tuple[str, ...] = ()
    """By rising checkpoint id."""
    operator_ids: tuple[OperatorId, ...] = ()
    """Iceberg's committers, as far as their state names them; a V1 committer with nothing pending does not."""
    problem: str | None = None


def told_by(content: bytes) -> Told:
    """Never raises: whatever cannot be understood is a `problem`, a sentence."""
    if len(content) < _HEADER_BYTES:
        return Told(problem=f"Its _metadata is cut off after {len(content)} bytes.")
    magic, version = int.from_bytes(content[:4], "big"), int.from_bytes(content[4:8], "big")
    if magic != _MAGIC:
        return Told(problem=f"Its _metadata begins with {magic:08x}, not with Flink's {_MAGIC:08x}.")
    if version not in _VERSIONS:
        return Told(
            problem=f"Its _metadata has format version {version}; Waterline reads versions "
            f"{_VERSIONS.start} to {_VERSIONS.stop - 1}."
        )
    checkpoint_id = int.from_bytes(content[8:16], "big", signed=True)
    if checkpoint_id < 0:
        return Told(problem=f"Its _metadata carries the impossible checkpoint id {checkpoint_id}.")
    kind, problem = CheckpointKind.UNKNOWN, None
    if version >= _FIRST_WITH_PROPERTIES:
        kind, problem = _properties(content)
    manifests = sorted({(int(m[4]), m[1].decode(), m[2].decode(), m[3].decode()) for m in _MANIFEST.finditer(content)})
    return Told(
        checkpoint_id=CheckpointId(checkpoint_id),
        kind=kind,
        job_id=_job_id(content, manifests[-1][2] if manifests else None),
        pending_manifests=tuple(name for _, name, _, _ in manifests),
        operator_ids=_operator_ids(content, {operator for _, _, _, operator in manifests}),
        problem=problem,
    )


def _properties(content: bytes) -> tuple[CheckpointKind, str | None]:
    """Kind and problem, from the Java object that ends the file."""
    start = content.rfind(_PROPERTIES)
    last = _LAST_WORD.search(content, start) if start >= 0 else None
    if last is None or last[1][0] != len(last[2]):
        return CheckpointKind.UNKNOWN, "Its _metadata is cut off: the properties that end it are missing."
    if last[2] not in _KINDS:
        return CheckpointKind.CHECKPOINT, None
    if last[2] == _DRAINED:
        return _KINDS[last[2]], (
            "It was taken with drain: true; Iceberg's V1 sink, started from it, never commits again."
        )
    return _KINDS[last[2]], None


def _job_id(content: bytes, of_newest_manifest: str | None) -> JobId | None:
    """The run whose commits the restored committer will look for."""
    if of_newest_manifest is not None:
        return JobId(of_newest_manifest)
    found = _V1_JOB.search(content) or _V2_JOB_AND_OPERATOR.search(content)
    return JobId(found[1].decode()) if found else None


def _operator_ids(content: bytes, of_manifests: set[str]) -> tuple[OperatorId, ...]:
    named = {match[2].decode() for match in _V2_JOB_AND_OPERATOR.finditer(content)}
    return tuple(OperatorId(each) for each in sorted(named | of_manifests))
