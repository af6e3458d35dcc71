"""Tables of a million file entries: metadata as Flink and merges leave it, built in seconds.

Manifests, manifest lists and the metadata file are valid and complete; of the data files only the window's are there,
all the same. One entry is encoded by PyIceberg and repeated with other numbers in the same places: encoding each would
take minutes.
Built once for each size, kept under the user's cache folder.
"""

import os
import shutil
import struct
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path

from pyiceberg.avro.codecs.deflate import DeflateCodec
from pyiceberg.avro.encoder import BinaryEncoder
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.avro.resolver import resolve_writer
from pyiceberg.io.pyarrow import PyArrowFileIO
from pyiceberg.manifest import (
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    data_file_with_partition,
    manifest_entry_schema_with_data_file,
    write_manifest_list,
)
from pyiceberg.schema import Schema
from pyiceberg.typedef import Record
from pyiceberg.types import StructType

from tests.bench.entries_commits import PER_COMMIT, WINDOW, Told, empty_table, told_commits, write_metadata, write_rows

PER_MANIFEST = 1_000
"""Entries of a manifest below the window: what merging a hundred Flink commits leaves."""
ROWS_PER_FILE = 10_000
_BUILT = "built-with-files"
_BELOW_BYTES = 12_345_678
"""Size that entries below the window tell; no such file is there."""
_WRITER = "23ffc85e-5a5f-4f4c-9b43-6a1f2b0c7d11"
_MARK, _LOW, _HIGH = b"@" * 12, b"LOWBOUND", b"HIGHBND."
_SHAPE = manifest_entry_schema_with_data_file(2, data_file_with_partition(StructType(), 2))
_ENCODE = resolve_writer(_SHAPE, _SHAPE)


@dataclass(frozen=True)
class Size:
    """How large a table is built."""

    entries: int
    """File entries that are live at the head, those of the window included."""
    snapshots: int

    @property
    def name(self) -> str:
        """As a folder and as a line of the answer."""
        return f"{self.entries}-entries-{self.snapshots}-snapshots"


def cache() -> Path:
    """Where what is expensive to build is kept."""
    return Path(os.environ.get("XDG_CACHE_HOME", "~/.cache")).expanduser() / "waterline" / "bench"


def entries_table(size: Size) -> Path:
    """The folder of a catalog (`catalog.db`) with `sales.orders` of that size; built if it is not there."""
    home = cache() / size.name
    if (home / _BUILT).exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    table = empty_table(home)
    folder = table.location()
    commits = told_commits(size.snapshots)
    old, new = commits[:-WINDOW], commits[-WINDOW:]
    base = size.entries - WINDOW * PER_COMMIT
    names = iter(range(size.entries))
    manifests = []
    for first in range(0, base, PER_MANIFEST):
        many = min(PER_MANIFEST, base - first)
        by = old[(first + many) * len(old) // base - 1]
        files = [next(names) for _ in range(many)]
        manifests.append(_manifest(folder, table.schema(), by, files, by.sequence, _BELOW_BYTES))
    a_file = write_rows(table, ROWS_PER_FILE)
    below = _list(folder, old[-1], manifests, "below")
    lists = {commit.snapshot_id: _linked(below, commit) for commit in old}
    written: list[list[int]] = []
    for place, commit in enumerate(new):
        again = written[place - 5][:1] if commit.is_replay else []
        fresh = [next(names) for _ in range(PER_COMMIT - len(again))]
        for number in fresh:
            os.link(a_file, a_file.with_name(_name(number)))
        written.append(fresh + again)
        size_bytes = a_file.stat().st_size
        manifests.insert(0, _manifest(folder, table.schema(), commit, written[-1], None, size_bytes))
        lists[commit.snapshot_id] = _list(folder, commit, manifests, str(commit.sequence))
    write_metadata(home, table, commits, lists)
    (home / _BUILT).touch()
    return home


def _manifest(
    folder: str, schema: Schema, by: Told, files: list[int], sequence: int | None, size_bytes: int
) -> ManifestFile:
    """Entries that `by` added, of files of this size; `sequence` None: inherited, as the newest commit writes it."""
    path = f"{folder}/metadata/{by.snapshot_id}-{files[0]}-m0.avro"
    out = AvroOutputFile[ManifestEntry](
        output_file=PyArrowFileIO().new_output(path),
        file_schema=_SHAPE,
        schema_name="manifest_entry",
        record_schema=_SHAPE,
        metadata={
            "schema": schema.model_dump_json(),
            "partition-spec": "[]",
            "partition-spec-id": "0",
            "format-version": "2",
            "content": "data",
            "avro.codec": "deflate",
        },
    )
    content, length = DeflateCodec.compress(b"".join(_repeated(_entry(folder, by, sequence, size_bytes), files)))
    with out:
        out.encoder.write_int(len(files))
        out.encoder.write_int(length)
        out.encoder.write(content)
        out.encoder.write(out.sync_bytes)
    return ManifestFile.from_args(
        manifest_path=path,
        manifest_length=Path(path.removeprefix("file://")).stat().st_size,
        partition_spec_id=0,
        content=ManifestContent.DATA,
        sequence_number=by.sequence,
        min_sequence_number=by.sequence,
        added_snapshot_id=by.snapshot_id,
        added_files_count=len(files),
        existing_files_count=0,
        deleted_files_count=0,
        added_rows_count=len(files) * ROWS_PER_FILE,
        existing_rows_count=0,
        deleted_rows_count=0,
        partitions=[],
        key_metadata=None,
    )


def _entry(folder: str, by: Told, sequence: int | None, size_bytes: int) -> bytes:
    """One entry with marks where the file's number and its bounds go."""
    fields = range(1, 6)
    counts = dict.fromkeys(fields, ROWS_PER_FILE)
    file = DataFile.from_args(
        content=DataFileContent.DATA,
        file_path=f"{folder}/data/{_MARK.decode()}",
        file_format=FileFormat.PARQUET,
        partition=Record(),
        record_count=ROWS_PER_FILE,
        file_size_in_bytes=size_bytes,
        column_sizes=dict.fromkeys(fields, 2_469_135),
        value_counts=counts,
        null_value_counts=dict.fromkeys(fields, 0),
        nan_value_counts={},
        lower_bounds={1: _LOW, 2: struct.pack("<i", 0), 3: _LOW, 4: _LOW, 5: b"customer-1"},
        upper_bounds={1: _HIGH, 2: struct.pack("<i", 0), 3: _HIGH, 4: _HIGH, 5: b"customer-9"},
        key_metadata=None,
        split_offsets=[4],
        equality_ids=None,
        sort_order_id=0,
        spec_id=0,
    )
    entry = ManifestEntry.from_args(
        status=ManifestEntryStatus.ADDED,
        snapshot_id=by.snapshot_id,
        sequence_number=sequence,
        file_sequence_number=sequence,
        data_file=file,
    )
    encoded = BytesIO()
    _ENCODE.write(BinaryEncoder(encoded), entry)
    length = len(_name(0)) - len(_MARK)
    return _longer_path(encoded.getvalue(), f"{folder}/data/".encode(), length)


def _longer_path(entry: bytes, folder: bytes, by: int) -> bytes:
    """The same with a path that says to be `by` bytes longer than its mark: the name takes the mark's place."""
    before, after = entry.split(folder + _MARK)
    short, long = BytesIO(), BytesIO()
    BinaryEncoder(short).write_int(len(folder) + len(_MARK))
    BinaryEncoder(long).write_int(len(folder) + len(_MARK) + by)
    return before.removesuffix(short.getvalue()) + long.getvalue() + folder + _MARK + after


def _repeated(entry: bytes, files: Iterable[int]) -> Iterator[bytes]:
    """The entry for each of these files: its name, and bounds of its own range."""
    before, after = entry.split(_MARK)
    for number in files:
        low = struct.pack("<q", number * ROWS_PER_FILE)
        high = struct.pack("<q", (number + 1) * ROWS_PER_FILE - 1)
        yield before + _name(number).encode() + after.replace(_LOW, low).replace(_HIGH, high)


def _name(number: int) -> str:
    """Of the file, as a Flink subtask names it."""
    return f"{number % 2:05d}-0-{_WRITER}-{number:08d}.parquet"


def _linked(below: str, commit: Told) -> str:
    """An older commit's manifest list: a name of its own for what the last commit below the window names."""
    path = f"{below.rpartition('/')[0]}/snap-{commit.snapshot_id}-1-{commit.sequence}.avro"
    os.link(below.removeprefix("file://"), path.removeprefix("file://"))
    return path


def _list(folder: str, commit: Told, manifests: list[ManifestFile], name: str) -> str:
    path = f"{folder}/metadata/snap-{commit.snapshot_id}-1-{name}.avro"
    output = PyArrowFileIO().new_output(path)
    with write_manifest_list(2, output, commit.snapshot_id, commit.parent_id, commit.sequence, "gzip") as writer:
        writer.add_manifests(manifests)
    return path
