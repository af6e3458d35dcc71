"""Whether the files of a restore point's state are there: without one of them Flink cannot start from it."""

from collections.abc import Iterable, Sequence
from contextlib import suppress

from pyarrow.fs import FileSelector, FileSystem, FileType

from bot.adapters.checkpoint_bytes import StateFile
from bot.adapters.opening import TROUBLE, address, opened
from bot.domain.flink import StoredCheckpoint
from bot.domain.paths import below
from bot.domain.sentences import counted

METADATA = "_metadata"


class StateFiles:
    """Of the points of one look: each is noted when its `_metadata` is read, and judged when all are.

    Costs a listing of each folder that holds state: of the points themselves, and of what incremental checkpoints of a
    run share (`shared`, a thousand files a request). Only files in the folder of the point, and in those that the job
    is configured with, are looked for: what Flink names elsewhere may be mounted at another place here.
    """

    def __init__(self, roots: Iterable[str | None]) -> None:
        """`roots`: the job's folders; None: there is no such folder."""
        self._roots = [(root, *opened_root) for root in roots if root is not None for opened_root in _opened(root)]
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
            inside = below(path, root)
            if inside is not None:
                return files, f"{bare.rstrip('/')}/{inside}"
        return None


def _opened(root: str) -> list[tuple[FileSystem, str]]:
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
