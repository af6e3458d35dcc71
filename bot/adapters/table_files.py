"""Files of a table: Flink's temporary manifests, and under which columns a job wrote.

Flink's manifests carry schema and partition spec in their Avro header; Iceberg's Parquet files carry their writer's
`iceberg.schema` in the footer, and at least the field ids where another library wrote them. Rows are never read.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC
from typing import Literal

import pyarrow.parquet as pq
from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType
from pyiceberg.exceptions import ResolveError
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.manifest import DataFile, FileFormat, ManifestContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from bot.adapters.iceberg.streaming_metadata import columns_of, fields_of
from bot.adapters.storage import Opened, TableStorage, added_in, address, head_of, in_a_line, manifests_in
from bot.observation.errors import CouldNotLook
from bot.observation.flink import FlinkManifest, folder_of_manifests
from bot.observation.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName
from bot.observation.table import Snapshot, TableState
from bot.observation.written import LOOK_YOURSELF, WriterSource, WrittenSchema

_LARGEST_MANIFEST = 8 * 1024 * 1024
_ENTRIES_READ = 2_000
_FOOTER_KEY = b"iceberg.schema"
TROUBLE = (OSError, ArrowException, ValueError, KeyError, ResolveError)


@dataclass(frozen=True)
class _Told:
    """What one file said, in Iceberg's own JSON."""

    told_by: Literal["pending-manifest", "pending-files", "committed-files"]
    path: str
    """The manifest that was read, or that names the data file: the path of a data file may hold values of rows."""
    table_schema: str
    spec_id: int
    spec: str | None = None
    """Its fields; None where only its id is told."""

    def of(self, source: WriterSource) -> WrittenSchema:
        """The same in the domain's words. Raises ValueError for a schema that cannot be understood."""
        schema = Schema.model_validate_json(self.table_schema)
        partitioning = None
        if self.spec is not None:
            spec = PartitionSpec.model_validate({"spec-id": self.spec_id, "fields": json.loads(self.spec)})
            partitioning = fields_of(spec, schema)
        return WrittenSchema(
            job_id=source.job_id,
            checkpoint_id=source.checkpoint_id,
            restore_point=source.restore_point,
            told_by=self.told_by,
            path=self.path,
            schema_id=json.loads(self.table_schema).get("schema-id"),
            columns=columns_of(schema),
            spec_id=self.spec_id,
            partitioning=partitioning,
        )


def _told_at(source: WriterSource, opened: Opened) -> _Told:
    """The first of the source's files that tells it. Raises one of TROUBLE; FileNotFoundError where all are gone.

    Cost: a pending manifest, or one manifest list and one manifest; and the footer of one data file.
    """
    if source.commit is not None:
        return _of_commit(source.commit, opened)
    trouble: Exception = FileNotFoundError("no manifest that the state names is there")
    for path in source.pending:
        try:
            return _of_manifest(path, opened)
        except TROUBLE as error:
            trouble = error
    raise trouble


def _of_manifest(path: str, opened: Opened) -> _Told:
    content = _read(path, opened)
    head = head_of(content)
    spec_id, spec = int(head["partition-spec-id"]), head["partition-spec"]
    try:
        file = added_in(content, _ENTRIES_READ)
        if file is not None:
            return _Told("pending-files", path, _schema_in(file, opened), spec_id, spec)
    except TROUBLE:
        pass  # its own word is next best, and says of itself what it is
    return _Told("pending-manifest", path, head["schema"], spec_id, spec)


def _of_commit(commit: Snapshot, opened: Opened) -> _Told:
    for manifest in manifests_in(commit.manifest_list, _read(commit.manifest_list, opened)):
        is_own = manifest.added_snapshot_id == commit.snapshot_id and manifest.content == ManifestContent.DATA
        if not is_own or manifest.added_files_count == 0:
            continue
        file = added_in(_read(manifest.manifest_path, opened), _ENTRIES_READ)
        if file is not None:
            schema = _schema_in(file, opened)
            return _Told("committed-files", manifest.manifest_path, schema, manifest.partition_spec_id)
    raise ValueError(f"the manifests of {commit.snapshot_id} name no data file that it added")


def _schema_in(file: DataFile, opened: Opened) -> str:
    reading = _READING.get(file.file_format)
    if reading is None:
        raise ValueError(f"a file in {file.file_format.value} does not tell its writer's schema")
    return reading(file.file_path, opened)


def _in_footer(path: str, opened: Opened) -> str:
    files, bare = opened(path)
    with files.open_input_file(bare) as stream:
        footer = pq.ParquetFile(stream)
        told = (footer.metadata.metadata or {}).get(_FOOTER_KEY)
        if told is not None:
            return str(told.decode())
        schema = pyarrow_to_schema(footer.schema_arrow)
        return schema.model_dump_json(exclude={"schema_id"})


def _in_head(path: str, opened: Opened) -> str:
    files, bare = opened(path)
    with files.open_input_stream(bare) as stream:
        return head_of(stream.read(_LARGEST_MANIFEST))[_FOOTER_KEY.decode()]


_READING: dict[FileFormat, Callable[[str, Opened], str]] = {FileFormat.PARQUET: _in_footer, FileFormat.AVRO: _in_head}


def _read(path: str, opened: Opened) -> bytes:
    files, bare = opened(path)
    with files.open_input_stream(bare) as stream:
        content: bytes = stream.read(_LARGEST_MANIFEST + 1)
    if len(content) > _LARGEST_MANIFEST:
        raise ValueError(f"{path} is larger than {_LARGEST_MANIFEST // 2**20} MiB")
    return content


_NAME = re.compile(
    r"(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-(?P<subtask>\d{5})-(?P<attempt>\d+)-(?P<checkpoint>\d+)"
    r"-(?P<number>\d{5})(?:-[0-9a-f-]{36})?\.avro"
)
"""`ManifestOutputFileFactory`; the dynamic sink adds a uuid."""


class FolderOfTable:
    def __init__(self, storage: TableStorage | None = None) -> None:
        """`storage` knows what the catalog says of it; None: the environment does."""
        self._storage = storage or TableStorage({})
        self._told: dict[tuple[TableName, SnapshotId], _Told] = {}

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
            told = self._told.get(key) if key is not None else None
            told = told or _told_at(source, self._storage.of(table.name))
            written = told.of(source)
        except TROUBLE as error:
            raise CouldNotLook(
                f"No file of checkpoint {source.checkpoint_id} shows with which columns the job wrote it.",
                f"Expected the schema in a manifest or a file's footer; found {in_a_line(error)}.",
                LOOK_YOURSELF,
            ) from error
        if key is not None:
            self._told = {known: kept for known, kept in self._told.items() if known[0] != table.name} | {key: told}
        return written


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
