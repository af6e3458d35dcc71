"""Manifests and their entries as the table's format has them; PyIceberg (0.12) reads those of format 3 as of format 2.

Format 3 gives every row an id. A data file knows the id of its first row from its entry, or, until a manifest is
written anew, from its place in the manifest: the manifest's own first id, and the rows of the files before it.
"""

from pyiceberg.avro.file import AvroFile
from pyiceberg.io import FileIO, InputFile
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
    PartitionFieldSummary,
    _inherit_from_manifest,
)
from pyiceberg.typedef import TableVersion

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


def entries_of(
    manifest: ManifestFile, io: FileIO, format_version: int, *, discard_deleted: bool = True
) -> list[ManifestEntry]:
    """Its entries, in order, with what they inherit. Raises what PyIceberg raises where it cannot be read."""
    with AvroFile[ManifestEntry](
        io.new_input(manifest.manifest_path),
        MANIFEST_ENTRY_SCHEMAS[as_read(format_version)],
        read_types={-1: ManifestEntry, 2: DataFile},
        read_enums={0: ManifestEntryStatus, 101: FileFormat, 134: DataFileContent},
    ) as reader:
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
