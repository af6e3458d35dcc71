"""Files that are moved into a folder which keeps them, and back: the list first, then file by file.

A move within one storage is what that storage offers: a rename on a file system, a copy and a removal on an object
store. Each step may be repeated: a file that has arrived and is gone from where it was is passed over.
"""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSystem, FileType

from bot.adapters.opening import opened
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.domain.ids import TableName

_TROUBLE = (OSError, ArrowException, ValueError)


def written_at(paths: Sequence[str]) -> dict[str, datetime | None]:
    """Path -> when it was last written (None: storage does not tell), of those that are there. Raises CouldNotLook."""
    found: dict[str, datetime | None] = {}
    for path in paths:
        try:
            info = _info(path)
        except _TROUBLE as error:
            raise CouldNotLook(
                f"The file {path} could not be looked for.",
                f"Expected storage to tell of it; found {_said(error)}.",
                "Check that the table's storage is readable from here.",
            ) from error
        if info.type is FileType.File:
            found[path] = info.mtime.astimezone(UTC) if info.mtime is not None else None
    return found


def move(table: TableName, moves: Sequence[tuple[str, str]], note: str) -> int:
    """Write the list `note`, then move every file that is not yet where it belongs; returns how many were moved.

    Raises CommitRefused where nothing was moved, else OutcomeUnknown: looking at the files tells how far it came.
    """
    moved = 0
    try:
        _write(note, json.dumps({"table": table, "moves": [{"from": a, "to": b} for a, b in moves]}, indent=1))
        for source, target in moves:
            if _info(source).type is FileType.File:
                _move(source, target)
                moved += 1
            elif _info(target).type is not FileType.File:
                raise FileNotFoundError(f"neither {source} nor {target} is there")
    except _TROUBLE as error:
        if moved == 0:
            raise CommitRefused(
                f"No file of {table} was moved.",
                f"Expected storage to move {len(moves)} files; found {_said(error)}.",
                "Check that the bot may write beside the table's data, then propose again.",
            ) from error
        raise OutcomeUnknown(
            f"{moved} of {len(moves)} files of {table} were moved, and then storage failed.",
            f"Expected all of them to be moved; found {_said(error)}.",
            "Nothing is lost: each is at its old or its new place. It will be looked at again.",
        ) from error
    return moved


def _info(path: str) -> FileInfo:
    files, place = opened(path)
    return files.get_file_info(place)


def _move(source: str, target: str) -> None:
    files, place = opened(source)
    others, arrival = opened(target)
    if files != others:
        raise ValueError(f"{source} and {target} are on different storages")
    _folder(files, arrival)
    files.move(place, arrival)


def _write(path: str, text: str) -> None:
    files, place = opened(path)
    _folder(files, place)
    with files.open_output_stream(place) as out:
        out.write(text.encode())


def _folder(files: FileSystem, path: str) -> None:
    if files.type_name == "local":
        files.create_dir(path.rpartition("/")[0], recursive=True)


def _said(error: Exception) -> str:
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:300]}"
