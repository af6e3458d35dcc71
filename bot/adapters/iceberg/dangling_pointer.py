"""The catalog points to a metadata file that cannot be read: where it points, and the newest one that can (F10).

Catalogs that keep only a pointer (SQL, Hive, Glue, DynamoDB) read the file here, on the client; a REST catalog reads
it itself and names it in its error. Nothing of this is used while the pointer is good.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import NoReturn

from pyarrow import ArrowException
from pyarrow.fs import FileSelector, FileType
from pydantic import ValidationError
from pyiceberg.catalog import load_catalog
from pyiceberg.exceptions import NoSuchTableError, RESTError
from pyiceberg.exceptions import ValidationError as NotIceberg
from pyiceberg.io import FileIO, InputFile, OutputFile, load_file_io
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata

from bot.adapters.storage import opened_with
from bot.domain.ids import TableName

_METADATA = re.compile(r"(?:v|(?=\d))(?P<number>\d+)(?:-[0-9a-f-]{36})?(?:\.gz)?\.metadata\.json(?:\.gz)?")
"""`00007-uuid.metadata.json` of catalogs, `v7.metadata.json` of Hadoop tables."""
_LOCATION = re.compile(r"[^\s'\"]+\.metadata\.json(?:\.gz)?")
_UNREADABLE = (FileNotFoundError, NotIceberg, ValidationError, ValueError)
"""The file is not there, or is not a metadata file. A refused right or a dead connection says nothing of it."""
_TRIED = 20
"""So many files are opened before it is given up; in practice it is one."""


class PointsTo(Exception):
    """Raised instead of reading, with the address that was asked for."""

    def __init__(self, location: str) -> None:
        super().__init__(location)
        self.location = location


class OnlyPoints(FileIO):
    """A file access for PyIceberg (`py-io-impl`) that reads nothing and only tells which file was asked for."""

    def new_input(self, location: str) -> InputFile:
        """Always raises, with the location."""
        _tell(location)

    def new_output(self, location: str) -> OutputFile:
        """Always raises: nothing is written through it."""
        _tell(location)

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Always raises: nothing is deleted through it."""
        _tell(str(location))


def lost_location(name: str, properties: Mapping[str, str], table: TableName, error: Exception) -> str | None:
    """Where the catalog points, if `error` says that this very file cannot be read; None for any other trouble."""
    if isinstance(error, RESTError | NoSuchTableError):
        told = _LOCATION.search(str(error))
        return told[0] if told and "NotFound" in str(error) else None
    if not isinstance(error, _UNREADABLE):
        return None
    location = _pointer(name, properties, table)
    return location if location is not None and _read(location, properties) is None else None


def newest_readable(lost: str, properties: Mapping[str, str]) -> tuple[TableMetadata, str] | None:
    """The newest metadata file below the lost one, and its address; None if none can be read.

    A refused commit leaves a file of the same number behind; where two have it, the one that later files name as
    their past is the table's own. Cost: one listing of the metadata folder and most often one file.
    """
    folder, _, lost_name = lost.rpartition("/")
    limit = _METADATA.fullmatch(lost_name)
    below = int(limit["number"]) if limit else None
    try:
        listed = list(_listed(folder, properties))
    except (OSError, ArrowException, ValueError):
        return None
    older = [each for each in listed if each[2] != lost_name and (below is None or each[0] < below)]
    newest_first = sorted(older, reverse=True)
    told = (
        _told_by([each for each in listed if each[2] != lost_name], folder, properties) if _is_tie(newest_first) else ()
    )
    chosen = sorted(newest_first, key=lambda each: (each[0], each[2] in told, each[1]), reverse=True)
    for _, _, name in chosen[:_TRIED]:
        metadata = _read(f"{folder}/{name}", properties)
        if metadata is not None:
            return metadata, f"{folder}/{name}"
    return None


def _pointer(name: str, properties: Mapping[str, str], table: TableName) -> str | None:
    catalog = load_catalog(name, **{**properties, "py-io-impl": f"{OnlyPoints.__module__}.{OnlyPoints.__name__}"})
    try:
        catalog.load_table(table)
    except PointsTo as told:
        return told.location
    finally:
        catalog.close()
    return None


def _listed(folder: str, properties: Mapping[str, str]) -> Iterator[tuple[int, datetime, str]]:
    """(number, when it was written, name) of every metadata file in the folder."""
    files, path = opened_with(dict(properties), folder)
    for info in files.get_file_info(FileSelector(path)):
        found = _METADATA.fullmatch(info.base_name)
        if info.type is FileType.File and found is not None:
            yield int(found["number"]), info.mtime or datetime.min.replace(tzinfo=UTC), info.base_name


def _is_tie(newest_first: list[tuple[int, datetime, str]]) -> bool:
    return len(newest_first) > 1 and newest_first[0][0] == newest_first[1][0]


def _told_by(listed: Iterable[tuple[int, datetime, str]], folder: str, properties: Mapping[str, str]) -> frozenset[str]:
    """Names of the files that the newest ones name as their past."""
    newest = sorted(listed, reverse=True)[:_TRIED]
    read = (_read(f"{folder}/{name}", properties) for _, _, name in newest)
    past = (entry.metadata_file for metadata in read if metadata is not None for entry in metadata.metadata_log)
    return frozenset(file.rsplit("/", 1)[-1] for file in past)


def _read(location: str, properties: Mapping[str, str]) -> TableMetadata | None:
    try:
        return FromInputFile.table_metadata(load_file_io(dict(properties), location).new_input(location))
    except (OSError, ArrowException, *_UNREADABLE):
        return None


def _tell(location: str) -> NoReturn:
    raise PointsTo(location)
