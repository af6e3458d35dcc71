"""Savepoints and retained checkpoints in the folders where Flink keeps them."""

import hashlib
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime

from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from bot.adapters.checkpoint_handles import Handle
from bot.adapters.checkpoint_parsing import told_by
from bot.adapters.opening import address, opened
from bot.adapters.polling import polled
from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import JobId, OperatorId

MAX_STATE_BYTES = 64 * 1024 * 1024
"""A larger committer state is not read; what it owes is then not known."""
DELETED_WITHIN_S = 5.0
"""How long after the end of a run Flink may take to begin to delete what it owned: `_metadata` goes first."""
_EVERY_S = 0.1
_METADATA = "_metadata"
_JOB_FOLDER = re.compile(r"[0-9a-f]{32}")
_CHECKPOINT_FOLDER = re.compile(r"chk-\d+")
_TROUBLE = (OSError, ArrowException, ValueError)


class CheckpointFiles:
    """Reads one job's two folders, each an absolute path or a URI (`file:`, `s3:`, `gs:`, …).

    A look costs one listing a folder and one read of each `_metadata`, and of the committer's and the sources' state
    where it lies in a file beside it (some 3 KB a pending checkpoint, 50 bytes a partition). No other state is read.
    """

    def __init__(
        self, checkpoint_dir: str | None, savepoint_dir: str | None, *, deleted_within_s: float = DELETED_WITHIN_S
    ) -> None:
        """None: there is no such folder, and nothing is looked for. `deleted_within_s`: how long `outlasts` waits."""
        self._checkpoint_dir = checkpoint_dir
        self._savepoint_dir = savepoint_dir
        self._deleted_within_s = deleted_within_s

    def stored(self, job: str, runs: Sequence[JobId]) -> tuple[StoredCheckpoint, ...]:
        """See the port. A `chk-N` without `_metadata` is not complete (yet) and is left out; a savepoint
        without one is listed with that problem. Raises CouldNotLook, also for a folder that is missing."""
        found: list[StoredCheckpoint] = []
        if self._checkpoint_dir is not None:
            found += self._retained(self._checkpoint_dir, runs, job)
        if self._savepoint_dir is not None:
            found += self._savepoints(self._savepoint_dir, job)
        return tuple(sorted(found, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True))

    def read(self, path: str) -> StoredCheckpoint:
        """One restore point: its folder, or its `_metadata` file. Raises NotThere, CouldNotLook."""
        folder = path.removesuffix(f"/{_METADATA}").rstrip("/")
        try:
            files, bare = opened(folder)
            stored = _read(files, bare)
        except _TROUBLE as error:
            raise _could_not_look(f"Restore point {path}", error) from error
        if stored is None:
            raise NotThere(
                f"There is no restore point at {path}.",
                f"Expected a file {_METADATA} in it; there is none.",
                "Check the path; Flink deletes checkpoints that newer ones replace.",
            )
        return stored

    def outlasts(self, path: str) -> bool:
        """See the port."""

        def gone() -> bool | None:
            try:
                self.read(path)
            except NotThere:
                return True
            return None

        return polled(gone, self._deleted_within_s, _EVERY_S) is None

    def _retained(self, root: str, runs: Sequence[JobId], job: str) -> Iterator[StoredCheckpoint]:
        try:
            files, bare = opened(root)
            jobs = [f for f in _folders(files, bare) if _JOB_FOLDER.fullmatch(f.base_name)]
            for folder in jobs:
                if runs and folder.base_name not in runs:
                    continue
                for each in _folders(files, folder.path, may_be_gone=True):
                    stored = _read(files, each.path) if _CHECKPOINT_FOLDER.fullmatch(each.base_name) else None
                    if stored is not None:
                        yield stored
        except _TROUBLE as error:
            raise _could_not_look(f"The checkpoint folder of {job}, {root},", error) from error

    def _savepoints(self, root: str, job: str) -> Iterator[StoredCheckpoint]:
        try:
            files, bare = opened(root)
            for each in _folders(files, bare):
                if each.base_name.startswith("savepoint-"):
                    yield _read(files, each.path) or _incomplete(files, each)
        except _TROUBLE as error:
            raise _could_not_look(f"The savepoint folder of {job}, {root},", error) from error


def _folders(files: FileSystem, path: str, *, may_be_gone: bool = False) -> list[FileInfo]:
    listed = files.get_file_info(FileSelector(path, allow_not_found=may_be_gone))
    return sorted((i for i in listed if i.type is FileType.Directory), key=lambda info: info.base_name)


def _read(files: FileSystem, folder: str) -> StoredCheckpoint | None:
    """None where there is no `_metadata`, also when Flink deleted it while we looked."""
    path = f"{folder}/{_METADATA}"
    info = files.get_file_info(path)
    if info.type is not FileType.File:
        return None
    try:
        with files.open_input_stream(path) as stream:
            content = stream.read()
    except FileNotFoundError:
        return None
    return stored_as(
        content, address(files, folder), _written_at(info), lambda handle: _state_beside(files, folder, handle)
    )


def stored_as(
    content: bytes, folder: str, written_at: datetime, beside: Callable[[Handle], bytes | None]
) -> StoredCheckpoint:
    """What a `_metadata` file and its folder's name say; `beside` gives a state that lies in another file."""
    told = told_by(content, beside)
    sizes: dict[OperatorId, int] = {}
    for part in told.operators:
        sizes[part.operator_id] = sizes.get(part.operator_id, 0) + part.bytes
    parent, name = folder.rstrip("/").rsplit("/", 2)[-2:]
    from_folder = JobId(parent) if _JOB_FOLDER.fullmatch(parent) else None
    by_name = CheckpointKind.SAVEPOINT if name.startswith("savepoint-") else CheckpointKind.CHECKPOINT
    return StoredCheckpoint(
        path=folder,
        kind=by_name if told.kind is CheckpointKind.UNKNOWN else told.kind,
        checkpoint_id=told.checkpoint_id,
        job_id=told.job_id or from_folder,
        written_at=written_at,
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
    except _TROUBLE:
        return None
    return state if len(state) == handle.size else None


def _incomplete(files: FileSystem, folder: FileInfo) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=address(files, folder.path),
        kind=CheckpointKind.SAVEPOINT,
        checkpoint_id=None,
        job_id=None,
        written_at=_written_at(folder),
        problem="It has no _metadata: the savepoint failed, or is still being taken.",
    )


def _written_at(info: FileInfo) -> datetime:
    """An object store has no time for a folder: then the beginning of time, so that it sorts last."""
    at: datetime | None = info.mtime
    return at.astimezone(UTC) if at is not None else datetime.fromtimestamp(0, UTC)


def _could_not_look(what: str, error: Exception) -> CouldNotLook:
    said = str(error).strip().partition("\n")[0]
    return CouldNotLook(
        f"{what} could not be read.",
        f"Expected a folder as Flink writes it; found {type(error).__name__}: {said[:300]}.",
        "Check the path in the configuration, and that it is mounted and readable here; "
        "create the folder if Flink has not yet written to it.",
    )
