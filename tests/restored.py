"""What is written to a folder once, and copied there from then on: tables and the record's empty database.

A table names its own place in each of its files, so a copy has the new place in them: both paths are of one length.
"""

import time
from collections.abc import Callable
from pathlib import Path

from pyiceberg.table import TableProperties

_AT_MOST_S = 30.0
"""So old is a copy at most: nothing in it is late because it was made for another test."""
_KEPT: dict[tuple[str, int], tuple[float, bytes, dict[Path, bytes]]] = {}
"""(what, length of the folder's path) -> when it was made, where, and its files."""


def restored(what: str, folder: Path, make: Callable[[Path], None]) -> None:
    """Leaves in this folder what `make` leaves there, and nothing open."""
    here = str(folder).encode()
    kept = _KEPT.get((what, len(here)))
    if kept is None or time.monotonic() - kept[0] > _AT_MOST_S:
        _KEPT[what, len(here)] = (time.monotonic(), here, _made(folder, make))
        return
    _, there, files = kept
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content.replace(there, here))


def _made(folder: Path, make: Callable[[Path], None]) -> dict[Path, bytes]:
    before = set(folder.rglob("*"))
    usual = TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT
    TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT = "null"  # a path can be replaced in it
    try:
        make(folder)
    finally:
        TableProperties.WRITE_AVRO_COMPRESSION_DEFAULT = usual
    made = (path for path in folder.rglob("*") if path not in before and path.is_file())
    return {path.relative_to(folder): path.read_bytes() for path in made}
