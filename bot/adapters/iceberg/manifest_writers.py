"""Writers of manifests and their lists that PyIceberg (0.12) has not: of delete files, and of format 3."""

from typing import cast

from pyiceberg.avro.codecs import AvroCompressionCodec
from pyiceberg.avro.file import AvroOutputFile
from pyiceberg.io import OutputFile
from pyiceberg.manifest import (
    MANIFEST_LIST_FILE_SCHEMAS,
    ManifestContent,
    ManifestEntry,
    ManifestFile,
    ManifestListWriter,
    ManifestListWriterV2,
    ManifestWriter,
    ManifestWriterV2,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.table.metadata import TableMetadata, TableMetadataV3
from pyiceberg.typedef import TableVersion

from bot.adapters.iceberg.manifest_entries import LIST_FIRST_ROW_ID, row_ids_begin

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
