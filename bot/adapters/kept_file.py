"""Bytes that are at hand, as PyIceberg reads a file."""

import io
import struct
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import islice
from typing import cast

from pyiceberg.avro.file import AvroFile
from pyiceberg.exceptions import ResolveError
from pyiceberg.io import InputFile, InputStream
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    read_manifest_list,
)

_TROUBLE = (
    KeyError, IndexError, TypeError, AttributeError, AssertionError, EOFError, OverflowError, MemoryError,
    SystemError, struct.error, zlib.error, ResolveError,
)  # fmt: skip
"""What PyIceberg raises beside ValueError where an Avro file is cut off or is none."""


class KeptFile(InputFile):
    """One file of which every byte is known."""

    def __init__(self, location: str, content: bytes) -> None:
        super().__init__(location)
        self._content = content

    def __len__(self) -> int:
        return len(self._content)

    def exists(self) -> bool:
        """It is here."""
        return True

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - the signature is PyIceberg's
        """A new stream from its beginning."""
        return cast(InputStream, io.BytesIO(self._content))


def manifest_file(file: InputFile) -> AvroFile[ManifestEntry]:
    """A manifest, Iceberg's or Flink's, to be read within a `with`. Raises ValueError, OSError for anything else."""
    return AvroFile[ManifestEntry](
        file,
        MANIFEST_ENTRY_SCHEMAS[DEFAULT_READ_VERSION],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )


def entries_in(content: bytes) -> list[ManifestEntry]:
    """Every entry of a manifest, deleted ones too, as they are written: nothing is inherited from a list.

    Raises ValueError for anything else.
    """
    with _as_value_error(), manifest_file(KeptFile("kept", content)) as entries:
        return list(entries)


def head_of(content: bytes) -> dict[str, str]:
    """What an Avro file says of itself before its first entry; its beginning is enough. Raises ValueError."""
    with _as_value_error(), AvroFile[ManifestEntry](KeptFile("kept", content)) as file:
        return dict(file.header.meta)


def added_in(content: bytes, most: int) -> DataFile | None:
    """The first data file that a manifest adds, among its first `most` entries. Raises ValueError."""
    with _as_value_error(), manifest_file(KeptFile("kept", content)) as entries:
        for entry in islice(entries, most):
            if entry.status is ManifestEntryStatus.ADDED and entry.data_file.content is DataFileContent.DATA:
                return entry.data_file
    return None


def manifests_in(path: str, content: bytes) -> list[ManifestFile]:
    """The manifests that a manifest list names. Raises ValueError for anything else."""
    with _as_value_error():
        return list(read_manifest_list(KeptFile(path, content)))


@contextmanager
def _as_value_error() -> Iterator[None]:
    try:
        yield
    except _TROUBLE as error:
        raise ValueError(f"{type(error).__name__}: {error}") from error
