"""Files of a table: Flink's temporary manifests, and under which columns a job wrote.

Flink's manifests carry schema and partition spec in their Avro header; Iceberg's Parquet files carry their writer's
`iceberg.schema` in the footer, and at least the field ids where another library wrote them. Rows are never read.
"""

import json
import re
import struct
import zlib
from datetime import UTC
from itertools import islice
from typing import Literal

import pyarrow.parquet as pq
from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType
from pyiceberg.avro.file import AvroFile
from pyiceberg.exceptions import ResolveError
from pyiceberg.io import InputFile
from pyiceberg.io.pyarrow import PyArrowFile, pyarrow_to_schema
from pyiceberg.manifest import (
    DEFAULT_READ_VERSION,
    DataFile,
    DataFileContent,
    FileFormat,
    ManifestContent,
    ManifestEntry,
    ManifestEntryStatus,
)
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from bot.adapters.iceberg.format_v3 import manifest_in, manifests_of
from bot.adapters.iceberg.streaming_metadata import columns_of, fields_of
from bot.adapters.storage import Opened, TableStorage, address, in_a_line
from bot.observation.errors import CouldNotLook
from bot.observation.flink import FlinkManifest, folder_of_manifests
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName
from bot.observation.table import Snapshot, TableState
from bot.observation.written import LOOK_YOURSELF, WriterSource, WrittenSchema

_ENTRIES_READ = 2_000
_FOOTER_KEY = b"iceberg.schema"
TROUBLE = (
    OSError, ArrowException, ValueError, KeyError, IndexError, TypeError, AttributeError, AssertionError, EOFError,
    OverflowError, MemoryError, SystemError, struct.error, zlib.error, ResolveError,
)  # fmt: skip
"""What pyarrow raises, and PyIceberg where an Avro file is cut off or is none."""


def _written(source: WriterSource, opened: Opened) -> WrittenSchema:
    """By the first of the source's files that tells it. Raises one of TROUBLE; FileNotFoundError where all are gone.

    Cost: a pending manifest, or one manifest list and one manifest; and the footer of one data file.
    """
    if source.commit is not None:
        return _of_commit(source, source.commit, opened)
    trouble: Exception = FileNotFoundError("no manifest that the state names is there")
    for path in source.pending:
        try:
            return _of_manifest(source, path, opened)
        except TROUBLE as error:
            trouble = error
    raise trouble


def _of_manifest(source: WriterSource, path: str, opened: Opened) -> WrittenSchema:
    with manifest_in(_file_at(path, opened), DEFAULT_READ_VERSION) as manifest:
        head = manifest.header.meta
        spec_id = int(head["partition-spec-id"])
        spec = PartitionSpec.model_validate({"spec-id": spec_id, "fields": json.loads(head["partition-spec"])})
        try:
            file = _added_in(manifest)
            if file is not None:
                return _schema_told(source, "pending-files", path, _schema_in(file, opened), spec_id, spec)
        except TROUBLE:
            pass  # its own word is next best, and says of itself what it is
        return _schema_told(source, "pending-manifest", path, head["schema"], spec_id, spec)


def _of_commit(source: WriterSource, commit: Snapshot, opened: Opened) -> WrittenSchema:
    for listed in manifests_of(_file_at(commit.manifest_list, opened), DEFAULT_READ_VERSION):
        is_own = listed.added_snapshot_id == commit.snapshot_id and listed.content == ManifestContent.DATA
        if not is_own or listed.added_files_count == 0:
            continue
        with manifest_in(_file_at(listed.manifest_path, opened), DEFAULT_READ_VERSION) as manifest:
            file = _added_in(manifest)
        if file is not None:
            schema = _schema_in(file, opened)
            return _schema_told(source, "committed-files", listed.manifest_path, schema, listed.partition_spec_id)
    raise ValueError(f"the manifests of {commit.snapshot_id} name no data file that it added")


def _file_at(path: str, opened: Opened) -> InputFile:
    files, bare = opened(path)
    return PyArrowFile(path, bare, files)


def _added_in(manifest: AvroFile[ManifestEntry]) -> DataFile | None:
    """The first data file that it adds, among its first entries."""
    for entry in islice(manifest, _ENTRIES_READ):
        if entry.status is ManifestEntryStatus.ADDED and entry.data_file.content is DataFileContent.DATA:
            return entry.data_file
    return None


def _schema_in(file: DataFile, opened: Opened) -> str:
    """In Iceberg's own JSON, by the footer."""
    if file.file_format is not FileFormat.PARQUET:
        raise ValueError(f"a file in {file.file_format.value} does not tell its writer's schema")
    files, bare = opened(file.file_path)
    with files.open_input_file(bare) as stream:
        footer = pq.ParquetFile(stream)
        told = (footer.metadata.metadata or {}).get(_FOOTER_KEY)
        if told is not None:
            return str(told.decode())
        schema = pyarrow_to_schema(footer.schema_arrow)
        return schema.model_dump_json(exclude={"schema_id"})


def _schema_told(
    source: WriterSource,
    told_by: Literal["pending-manifest", "pending-files", "committed-files"],
    path: str,
    table_schema: str,
    spec_id: int,
    spec: PartitionSpec | None = None,
) -> WrittenSchema:
    """`path`: the manifest that was read, or that names the data file: the path of a data file may hold values of rows.
    `spec` None: only its id is told. Raises ValueError for a schema that cannot be understood."""
    schema = Schema.model_validate_json(table_schema)
    return WrittenSchema(
        job_id=source.job_id,
        checkpoint_id=source.checkpoint_id,
        restore_point=source.restore_point,
        told_by=told_by,
        path=path,
        schema_id=json.loads(table_schema).get("schema-id"),
        columns=columns_of(schema),
        spec_id=spec_id,
        partitioning=fields_of(spec, schema) if spec is not None else None,
    )


_NAME = re.compile(
    r"(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-(?P<subtask>\d{5})-(?P<attempt>\d+)-(?P<checkpoint>\d+)"
    r"-(?P<number>\d{5})(?:-[0-9a-f-]{36})?\.avro"
)
"""`ManifestOutputFileFactory`; the dynamic sink adds a uuid."""


class FolderOfTable:
    def __init__(self, storage: TableStorage | None = None) -> None:
        """`storage` knows what the catalog says of it; None: the environment does."""
        self._storage = storage or TableStorage({})
        self._told: dict[tuple[TableName, SnapshotId], WrittenSchema] = {}

    def flink_manifests(self, table: TableState) -> tuple[FlinkManifest, ...]:
        folder = folder_of_manifests(table)
        try:
            files, path = self._storage.of(table.name)(folder)
            listed = files.get_file_info(FileSelector(path))
        except (OSError, ArrowException, ValueError) as error:
            raise CouldNotLook(
                f"The Flink manifests of {table.name} could not be listed.",
                f"Expected a folder {folder}; found {in_a_line(error)}.",
                "Check that the table's storage is readable from here.",
            ) from error
        found = (_manifest(files, info) for info in listed if info.type is FileType.File)
        return tuple(
            sorted(
                (each for each in found if each is not None),
                key=lambda each: (each.job_id, each.checkpoint_id, each.path),
            )
        )

    def written_under(self, table: TableState, source: WriterSource) -> WrittenSchema:
        """See the port. What a commit's files say is read once."""
        key = (table.name, source.commit.snapshot_id) if source.commit is not None else None
        try:
            known = self._told.get(key) if key is not None else None
            written = known or _written(source, self._storage.of(table.name))
        except TROUBLE as error:
            raise CouldNotLook(
                f"No file of checkpoint {source.checkpoint_id} shows with which columns the job wrote it.",
                f"Expected the schema in a manifest or a file's footer; found {in_a_line(error)}.",
                LOOK_YOURSELF,
            ) from error
        if key is not None:
            self._told = {each: kept for each, kept in self._told.items() if each[0] != table.name} | {key: written}
        return written.model_copy(update={"restore_point": source.restore_point})


def _manifest(files: FileSystem, info: FileInfo) -> FlinkManifest | None:
    """What a file's name tells; None for a name that is no temporary manifest's."""
    name = _NAME.fullmatch(info.base_name)
    if name is None:
        return None
    return FlinkManifest(
        path=address(files, info.path),
        job_id=JobId(name["job"]),
        operator_id=OperatorId(name["operator"]),
        subtask=int(name["subtask"]),
        attempt=int(name["attempt"]),
        checkpoint_id=CheckpointId(int(name["checkpoint"])),
        number=int(name["number"]),
        bytes=info.size,
        written_at=info.mtime.astimezone(UTC) if info.mtime is not None else None,
    )
