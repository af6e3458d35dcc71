"""Savepoints and retained checkpoints in the folders where Flink keeps them, and whether the files of their state are
there: without one of them Flink cannot start from it.
"""

import hashlib
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from bot.adapters.checkpoint_parsing import Handle, ParsedMetadata, StateFile, told_by
from bot.adapters.flink_http import polled
from bot.adapters.storage import TROUBLE, Opened, address, in_a_line, opened, opened_with, remedy_for
from bot.observation.errors import CouldNotLook, NotThere
from bot.observation.flink import CheckpointKind, StoredCheckpoint
from bot.observation.ids import JobId, OperatorId
from bot.observation.paths import below, place_of
from bot.observation.sentences import counted

METADATA = "_metadata"
ENTROPY = "_entropy_"
"""What Flink's S3 file systems replace by random letters in paths of state, and drop from those of `_metadata`
(`s3.entropy.key`, under the name that Flink's pages use)."""
_AT_ONCE = 8
"""So many restore points are read side by side."""


class StateFiles:
    """Of the points of one look: each is noted when its `_metadata` is read, and judged when all are.

    Costs a listing of each folder that holds state: of the points themselves, and of what incremental checkpoints of a
    run share (`shared`, a thousand files a request). Only files in the folder of the point, and in those that the job
    is configured with, are looked for: what Flink names elsewhere may be mounted at another place here.
    """

    def __init__(self, roots: Iterable[str | None], opened: Opened = opened) -> None:
        """`roots`: the job's folders; None: there is no such folder."""
        self.opened = opened
        self._roots = [(root, *found) for root in roots if root is not None for found in _opened(root, opened)]
        self._needed: dict[str, dict[str, int]] = {}
        self._metadata: dict[str, tuple[FileSystem, str]] = {}
        self._folders: dict[str, tuple[FileSystem, str]] = {}
        self._sizes: dict[str, dict[str, int | None] | None] = {}

    def note(self, files: FileSystem, folder: str, named: Iterable[StateFile]) -> None:
        """The files that the `_metadata` in `folder` names."""
        needed: dict[str, int] = {}
        for path, is_relative, end in named:
            place = (files, f"{folder}/{path}") if is_relative else self._below_a_root(path)
            if place is not None:
                file = address(*place)
                needed[file] = max(end, needed.get(file, 0))
                self._folders[file.rpartition("/")[0]] = (place[0], place[1].rpartition("/")[0])
        self._needed[address(files, folder)] = needed
        self._metadata[address(files, folder)] = (files, f"{folder}/{METADATA}")

    def judged(self, point: StoredCheckpoint) -> StoredCheckpoint | None:
        """The same, with a problem where a file of its state is gone, or shorter than what Flink wrote into it; None
        where Flink has deleted the whole point since it was read, `_metadata` first. Where a folder cannot be listed,
        nothing is said of its files."""
        needed = self._needed.get(point.path, {})
        lacking = [file for file, end in needed.items() if self._lacks(file, end)] if point.problem is None else []
        if not lacking:
            return point
        if not _is_there(*self._metadata[point.path]):
            return None
        return point.model_copy(update={"problem": _problem(lacking, len(needed))})

    def _lacks(self, file: str, end: int) -> bool:
        folder = file.rpartition("/")[0]
        if folder not in self._sizes:
            self._sizes[folder] = _listed(*self._folders[folder])
        sizes = self._sizes[folder]
        size = sizes.get(file, -1) if sizes is not None else None
        return size is not None and size < end

    def _below_a_root(self, path: str) -> tuple[FileSystem, str] | None:
        for root, files, bare in self._roots:
            drawn = _drawn(path, root)
            inside = below(path, root.replace(ENTROPY, drawn, 1))
            if inside is not None:
                return files, f"{bare.replace(ENTROPY, drawn, 1).rstrip('/')}/{inside}"
        return None


def _drawn(path: str, root: str) -> str:
    """What stands in `path` where `root` has the marker of entropy."""
    before, marker, after = place_of(root).inside.partition(ENTROPY)
    inside = place_of(path).inside
    if not marker or not inside.startswith(before):
        return ENTROPY
    return inside.removeprefix(before).partition("/")[0].removesuffix(after.partition("/")[0])


def without_entropy(folder: str | None) -> str | None:
    """Where Flink puts `_metadata` if that is its folder."""
    return folder if folder is None or ENTROPY not in folder else re.sub(f"/?{ENTROPY}", "", folder, count=1)


def _opened(root: str, opened: Opened) -> list[tuple[FileSystem, str]]:
    """One; none where it cannot be."""
    with suppress(*TROUBLE):
        return [opened(root)]
    return []


def _listed(files: FileSystem, folder: str) -> dict[str, int | None] | None:
    """Address of each file -> its bytes; None where the folder cannot be listed. One that is not there has none."""
    try:
        infos = files.get_file_info(FileSelector(folder, allow_not_found=True))
    except TROUBLE:
        return None
    return {address(files, info.path): info.size for info in infos if info.type is FileType.File}


def _is_there(files: FileSystem, path: str) -> bool:
    """Also where it cannot be looked up."""
    try:
        return bool(files.get_file_info(path).type is not FileType.NotFound)
    except TROUBLE:
        return True


def _problem(lacking: Sequence[str], needed: int) -> str:
    are = "is" if len(lacking) == 1 else "are"
    return (
        f"{len(lacking):,} of the {counted(needed, 'file')} that hold its state {are} gone or cut off, the first "
        f"{lacking[0]}: Flink cannot start from it."
    )


MAX_METADATA_BYTES = 16 * 1024 * 1024
"""A larger `_metadata` is listed and not read: it lies in memory while it is, and the bot stays below 250 MB. Flink
writes some 100 bytes for each file of a state, and the states below 20 KB themselves."""
MAX_STATE_BYTES = 16 * 1024 * 1024
"""A larger committer state is not read; what it owes is then not known."""
JOB_FOLDER = re.compile(r"[0-9a-f]{32}")


@dataclass(frozen=True)
class _Read:
    """A point as it was read once: Flink writes a `_metadata` once and never changes it."""

    size: int
    at_ns: int | None
    stored: StoredCheckpoint
    state_files: tuple[StateFile, ...]


def _point_in(files: FileSystem, folder: str, state: StateFiles, known: dict[str, _Read]) -> StoredCheckpoint | None:
    """None where there is no `_metadata`, also when Flink deleted it while we looked. The files that it names are noted
    in `state`. One that is `known`, by its address, with this size and time is not read again. Raises what is
    TROUBLE."""
    info = files.get_file_info(f"{folder}/{METADATA}")
    if info.type is not FileType.File:
        return None
    before = known.get(address(files, folder))
    if before is not None and (before.size, before.at_ns) == (info.size, info.mtime_ns):
        state.note(files, folder, before.state_files)
        return before.stored
    if info.size > MAX_METADATA_BYTES:
        return _too_large(files, folder, info)
    try:
        with files.open_input_file(info.path) as file:
            content: bytes = file.read(MAX_METADATA_BYTES + 1)
    except FileNotFoundError:
        return None
    if len(content) > MAX_METADATA_BYTES:  # it has grown since
        return _too_large(files, folder, info)
    unread = list[Handle]()

    def beside(handle: Handle) -> bytes | None:
        kept = _state_beside(files, folder, handle, state.opened)
        unread.extend([handle] if kept is None else [])
        return kept

    told = told_by(content, beside)
    state.note(files, folder, told.state_files)
    stored = _stored(told, content, address(files, folder), written_at(info))
    if not unread:
        known[stored.path] = _Read(info.size, info.mtime_ns, stored, tuple(told.state_files))
    return stored


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
        address(files, folder), written_at(info), f"Its _metadata is there and could not be opened: {in_a_line(error)}."
    )


def _stored(told: ParsedMetadata, content: bytes, folder: str, at: datetime) -> StoredCheckpoint:
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
        operator_ids=tuple(sizes),
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
    return StoredCheckpoint(path=folder, kind=kind, job_id=job_id, written_at=at, problem=problem, is_unread=True)


def _by_name(folder: str) -> tuple[CheckpointKind, JobId | None]:
    parent, name = folder.rstrip("/").rsplit("/", 2)[-2:]
    kind = CheckpointKind.SAVEPOINT if name.startswith("savepoint-") else CheckpointKind.CHECKPOINT
    return kind, JobId(parent) if JOB_FOLDER.fullmatch(parent) else None


def _state_beside(files: FileSystem, folder: str, handle: Handle, opened: Opened) -> bytes | None:
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


DELETED_WITHIN_S = 5.0
"""How long after the end of a run Flink may take to begin to delete what it owned: `_metadata` goes first."""
_EVERY_S = 0.1
_CHECKPOINT_FOLDER = re.compile(r"chk-\d+")


@dataclass(frozen=True)
class _Unread:
    """A point that could not be opened: as it is listed beside others that could, and what is said if none could."""

    stored: StoredCheckpoint
    could_not_look: CouldNotLook


class CheckpointFiles:
    """Reads one job's two folders, each an absolute path or a URI (`file:`, `s3:`, `gs:`, …).

    A look costs one listing a folder and one request for each point. The first look at a point reads its `_metadata`
    too, and the committer's and the sources' state where it lies in a file beside it (some 3 KB a pending checkpoint,
    50 bytes a partition). No other state is read; that its files are there is looked up in a listing of each folder
    that holds some.
    """

    def __init__(
        self,
        checkpoint_dir: str | None,
        savepoint_dir: str | None,
        *,
        properties: Mapping[str, str] | None = None,
    ) -> None:
        """None: no such folder is known. `properties` say how the storage is reached, under
        PyIceberg's names; what they do not say, the environment does."""
        self._opened: Opened = partial(opened_with, dict(properties or {}))
        self._checkpoint_dir = without_entropy(checkpoint_dir)
        self._savepoint_dir = without_entropy(savepoint_dir)
        self._of_state = dict.fromkeys((checkpoint_dir, self._checkpoint_dir, savepoint_dir, self._savepoint_dir))
        self._known: dict[str, _Read] = {}

    def stored(self, job: str, runs: Sequence[JobId]) -> tuple[StoredCheckpoint, ...]:
        """See the port. A `chk-N` without `_metadata` is not complete (yet) and is left out; a savepoint
        without one is listed with that problem, and so is a point that storage lists and does not let be opened.
        Of copies, each was written when the oldest was. Raises CouldNotLook, also for a folder that is missing,
        where none is known, and where not one of the points can be opened."""
        if self._checkpoint_dir is None and self._savepoint_dir is None:
            raise CouldNotLook(
                f"No folder of checkpoints or savepoints of {job} is configured.",
                "Expected checkpoint_dir or savepoint_dir; found neither.",
                f"Set both under `jobs.{job}`.",
            )
        told, state = list[StoredCheckpoint | _Unread](), self._state_files()
        if self._checkpoint_dir is not None:
            told += self._retained(self._checkpoint_dir, runs, job, state)
        if self._savepoint_dir is not None:
            told += self._savepoints(self._savepoint_dir, job, state)
        unread = [each for each in told if isinstance(each, _Unread)]
        found = [each for each in told if isinstance(each, StoredCheckpoint)]
        if unread and not any(each.digest is not None for each in found):
            raise unread[0].could_not_look
        paths = {each.path for each in found}
        self._known = {path: read for path, read in self._known.items() if path in paths}
        still = [each for each in map(state.judged, found) if each is not None]
        found = [*_as_first_written(still), *(each.stored for each in unread)]
        return tuple(sorted(found, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True))

    def read(self, path: str) -> StoredCheckpoint:
        """One restore point: its folder, or its `_metadata` file. Raises NotThere, CouldNotLook."""
        folder = path.rstrip("/").removesuffix(f"/{METADATA}").rstrip("/")
        try:
            files, bare = self._opened(folder)
            state = self._state_files()
            noted = _point_in(files, bare, state, self._known)
            stored = state.judged(noted) if noted is not None else None
        except TROUBLE as error:
            raise _could_not_look(f"Restore point {path}", error) from error
        if stored is None:
            raise NotThere(
                f"There is no restore point at {path}.",
                f"Expected a file {METADATA} in it; found none.",
                "Check the path. Flink deletes checkpoints that newer ones replace.",
            )
        return stored

    def may_hold(self, path: str) -> bool:
        """See the port. A query in a path could have other addresses spoken to, so none is taken."""
        if "?" in path or "#" in path:
            return False
        folders = (self._checkpoint_dir, self._savepoint_dir)
        return any(folder is not None and place_of(folder)[:2] == place_of(path)[:2] for folder in folders)

    def outlasts(self, path: str) -> bool:
        def gone() -> bool | None:
            try:
                self.read(path)
            except NotThere:
                return True
            return None

        return polled(gone, DELETED_WITHIN_S, _EVERY_S) is None

    def _state_files(self) -> StateFiles:
        return StateFiles(self._of_state, self._opened)

    def _retained(
        self, root: str, runs: Sequence[JobId], job: str, state: StateFiles
    ) -> Iterator[StoredCheckpoint | _Unread]:
        """In a folder for each run, or without one (`create-subdir: false`): then the file alone may tell the run."""
        what = f"The checkpoint folder of {job}, {root},"
        try:
            files, bare = self._opened(root)
            inside = _folders(files, bare)
            for each in self._checkpoints(files, inside, what, state):
                if JOB_FOLDER.fullmatch(bare.rstrip("/").rpartition("/")[2]):
                    raise _too_deep(what)
                stored = each.stored if isinstance(each, _Unread) else each
                if not runs or stored.job_id is None or stored.job_id in runs:
                    yield each
            for folder in inside:
                if JOB_FOLDER.fullmatch(folder.base_name) and (not runs or folder.base_name in runs):
                    within = _folders(files, folder.path, may_be_gone=True)
                    yield from self._checkpoints(files, within, what, state)
        except TROUBLE as error:
            raise _could_not_look(what, error) from error

    def _savepoints(self, root: str, job: str, state: StateFiles) -> Iterator[StoredCheckpoint | _Unread]:
        what = f"The savepoint folder of {job}, {root},"
        try:
            files, bare = self._opened(root)
            listed = _folders(files, bare, may_be_gone=files.type_name in _OBJECT_STORES)
            folders = [each for each in listed if each.base_name.startswith("savepoint-")]
            for folder, told in zip(folders, self._told(files, folders, what, state), strict=True):
                yield told or _incomplete(files, folder)
        except TROUBLE as error:
            raise _could_not_look(what, error) from error

    def _checkpoints(
        self, files: FileSystem, folders: Iterable[FileInfo], what: str, state: StateFiles
    ) -> Iterator[StoredCheckpoint | _Unread]:
        checkpoints = [each for each in folders if _CHECKPOINT_FOLDER.fullmatch(each.base_name)]
        return (told for told in self._told(files, checkpoints, what, state) if told is not None)

    def _told(
        self, files: FileSystem, folders: Sequence[FileInfo], what: str, state: StateFiles
    ) -> Iterator[StoredCheckpoint | _Unread | None]:
        """Each point; None where there is no `_metadata`. Raises what is TROUBLE where storage answers nothing."""

        def told(folder: FileInfo) -> StoredCheckpoint | _Unread | None:
            try:
                return _point_in(files, folder.path, state, self._known)
            except TROUBLE as error:
                stored = unopened(files, folder.path, error)
                return _Unread(stored, _could_not_look(what, error)) if stored is not None else None

        pool = ThreadPoolExecutor(_AT_ONCE, thread_name_prefix="restore-points")
        try:
            yield from pool.map(told, folders)
        finally:
            pool.shutdown(cancel_futures=True)


def _as_first_written(found: Sequence[StoredCheckpoint]) -> Iterator[StoredCheckpoint]:
    """The same, copies as old as what they are copies of: copying makes a file younger than the state it holds."""
    first: dict[str | None, datetime] = {}
    for each in found:
        first[each.digest] = min(each.written_at, first.get(each.digest, each.written_at))
    for each in found:
        yield each if each.digest is None else each.model_copy(update={"written_at": first[each.digest]})


_OBJECT_STORES = frozenset({"s3", "gcs", "abfs"})
"""They have no folders: one that holds nothing is not there."""


def _folders(files: FileSystem, path: str, *, may_be_gone: bool = False) -> list[FileInfo]:
    listed = files.get_file_info(FileSelector(path, allow_not_found=may_be_gone))
    return sorted((i for i in listed if i.type is FileType.Directory), key=lambda info: info.base_name)


def _incomplete(files: FileSystem, folder: FileInfo) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=address(files, folder.path),
        kind=CheckpointKind.SAVEPOINT,
        written_at=written_at(folder),
        problem="It has no _metadata: the savepoint failed, or is still being taken.",
    )


def _too_deep(what: str) -> CouldNotLook:
    return CouldNotLook(
        f"{what} is the folder of a single run.",
        "Expected the folder that holds one folder per run; found checkpoints directly in it. Checkpoints of the "
        "next run would not be seen.",
        "Set `checkpoint_dir` to the folder above it, the value of Flink's `execution.checkpointing.dir`.",
    )


def _could_not_look(what: str, error: Exception) -> CouldNotLook:
    return CouldNotLook(
        f"{what} could not be read.",
        f"Expected a folder as Flink writes it; found {in_a_line(error)}.",
        remedy_for(
            error,
            "Check the path in the configuration, and that it is mounted and readable here. Create the folder if Flink "
            "has not yet written to it.",
        ),
    )
