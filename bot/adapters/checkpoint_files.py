"""Savepoints and retained checkpoints in the folders where Flink keeps them."""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from bot.adapters.checkpoint_point import JOB_FOLDER, first_line, point_in, unopened, written_at
from bot.adapters.checkpoint_state_files import METADATA, StateFiles
from bot.adapters.opening import TROUBLE, address, opened
from bot.adapters.polling import polled
from bot.domain.errors import CouldNotLook, NotThere
from bot.domain.flink import CheckpointKind, StoredCheckpoint
from bot.domain.ids import JobId
from bot.domain.paths import place_of

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

    A look costs one listing a folder and one read of each `_metadata`, and of the committer's and the sources' state
    where it lies in a file beside it (some 3 KB a pending checkpoint, 50 bytes a partition). No other state is read;
    that its files are there is looked up in a listing of each folder that holds some.
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
        without one is listed with that problem, and so is a point that storage lists and does not let be opened.
        Of copies, each was written when the oldest was. Raises CouldNotLook, also for a folder that is missing, and
        where not one of the points can be opened."""
        found, unread = list[StoredCheckpoint](), list[_Unread]()
        state = self._state_files()
        if self._checkpoint_dir is not None:
            _collect(self._retained(self._checkpoint_dir, runs, job, state), found, unread)
        if self._savepoint_dir is not None:
            _collect(self._savepoints(self._savepoint_dir, job, state), found, unread)
        if unread and not any(each.digest is not None for each in found):
            raise unread[0].could_not_look
        still = [each for each in map(state.judged, found) if each is not None]
        found = [*_as_first_written(still), *(each.stored for each in unread)]
        return tuple(sorted(found, key=lambda each: (each.written_at, each.checkpoint_id or 0), reverse=True))

    def read(self, path: str) -> StoredCheckpoint:
        """One restore point: its folder, or its `_metadata` file. Raises NotThere, CouldNotLook."""
        folder = path.removesuffix(f"/{METADATA}").rstrip("/")
        try:
            files, bare = opened(folder)
            state = self._state_files()
            noted = point_in(files, bare, state)
            stored = state.judged(noted) if noted is not None else None
        except TROUBLE as error:
            raise _could_not_look(f"Restore point {path}", error) from error
        if stored is None:
            raise NotThere(
                f"There is no restore point at {path}.",
                f"Expected a file {METADATA} in it; there is none.",
                "Check the path; Flink deletes checkpoints that newer ones replace.",
            )
        return stored

    def may_hold(self, path: str) -> bool:
        """See the port. A query in a path could have other addresses spoken to, so none is taken."""
        if "?" in path or "#" in path:
            return False
        folders = (self._checkpoint_dir, self._savepoint_dir)
        return any(folder is not None and place_of(folder)[:2] == place_of(path)[:2] for folder in folders)

    def outlasts(self, path: str) -> bool:
        """See the port."""

        def gone() -> bool | None:
            try:
                self.read(path)
            except NotThere:
                return True
            return None

        return polled(gone, self._deleted_within_s, _EVERY_S) is None

    def _state_files(self) -> StateFiles:
        return StateFiles((self._checkpoint_dir, self._savepoint_dir))

    def _retained(
        self, root: str, runs: Sequence[JobId], job: str, state: StateFiles
    ) -> Iterator[StoredCheckpoint | _Unread]:
        """In a folder for each run, or without one (`create-subdir: false`): then the file alone may tell the run."""
        what = f"The checkpoint folder of {job}, {root},"
        try:
            files, bare = opened(root)
            inside = _folders(files, bare)
            for each in _checkpoints(files, inside, what, state):
                if JOB_FOLDER.fullmatch(bare.rstrip("/").rpartition("/")[2]):
                    raise _too_deep(what)
                stored = each.stored if isinstance(each, _Unread) else each
                if not runs or stored.job_id is None or stored.job_id in runs:
                    yield each
            for folder in inside:
                if JOB_FOLDER.fullmatch(folder.base_name) and (not runs or folder.base_name in runs):
                    yield from _checkpoints(files, _folders(files, folder.path, may_be_gone=True), what, state)
        except TROUBLE as error:
            raise _could_not_look(what, error) from error

    def _savepoints(self, root: str, job: str, state: StateFiles) -> Iterator[StoredCheckpoint | _Unread]:
        what = f"The savepoint folder of {job}, {root},"
        try:
            files, bare = opened(root)
            for each in _folders(files, bare):
                if each.base_name.startswith("savepoint-"):
                    yield _told(files, each, what, state) or _incomplete(files, each)
        except TROUBLE as error:
            raise _could_not_look(what, error) from error


def _as_first_written(found: Sequence[StoredCheckpoint]) -> Iterator[StoredCheckpoint]:
    """The same, copies as old as what they are copies of: copying makes a file younger than the state it holds."""
    first: dict[str | None, datetime] = {}
    for each in found:
        first[each.digest] = min(each.written_at, first.get(each.digest, each.written_at))
    for each in found:
        yield each if each.digest is None else each.model_copy(update={"written_at": first[each.digest]})


def _checkpoints(
    files: FileSystem, folders: Iterable[FileInfo], what: str, state: StateFiles
) -> Iterator[StoredCheckpoint | _Unread]:
    """The complete ones of these folders."""
    for each in folders:
        told = _told(files, each, what, state) if _CHECKPOINT_FOLDER.fullmatch(each.base_name) else None
        if told is not None:
            yield told


def _told(files: FileSystem, folder: FileInfo, what: str, state: StateFiles) -> StoredCheckpoint | _Unread | None:
    """One point; None where there is no `_metadata`. Raises what is TROUBLE where storage answers nothing."""
    try:
        return point_in(files, folder.path, state)
    except TROUBLE as error:
        stored = unopened(files, folder.path, error)
        return _Unread(stored, _could_not_look(what, error)) if stored is not None else None


def _collect(told: Iterable[StoredCheckpoint | _Unread], found: list[StoredCheckpoint], unread: list[_Unread]) -> None:
    for each in told:
        if isinstance(each, _Unread):
            unread.append(each)
        else:
            found.append(each)


def _folders(files: FileSystem, path: str, *, may_be_gone: bool = False) -> list[FileInfo]:
    listed = files.get_file_info(FileSelector(path, allow_not_found=may_be_gone))
    return sorted((i for i in listed if i.type is FileType.Directory), key=lambda info: info.base_name)


def _incomplete(files: FileSystem, folder: FileInfo) -> StoredCheckpoint:
    return StoredCheckpoint(
        path=address(files, folder.path),
        kind=CheckpointKind.SAVEPOINT,
        checkpoint_id=None,
        job_id=None,
        written_at=written_at(folder),
        problem="It has no _metadata: the savepoint failed, or is still being taken.",
    )


def _too_deep(what: str) -> CouldNotLook:
    return CouldNotLook(
        f"{what} is the folder of one run.",
        "Expected the folder that holds one for each run; found checkpoints in it, and a run's id for its name, so "
        "that those of the next run would not be seen.",
        "Set `checkpoint_dir` to the folder above it, as Flink's `execution.checkpointing.dir` is.",
    )


def _could_not_look(what: str, error: Exception) -> CouldNotLook:
    return CouldNotLook(
        f"{what} could not be read.",
        f"Expected a folder as Flink writes it; found {first_line(error)}",
        "Check the path in the configuration, and that it is mounted and readable here; "
        "create the folder if Flink has not yet written to it.",
    )
