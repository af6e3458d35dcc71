"""One atomic commit that deletes rows by file and place, on whatever branch: position deletes, as the format has them.

No data file is written anew, and so no row gets a new sequence number: a row that is deleted by key elsewhere stays
deleted. One delete file for each data file, with bounds that name it, so that readers open it for that file alone.
"""

from collections import Counter
from collections.abc import Iterable
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table

from bot.adapters.iceberg.file_changes import FileCommit
from bot.domain.errors import CommitRefused
from bot.domain.file_changes import RowsOfFile
from bot.domain.ids import TableName
from bot.ports import FileChange, RowChange

_PATH, _PLACE = 2147483546, 2147483545
"""Field ids that the format reserves for the columns of a position delete file."""
_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(_PATH)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(_PLACE)}),
    ]
)


class RowCommit(FileCommit):
    """Writes the delete files and their manifests; all else is as of a change of files."""

    def __init__(self, name: TableName, table: Table, change: RowChange) -> None:
        """Raises CommitRefused where a file is not live exactly once on the branch, or has fewer rows."""
        same = dict(change)
        rows: tuple[RowsOfFile, ...] = same.pop("rows")
        super().__init__(name, table, FileChange(**same, add=None, remove=None))
        if self._metadata.format_version != 2:
            raise CommitRefused(
                f"Table {name} was not changed: rows cannot be deleted by their places.",
                f"Expected a table of format 2; it is of format {self._metadata.format_version}.",
                "Rewind table and job instead, or delete the rows with the engine that writes the table.",
            )
        targets = self._targets(name, rows)
        self._brought = [self._written_for(targets[each.path], each) for each in rows]

    def _targets(self, name: TableName, rows: Iterable[RowsOfFile]) -> dict[str, DataFile]:
        wanted = {each.path: each.spans[-1][1] for each in rows}
        live = self._files.live_among(wanted)
        times = Counter(found.path for found in live)
        files = {found.path: found.entry.data_file for found in live}
        unfit = [path for path in wanted if times[path] != 1 or files[path].record_count <= wanted[path]]
        if unfit:
            raise CommitRefused(
                f"Table {name} was not changed: files whose rows are to be deleted are not as they were.",
                f"Expected each of {len(wanted)} files to be live once, and whole; {len(unfit)} are not, the first is "
                f"{unfit[0]}. A compaction or a delete has taken them, or the table names them twice.",
                "Collect the evidence on extra copies again and propose anew.",
            )
        return files

    def _written_for(self, data: DataFile, rows: RowsOfFile) -> DataFile:
        places = list(chain.from_iterable(range(first, last + 1) for first, last in rows.spans))
        content = pa.table([pa.array([rows.path] * len(places), pa.string()), places], schema=_SCHEMA)
        name = f"waterline-{self._uuid}-{len(self._written):05}-deletes.parquet"
        path = self._table.location_provider().new_data_location(name)
        self._written.append(path)
        output = self._io.new_output(path)
        with output.create() as stream:
            pq.write_table(content, stream, compression="zstd")
        of_file = rows.path.encode()
        made = DataFile.from_args(
            content=DataFileContent.POSITION_DELETES,
            file_path=path,
            file_format=FileFormat.PARQUET,
            partition=data.partition,
            record_count=len(places),
            file_size_in_bytes=len(output),
            lower_bounds={_PATH: of_file, _PLACE: _long(places[0])},
            upper_bounds={_PATH: of_file, _PLACE: _long(places[-1])},
        )
        made.spec_id = data.spec_id
        return made


def _long(value: int) -> bytes:
    """As the format stores a bound of a long."""
    return value.to_bytes(8, "little", signed=True)
