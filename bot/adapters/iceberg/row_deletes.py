"""One atomic commit that deletes rows by file and place, on whatever branch, in the way of the table's format.

Format 2: position deletes, one delete file for each data file, with bounds that name it, so that readers open it for
that file alone. Format 3: deletion vectors, one for each data file; one that is there already is taken up in the new.
No data file is written anew, and so no row gets a new sequence number: a row that is deleted by key elsewhere stays
deleted.
"""

from collections import Counter
from collections.abc import Iterable, Mapping
from itertools import chain

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.manifest import DataFile, DataFileContent, FileFormat
from pyiceberg.table import Table
from pyiceberg.table.update import TableRequirement, TableUpdate

from bot.adapters.iceberg.file_changes import FileCommit
from bot.adapters.iceberg.file_sources import PATH, PLACE, Live
from bot.adapters.iceberg.manifest_writers import CONTENT_OFFSET, CONTENT_SIZE, Blob, places_in, puffin_of
from bot.domain.errors import CommitRefused
from bot.domain.file_changes import RowsOfFile
from bot.domain.ids import TableName
from bot.domain.paths import plain
from bot.ports import FileChange, RowChange

_SCHEMA = pa.schema(
    [
        pa.field("file_path", pa.string(), nullable=False, metadata={"PARQUET:field_id": str(PATH)}),
        pa.field("pos", pa.int64(), nullable=False, metadata={"PARQUET:field_id": str(PLACE)}),
    ]
)
Targets = Mapping[str, DataFile]


class RowCommit(FileCommit):
    """Writes the deletes and their manifests; all else is as of a change of files."""

    def __init__(self, name: TableName, table: Table, change: RowChange) -> None:
        """Raises CommitRefused where a file is not live exactly once on the branch, or has fewer rows."""
        same = dict(change)
        rows: tuple[RowsOfFile, ...] = same.pop("rows")
        super().__init__(name, table, FileChange(**same, add=None, remove=None))
        self._targets = self._live_once(rows)
        self._places = {each.path: _places_of(each) for each in rows}

    def parts(self) -> tuple[tuple[TableRequirement, ...], tuple[TableUpdate, ...]]:
        """Writes the deletes first. Raises CommitRefused, before anything is written, where a reader would pass over
        deletes that are there."""
        if self._metadata.format_version >= 3:
            self._brought = self._vectors()
        else:
            self._brought = [self._written_for(self._targets[path], path, self._places[path]) for path in self._places]
        return super().parts()

    def _live_once(self, rows: Iterable[RowsOfFile]) -> Targets:
        wanted = {each.path: each.spans[-1][1] for each in rows}
        live = self._files.live_among(wanted)
        times = Counter(found.path for found in live)
        files = {found.path: found.entry.data_file for found in live}
        unfit = [path for path in wanted if times[path] != 1 or files[path].record_count <= wanted[path]]
        if unfit:
            raise CommitRefused(
                f"Table {self._name} was not changed: files whose rows are to be deleted are not as they were.",
                f"Expected each of {len(wanted)} files to be live once, and whole; {len(unfit)} are not, the first is "
                f"{unfit[0]}. A compaction or a delete has taken them, or the table names them twice.",
                "Collect the evidence on extra copies again and propose anew.",
            )
        return files

    def _written_for(self, data: DataFile, path: str, places: list[int]) -> DataFile:
        content = pa.table([pa.array([path] * len(places), pa.string()), places], schema=_SCHEMA)
        made = self._data_place("deletes.parquet")
        output = self._io.new_output(made)
        with output.create() as stream:
            pq.write_table(content, stream, compression="zstd")
        of_file = path.encode()
        return _in_partition_of(
            data,
            DataFile.from_args(
                content=DataFileContent.POSITION_DELETES,
                file_path=made,
                file_format=FileFormat.PARQUET,
                partition=data.partition,
                record_count=len(places),
                file_size_in_bytes=len(output),
                lower_bounds={PATH: of_file, PLACE: _long(places[0])},
                upper_bounds={PATH: of_file, PLACE: _long(places[-1])},
            ),
        )

    def _vectors(self) -> list[DataFile]:
        """Also says which vectors go, because a data file may have one only."""
        targets, places = self._targets, self._places
        self._going = self._files.vectors_of(targets)
        if any(each.is_position_delete_file for each in self._files.deletes()):
            raise CommitRefused(
                f"Table {self._name} was not changed: it still has delete files from before format 3.",
                "Expected deletion vectors only; where a data file has a vector, readers pass over such files.",
                "Rewrite them with the engine that writes the table (`rewrite_position_delete_files`), then propose "
                "again.",
            )
        before = {plain(str(each.of_file)): self._places_before(each) for each in self._going}
        whole = {path: sorted({*places[path], *before.get(plain(path), ())}) for path in places}
        content, blobs = puffin_of(whole)
        made = self._data_place("deletes.puffin")
        with self._io.new_output(made).create() as stream:
            stream.write(content)
        return [_vector(targets[path], made, len(content), blobs[path], path, len(whole[path])) for path in whole]

    def _places_before(self, live: Live) -> list[int]:
        """Raises ValueError where the vector is not whole."""
        file = live.entry.data_file
        with self._io.new_input(live.path).open() as stream:
            stream.seek(file[CONTENT_OFFSET])
            return places_in(stream.read(file[CONTENT_SIZE]))

    def _data_place(self, name: str) -> str:
        named = f"waterline-{self._uuid}-{len(self._written):05}-{name}"
        path = self._table.location_provider().new_data_location(named)
        self._written.append(path)
        return path


def _places_of(rows: RowsOfFile) -> list[int]:
    return list(chain.from_iterable(range(first, last + 1) for first, last in rows.spans))


def _vector(data: DataFile, puffin: str, size: int, blob: Blob, path: str, rows: int) -> DataFile:
    return _in_partition_of(
        data,
        DataFile.from_args(
            3,
            content=DataFileContent.POSITION_DELETES,
            file_path=puffin,
            file_format=FileFormat.PUFFIN,
            partition=data.partition,
            record_count=rows,
            file_size_in_bytes=size,
            referenced_data_file=path,
            content_offset=blob[0],
            content_size_in_bytes=blob[1],
        ),
    )


def _in_partition_of(data: DataFile, made: DataFile) -> DataFile:
    made.spec_id = data.spec_id
    return made


def _long(value: int) -> bytes:
    """As the format stores a bound of a long."""
    return value.to_bytes(8, "little", signed=True)
