"""One restore point on storage: its `_metadata`, read within a bound, and the states that lie beside it."""

import hashlib
import re
from collections.abc import Callable
from datetime import UTC, datetime

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from bot.adapters.checkpoint_handles import Handle
from bot.adapters.checkpoint_parsing import Told, told_by
from bot.adapters.checkpoint_state_files import METADATA, StateFiles
from bot.adapters.opening import TROUBLE, address, opened
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import JobId, OperatorId

MAX_METADATA_BYTES = 16 * 1024 * 1024
"""A larger `_metadata` is listed and not read: it lies in memory while it is, and the bot stays below 250 MB. Flink
writes some 100 bytes for each file of a state, and the states below 20 KB themselves."""
MAX_STATE_BYTES = 16 * 1024 * 1024
"""A larger committer state is not read; what it owes is then not known."""
JOB_FOLDER = re.compile(r"[0-9a-f]{32}")


def point_in(files: FileSystem, folder: str, state: StateFiles) -> StoredCheckpoint | None:
    """None where there is no `_metadata`, also when Flink deleted it while we looked. The files that it names are noted
    in `state`. Raises what is TROUBLE."""
    info = files.get_file_info(f"{folder}/{METADATA}")
    if info.type is not FileType.File:
        return None
    if info.size > MAX_METADATA_BYTES:
        return _too_large(files, folder, info)
    try:
        with files.open_input_file(info.path) as file:
            content: bytes = file.read(MAX_METADATA_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(content) > MAX_METADATA_BYTES:  # it has grown since
        return _too_large(files, folder, info)
    told = told_by(content, lambda handle: _state_beside(files, folder, handle))
    state.note(files, folder, told.state_files)
    return _stored(told, content, address(files, folder), written_at(info))


def unopened(files: FileSystem, folder: str, error: Exception) -> StoredCheckpoint | None:
    """A restore point that storage lists and does not let be read, with what storage said of it (`error`): archived,
    or denied. None where it is gone meanwhile.

    Lists the folder, which needs no right to read it: raises what is TROUBLE where storage answers nothing at all.
    """
    listed = files.get_file_info(FileSelector(folder, allow_not_found=True))
    info = next((each for each in listed if each.base_name == METADATA), None)
    if info is None:
        return None
    return _without_words(
        address(files, folder), written_at(info), f"Its _metadata is there and could not be opened: {first_line(error)}"
    )


def stored_as(content: bytes, folder: str, at: datetime, beside: Callable[[Handle], bytes | None]) -> StoredCheckpoint:
    """What a `_metadata` file and its folder's name say; `at`: when it was written; `beside` gives a state that lies
    in another file."""
    return _stored(told_by(content, beside), content, folder, at)


def _stored(told: Told, content: bytes, folder: str, at: datetime) -> StoredCheckpoint:
    sizes: dict[OperatorId, int] = {}
    for part in told.operators:
        sizes[part.operator_id] = sizes.get(part.operator_id, 0) + part.bytes
    kind, job_id = _by_name(folder)
    return StoredCheckpoint(
        path=folder,
        kind=kind if told.kind is CheckpointKind.UNKNOWN else told.kind,
        checkpoint_id=told.checkpoint_id,
        job_id=told.job_id or job_id,
        written_at=at,
        pending_manifests=told.pending_manifests,
        manifest_folders=told.manifest_folders,
        is_committer_read=told.is_committer_read,
        operator_ids=tuple(sizes) or told.named_operators,
        operator_names={part.operator_id: part.name for part in told.operators if part.name},
        is_drained=told.is_drained,
        not_understood=told.not_understood,
        digest=hashlib.sha256(content).hexdigest(),
        problem=told.problem,
        state_bytes=sizes,
        source_positions=told.source_positions,
    )


def _too_large(files: FileSystem, folder: str, info: FileInfo) -> StoredCheckpoint:
    problem = (
        f"Its _metadata has {max(info.size, MAX_METADATA_BYTES) / 2**20:,.1f} MiB; Waterline reads no more than "
        f"{MAX_METADATA_BYTES // 2**20} MiB of one."
    )
    return _without_words(address(files, folder), written_at(info), problem)


def _without_words(folder: str, at: datetime, problem: str) -> StoredCheckpoint:
    """Of which nothing was read: what its place tells, and why."""
    kind, job_id = _by_name(folder)
    return StoredCheckpoint(
        path=folder, kind=kind, checkpoint_id=None, job_id=job_id, written_at=at, problem=problem, is_unread=True
    )


def _by_name(folder: str) -> tuple[CheckpointKind, JobId | None]:
    parent, name = folder.rstrip("/").rsplit("/", 2)[-2:]
    kind = CheckpointKind.SAVEPOINT if name.startswith("savepoint-") else CheckpointKind.CHECKPOINT
    return kind, JobId(parent) if JOB_FOLDER.fullmatch(parent) else None


def _state_beside(files: FileSystem, folder: str, handle: Handle) -> bytes | None:
    """A state that Flink wrote into a file of its own; None where it is gone, elsewhere, or too large.

    An absolute path is read only on the storage that holds this folder: a savepoint that was copied keeps its
    state beside it, and a file of another storage is none of ours to open.
    """
    if handle.file is None or handle.size > MAX_STATE_BYTES:
        return None
    try:
        if handle.is_relative:
            path = f"{folder}/{handle.file}"
        else:
            of, path = opened(handle.file)
            if of.type_name != files.type_name:
                return None
        with files.open_input_file(path) as content:
            content.seek(handle.start)
            state: bytes = content.read(handle.size)
    except TROUBLE:
        return None
    return state if len(state) == handle.size else None


def written_at(info: FileInfo) -> datetime:
    """An object store has no time for a folder: then the beginning of time, so that it sorts last."""
    at: datetime | None = info.mtime
    return at.astimezone(UTC) if at is not None else datetime.fromtimestamp(0, UTC)


def first_line(error: Exception) -> str:
    """What pyarrow said, with its kind, as a sentence."""
    said = str(error).strip().partition("\n")[0][:300].rstrip(".: ")
    return f"{type(error).__name__}: {said}."
