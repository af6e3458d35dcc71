"""Manifests, deletion vectors and metadata of format 3, which PyIceberg (0.12) does not write: to go once it does.

Format 3 gives every row an id. A data file knows the id of its first row from its entry, or, until a manifest is
written anew, from its place in the manifest: the manifest's own first id, and the rows of the files before it.

A deletion vector says which rows of one data file are deleted. All vectors of a commit stand in one Puffin file, each a
blob of its own (Iceberg's specification, Puffin: `deletion-vector-v1`).

A catalog that only points to a table's metadata (SQL, Hive, Glue) has its client write the next file. What the library
does not know of the format would be lost if it wrote down what it has read: so the file before is taken as it is, and
only that is put in which the commit changes.
"""

import json
import zlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import groupby
from typing import Any, cast

from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.avro.file import AvroFile, AvroOutputFile
from pyiceberg.catalog import Catalog, MetastoreCatalog
from pyiceberg.io import FileIO, InputFile, OutputFile
from pyiceberg.manifest import (
    DATA_FILE_TYPE,
    DEFAULT_READ_VERSION,
    MANIFEST_ENTRY_SCHEMAS,
    MANIFEST_LIST_FILE_SCHEMAS,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
    ManifestFile,
    ManifestListWriter,
    ManifestListWriterV2,
    ManifestWriter,
    ManifestWriterV2,
    PartitionFieldSummary,
    _inherit_from_manifest,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import Compressor
from pyiceberg.table.deletion_vector import DeletionVector
from pyiceberg.table.metadata import TableMetadata, TableMetadataUtil, TableMetadataV3
from pyiceberg.table.puffin import MAGIC_BYTES
from pyiceberg.typedef import IcebergBaseModel, TableVersion
from pyroaring import BitMap

_NAMES = [field.name for field in DATA_FILE_TYPE[3].fields]
FIRST_ROW_ID, REFERENCED = _NAMES.index("first_row_id"), _NAMES.index("referenced_data_file")
CONTENT_OFFSET, CONTENT_SIZE = _NAMES.index("content_offset"), _NAMES.index("content_size_in_bytes")
"""Places in a data file of format 3."""
LIST_FIRST_ROW_ID = [field.name for field in MANIFEST_LIST_FILE_SCHEMAS[3].fields].index("first_row_id")


def as_read(format_version: int) -> TableVersion:
    """The format in whose words manifests are read: format 1 is told in those of format 2."""
    return 3 if format_version >= 3 else DEFAULT_READ_VERSION


def manifests_of(listing: InputFile, format_version: int) -> list[ManifestFile]:
    """What a manifest list names. Raises what PyIceberg raises where it cannot be read."""
    with AvroFile[ManifestFile](
        listing,
        MANIFEST_LIST_FILE_SCHEMAS[as_read(format_version)],
        read_types={-1: ManifestFile, 508: PartitionFieldSummary},
        read_enums={517: ManifestContent},
    ) as reader:
        return list(reader)


def manifest_in(file: InputFile, format_version: int) -> AvroFile[ManifestEntry]:
    """To be entered: it then gives the header and the entries as they are written, one after the other."""
    return AvroFile[ManifestEntry](
        file,
        MANIFEST_ENTRY_SCHEMAS[as_read(format_version)],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    )


def entries_of(
    manifest: ManifestFile, io: FileIO, format_version: int, *, discard_deleted: bool = True
) -> list[ManifestEntry]:
    """Its entries, in order, with what they inherit. Raises what PyIceberg raises where it cannot be read."""
    with manifest_in(io.new_input(manifest.manifest_path), format_version) as reader:
        found = [_inherit_from_manifest(entry, manifest) for entry in reader]
    if as_read(format_version) == 3:
        _give_row_ids(found, manifest)
    return [e for e in found if not discard_deleted or e.status != ManifestEntryStatus.DELETED]


def row_ids_begin(manifest: ManifestFile) -> int | None:
    """The first id that the manifest list gives the manifest's rows; None for deletes, and from before format 3."""
    return manifest[LIST_FIRST_ROW_ID] if len(manifest) > LIST_FIRST_ROW_ID else None


def as_new(file: DataFile) -> DataFile:
    """The file as a commit adds it, whoever named it before: its rows get their ids by that commit."""
    if len(file) <= FIRST_ROW_ID:
        return file
    fields = [None if place == FIRST_ROW_ID else file[place] for place in range(len(file))]
    added = DataFile(*fields)
    added.spec_id = file.spec_id
    return added


def _give_row_ids(entries: list[ManifestEntry], manifest: ManifestFile) -> None:
    """In place. Iceberg's Java does the same: only live files count, and only those that know no id themselves."""
    following = row_ids_begin(manifest)
    for entry in entries:
        file = entry.data_file
        if entry.status == ManifestEntryStatus.DELETED or file.content is not DataFileContent.DATA:
            continue
        if file[FIRST_ROW_ID] is None and following is not None:
            file[FIRST_ROW_ID] = following
            following += file.record_count


_COMPRESSION: AvroCompressionCodec = "deflate"
"""What every reader of Avro knows."""
_IDS = '"element-id":136,"element":"{}"'
"""The element of `equality_ids` in the schema of an entry."""


class _Format3(ManifestWriterV2):
    @property
    def version(self) -> TableVersion:
        return 3

    def new_writer(self) -> AvroOutputFile[ManifestEntry]:
        """PyIceberg's own takes every entry for one of format 2."""
        schema = self._with_partition(3)
        return AvroOutputFile[ManifestEntry](
            output_file=self._output_file,
            file_schema=schema,
            record_schema=schema,
            schema_name="manifest_entry",
            metadata=self._meta,
        )


class _OfDeletes(ManifestWriterV2):
    """The format has ids of fields as int; PyIceberg would write long, which Java's readers refuse."""

    def content(self) -> ManifestContent:
        return ManifestContent.DELETES

    @property
    def _meta(self) -> dict[str, str]:
        return {**super()._meta, "content": "deletes"}

    def _with_partition(self, format_version: TableVersion) -> Schema:
        written = super()._with_partition(format_version).model_dump_json()
        return Schema.model_validate_json(written.replace(_IDS.format("long"), _IDS.format("int")))


class _OfDeletes3(_OfDeletes, _Format3):
    pass


class _Listing3(ManifestListWriterV2):
    """Gives ids to the rows of manifests that have none yet, as Iceberg's Java does: room for every row of theirs."""

    def __init__(self, output: OutputFile, snapshot_id: int, parent_id: int, number: int, next_row_id: int) -> None:
        super().__init__(output, snapshot_id, parent_id, number, _COMPRESSION)
        self._format_version = 3
        self._meta |= {"format-version": "3", "first-row-id": str(next_row_id)}
        self.next_row_id = next_row_id

    def __enter__(self) -> ManifestListWriter:
        """PyIceberg's own takes every manifest for one of format 2."""
        schema = MANIFEST_LIST_FILE_SCHEMAS[3]
        self._writer = AvroOutputFile[ManifestFile](
            output_file=self._output_file,
            record_schema=schema,
            file_schema=schema,
            schema_name="manifest_file",
            metadata=self._meta,
        )
        self._writer.__enter__()
        return self

    def prepare_manifest(self, manifest_file: ManifestFile) -> ManifestFile:
        """See PyIceberg; the record that is written has one field more."""
        listed = super().prepare_manifest(manifest_file)
        begin = row_ids_begin(manifest_file)
        if begin is None and listed.content is ManifestContent.DATA:
            begin = self.next_row_id
            self.next_row_id += (listed.existing_rows_count or 0) + (listed.added_rows_count or 0)
        fields = [listed[place] for place in range(LIST_FIRST_ROW_ID)]
        return ManifestFile(*fields, begin)


def manifest_writer(
    metadata: TableMetadata, spec: PartitionSpec, schema: Schema, output: OutputFile, snapshot_id: int, *, deletes: bool
) -> ManifestWriter:
    """Of data files, or of delete files: a manifest holds one of both. The table is of format 2 or 3."""
    kinds = {(2, False): ManifestWriterV2, (2, True): _OfDeletes, (3, False): _Format3, (3, True): _OfDeletes3}
    return kinds[metadata.format_version, deletes](spec, schema, output, snapshot_id, _COMPRESSION)


def write_listing(
    metadata: TableMetadata, output: OutputFile, snapshot_id: int, parent_id: int, manifests: list[ManifestFile]
) -> dict[str, int]:
    """Writes the list of a snapshot's manifests. What the snapshot has to say of ids of rows, in format 3."""
    number = metadata.next_sequence_number()
    if metadata.format_version < 3:
        with ManifestListWriterV2(output, snapshot_id, parent_id, number, _COMPRESSION) as listing:
            listing.add_manifests(manifests)
        return {}
    assert isinstance(metadata, TableMetadataV3)
    assert metadata.next_row_id is not None, "the format requires it"
    first = metadata.next_row_id
    with _Listing3(output, snapshot_id, parent_id, number, first) as listing:
        listing.add_manifests(manifests)
    return {"first_row_id": first, "added_rows": cast("_Listing3", listing).next_row_id - first}


_KIND, _MAGIC = "deletion-vector-v1", bytes.fromhex("d1d33964")
_ROW_POSITION = 2147483645
"""The field id that the format reserves for the place of a row."""
_NOT_COMPRESSED = bytes(4)
_SHIFT = 32
"""A 64-bit vector is a list of 32-bit ones, each under the upper half of its places."""
Blob = tuple[int, int]
"""Where a vector begins in its file, and how long it is, in bytes."""


def puffin_of(vectors: Mapping[str, Sequence[int]]) -> tuple[bytes, dict[str, Blob]]:
    """The file that holds them, and where each of them stands. `vectors`: path of a data file -> places, ascending."""
    content, found, told = bytearray(MAGIC_BYTES), {}, []
    for path, places in vectors.items():
        blob = vector_of(places)
        found[path] = (len(content), len(blob))
        told.append(
            {
                "type": _KIND,
                "fields": [_ROW_POSITION],
                "snapshot-id": -1,  # both follow from the commit that names the vector
                "sequence-number": -1,
                "offset": len(content),
                "length": len(blob),
                "properties": {"referenced-data-file": path, "cardinality": str(len(places))},
            }
        )
        content += blob
    footer = json.dumps({"blobs": told, "properties": {"created-by": "Waterline"}}).encode()
    length = len(footer).to_bytes(4, "little")
    return bytes(content + MAGIC_BYTES + footer + length + _NOT_COMPRESSED + MAGIC_BYTES), found


def vector_of(places: Iterable[int]) -> bytes:
    """One blob: length, magic, the places as portable roaring bitmaps, and a checksum. `places` ascend."""
    parts = [(key, list(group)) for key, group in groupby(places, lambda place: place >> _SHIFT)]
    bitmaps = bytearray(len(parts).to_bytes(8, "little"))
    for key, group in parts:
        bitmap = BitMap(place & 0xFFFF_FFFF for place in group)
        bitmap.run_optimize()
        bitmaps += key.to_bytes(4, "little") + bitmap.serialize()
    body = _MAGIC + bytes(bitmaps)
    return len(body).to_bytes(4, "big") + body + zlib.crc32(body).to_bytes(4, "big")


def places_in(blob: bytes) -> list[int]:
    """What `vector_of` was made of. Raises ValueError where the blob is not whole."""
    length, body, checksum = int.from_bytes(blob[:4], "big"), blob[4:-4], int.from_bytes(blob[-4:], "big")
    if len(body) != length or body[: len(_MAGIC)] != _MAGIC or zlib.crc32(body) != checksum:
        raise ValueError("the deletion vector is not whole")
    bitmaps = DeletionVector._deserialize_bitmap(body[len(_MAGIC) :])
    return [(key << _SHIFT) + place for key, bitmap in enumerate(bitmaps) for place in bitmap]


_WRITERS = {"_write_metadata": False, "_write_metadata_no_exist_check": True}
"""Methods by which PyIceberg's catalogs write it -> whether over a file that is there, as AWS's S3 tables want it."""
_LISTED = {"snapshots": "snapshot-id", "schemas": "schema-id", "partition-specs": "spec-id", "sort-orders": "order-id"}
"""What holds parts that never change once they are there -> what tells them apart."""
Json = dict[str, Any]


def writing_format_3(catalog: Catalog) -> Catalog:
    """The same catalog. Where the server itself writes metadata (REST), nothing has to be done."""
    if isinstance(catalog, MetastoreCatalog):
        for name, overwrites in _WRITERS.items():
            if (written := getattr(catalog, name, None)) is not None:
                setattr(catalog, name, partial(_write, written, overwrites))
    return catalog


def _write(others: Any, overwrites: bool, metadata: TableMetadata, io: FileIO, metadata_path: str) -> None:
    """In place of the catalog's own method, which `others` is: for the formats before."""
    if metadata.format_version < 3 or not metadata.metadata_log:
        others(metadata, io, metadata_path)
        return
    before = _read(io, metadata.metadata_log[-1].metadata_file)
    content = json.dumps(following(before, metadata), separators=(",", ":")).encode()
    with io.new_output(metadata_path).create(overwrite=overwrites) as stream:
        stream.write(Compressor.get_compressor(metadata_path).bytes_compressor()(content))


def following(before: str, after: TableMetadata) -> Json:
    """The file that comes after the file `before`: equal to it but for what PyIceberg has changed since it read it."""
    made, known, wanted = cast("Json", json.loads(before)), _dumped(TableMetadataUtil.parse_raw(before)), _dumped(after)
    for key in known.keys() | wanted.keys():
        if known.get(key) == wanted.get(key):
            continue
        if key not in wanted:
            made.pop(key, None)
        elif key in _LISTED:
            made[key] = _list_of(made.get(key, []), wanted[key], _LISTED[key])
        else:
            made[key] = wanted[key]
    return made


def _list_of(before: list[Json], after: list[Json], told_apart_by: str) -> list[Json]:
    there = {each[told_apart_by]: each for each in before}
    return [there.get(each[told_apart_by], each) for each in after]


def _dumped(metadata: TableMetadata) -> Json:
    """As PyIceberg would write it; its own refusal stands in the way of the class's method."""
    return cast("Json", json.loads(IcebergBaseModel.model_dump_json(metadata)))


def _read(io: FileIO, path: str) -> str:
    with io.new_input(path).open() as stream, Compressor.get_compressor(path).stream_decompressor(stream) as plain:
        return plain.read().decode()
