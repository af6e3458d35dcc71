"""Metadata files as PyIceberg gets to see them in a read: without their history, which is kept for us.

PyIceberg is told of it by `py-io-impl`, its own way to name a file IO. Never used for a commit: a catalog that writes
the next metadata file itself would write it without the history.
"""

import gzip
import io
import json
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import IO, cast

import pyarrow
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, InputStream, OutputFile, load_file_io
from pyiceberg.typedef import EMPTY_DICT, Properties

from bot.adapters.iceberg.history import History, read_split

pyarrow.set_memory_pool(pyarrow.system_memory_pool())
"""Arrow's own allocator keeps several megabytes at hand for tables that the bot never reads."""
_GZIP = (".gz.metadata.json", ".metadata.json.gz")
_caught: ContextVar[dict[str, History]] = ContextVar("caught")


def lean(properties: Properties) -> Properties:
    """The same catalog's properties for reading only; unchanged where another file IO is configured."""
    return properties if PY_IO_IMPL in properties else {**properties, PY_IO_IMPL: f"{__name__}.{LeanFileIO.__name__}"}


@contextmanager
def catching() -> Iterator[dict[str, History]]:
    """Metadata location -> history, of all that is read inside; empty for a catalog that sends the metadata itself."""
    caught: dict[str, History] = {}
    token = _caught.set(caught)
    try:
        yield caught
    finally:
        _caught.reset(token)


class LeanFileIO(FileIO):
    """What PyIceberg would have chosen by itself, except for metadata files."""

    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__({name: value for name, value in properties.items() if name != PY_IO_IMPL})

    def new_input(self, location: str) -> InputFile:
        """The file; a metadata file without its history."""
        file = self._chosen(location).new_input(location)
        return _LeanMetadata(file) if location.endswith((".metadata.json", *_GZIP)) else file

    def new_output(self, location: str) -> OutputFile:
        """Refused: nothing is written through a reader."""
        raise OSError(f"{location} is not written: this catalog is opened for reading.")

    def delete(self, location: str | InputFile | OutputFile) -> None:
        """Refused, as any writing."""
        raise OSError(f"{location} is not deleted: this catalog is opened for reading.")

    def _chosen(self, location: str) -> FileIO:
        return load_file_io(self.properties, location)


class _LeanMetadata(InputFile):
    def __init__(self, whole: InputFile) -> None:
        super().__init__(whole.location)
        self._whole = whole

    def __len__(self) -> int:
        return len(self._whole)

    def exists(self) -> bool:
        return self._whole.exists()

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - the signature is PyIceberg's
        """What is left of the file; packed again if it was, because PyIceberg goes by the name."""
        is_packed = self.location.endswith(_GZIP)
        with self._whole.open(seekable=False) as stream:
            whole = gzip.GzipFile(fileobj=cast(IO[bytes], stream)) if is_packed else stream
            rest, history = read_split(whole.read)
        _caught.get({})[self.location] = history
        told = json.dumps(rest).encode()
        return cast(InputStream, io.BytesIO(gzip.compress(told) if is_packed else told))
