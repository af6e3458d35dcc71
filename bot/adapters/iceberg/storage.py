"""A table's own files, opened as its catalog says: with the catalog's properties and the credentials that it vends.

Where neither says anything of a storage, the environment does, as everywhere else.
"""

from collections.abc import Callable, Mapping

from pyarrow.fs import FileSystem
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.typedef import Properties

from bot.adapters.opening import opened
from bot.domain.ids import TableName

Opened = Callable[[str], tuple[FileSystem, str]]
"""A path as people, Flink and Iceberg write it -> the filesystem, and the path in it. Raises what pyarrow raises."""
_OURS = {"s3": "s3.", "s3a": "s3.", "s3n": "s3.", "gs": "gcs.", "gcs": "gcs.", "abfs": "adls.", "abfss": "adls."}
"""Scheme -> how PyIceberg's properties of that storage begin."""
_SHARED = "client."


class TableStorage:
    """What the catalog said when each table was loaded last: vended credentials live for an hour or so."""

    def __init__(self, properties: Mapping[str, str]) -> None:
        """`properties` of the catalog; they hold for a table that was not loaded yet."""
        self._properties = dict(properties)
        self._told: dict[TableName, Properties] = {}

    def learn(self, table: TableName, properties: Properties) -> None:
        """What the catalog answered for this table, its own properties included."""
        self._told[table] = dict(properties)

    def of(self, table: TableName) -> Opened:
        """Opens files of this table."""
        return lambda path: opened_with(self._told.get(table, self._properties), path)


def opened_with(properties: Properties, path: str) -> tuple[FileSystem, str]:
    """Raises what pyarrow raises: OSError, ArrowInvalid, ValueError."""
    begins = _OURS.get(path.partition(":")[0])
    if begins is None or not any(key.startswith((begins, _SHARED)) for key in properties):
        return opened(path)
    scheme, host, inside = PyArrowFileIO.parse_location(path)
    files: FileSystem = PyArrowFileIO(properties).fs_by_scheme(scheme, host)
    return files, inside
