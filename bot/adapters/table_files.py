"""Files of a table: Flink's temporary manifests, under which columns a job wrote, and moves of files.

Flink's manifests carry schema and partition spec in their Avro header; Iceberg's Parquet files carry their writer's
`iceberg.schema` in the footer, and at least the field ids where another library wrote them. Rows are never read.

A move is what the storage offers: a rename on a file system, a copy and a removal on an object store. Each step may be
repeated, and nothing is overwritten: at its new place a file may only find its own copy.
"""

import json
import re
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from functools import partial
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
from bot.domain.errors import CommitRefused, CouldNotLook, OutcomeUnknown
from bot.domain.file_changes import MovedFiles
from bot.domain.flink import FlinkManifest
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName
from bot.domain.pending_manifests import folder_of_manifests
from bot.domain.record import Record
from bot.domain.table import Snapshot, TableState
from bot.domain.written import LOOK_YOURSELF, WriterSource, WrittenSchema

_LARGEST_MANIFEST = 8 * 1024 * 1024
_ENTRIES_READ = 2_000
_FOOTER_KEY = b"iceberg.schema"
TROUBLE = (OSError, ArrowException, ValueError, KeyError, ResolveError)


class Told(Record):
    """What one file said, in Iceberg's own JSON."""

    told_by: Literal["pending-manifest", "pending-files", "committed-files"]
    path: str
    """The manifest that was read, or that names the data file: the path of a data file may hold values of rows."""
    table_schema: str
    spec_id: int | None = None
    spec: str | None = None
    """Its fields; None where only its id is told."""


def told_at(source: WriterSource, opened: Opened) -> Told:
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


def written_as(told: Told, source: WriterSource) -> WrittenSchema:
    """The same in the domain's words. Raises ValueError for a schema that cannot be understood."""
    return WrittenSchema(
        **_in_words(told), job_id=source.job_id, checkpoint_id=source.checkpoint_id, restore_point=source.restore_point
    )


def _in_words(told: Told) -> dict[str, object]:
    schema = Schema.model_validate_json(told.table_schema)
    spec = None
    if told.spec is not None:
        spec = PartitionSpec.model_validate({"spec-id": told.spec_id or 0, "fields": json.loads(told.spec)})
    return {
        "told_by": told.told_by,
        "path": told.path,
        "schema_id": json.loads(told.table_schema).get("schema-id"),
        "columns": columns_of(schema),
        "spec_id": told.spec_id,
        "partitioning": None if spec is None else fields_of(spec, schema),
    }


def _of_manifest(path: str, opened: Opened) -> Told:
    content = _read(path, opened)
    head = head_of(content)
    told = {"spec_id": int(head["partition-spec-id"]), "spec": head["partition-spec"]}
    try:
        file = added_in(content, _ENTRIES_READ)
        if file is not None:
            return Told(told_by="pending-files", path=path, table_schema=_schema_in(file, opened), **told)
    except TROUBLE:
        pass  # its own word is next best, and says of itself what it is
    return Told(told_by="pending-manifest", path=path, table_schema=head["schema"], **told)


def _of_commit(commit: Snapshot, opened: Opened) -> Told:
    for manifest in manifests_in(commit.manifest_list, _read(commit.manifest_list, opened)):
        is_own = manifest.added_snapshot_id == commit.snapshot_id and manifest.content == ManifestContent.DATA
        if not is_own or manifest.added_files_count == 0:
            continue
        file = added_in(_read(manifest.manifest_path, opened), _ENTRIES_READ)
        if file is not None:
            return Told(
                told_by="committed-files",
                path=manifest.manifest_path,
                table_schema=_schema_in(file, opened),
                spec_id=manifest.partition_spec_id,
            )
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


_TROUBLE = (OSError, ArrowException, ValueError)
PATIENCE_S = 15.0
"""Once moves that failed have taken so long together, storage is too slow or too busy, and the rest is left."""
_CHUNK = 1 << 20
"""Bytes that are compared at a time."""
_ANOTHER = "{} is another file, which is not overwritten"
_PROMISED = "{} is the new place of an earlier file of the list, which is not overwritten"
"""As proposals of earlier versions may have it."""


def written_at(paths: Sequence[str], opened: Opened) -> dict[str, datetime | None]:
    """Path -> when it was last written (None: storage does not tell), of those that are there. Raises CouldNotLook."""
    found: dict[str, datetime | None] = {}
    for path in paths:
        try:
            info = _info(path, opened)
        except _TROUBLE as error:
            raise CouldNotLook(
                f"It is not known whether the file {path} exists.",
                f"Expected an answer from storage; found {in_a_line(error)}.",
                "Check that the table's storage is readable from here.",
            ) from error
        if info.type is FileType.File:
            found[path] = info.mtime.astimezone(UTC) if info.mtime is not None else None
    return found


def move(table: TableName, moves: Sequence[tuple[str, str]], note: str, opened: Opened) -> MovedFiles:
    """Write the list `note`, then move every file that is not yet where it belongs: none before the list is there.

    A file that is gone or locked, or whose new place is another's, keeps no other from being moved; a storage that
    throttles or does not answer does, after PATIENCE_S. Raises CommitRefused where none is at its new place,
    OutcomeUnknown where storage does not tell of one. Cost: three requests a file; one that lies at both places, in one
    size, is read at both.
    """
    listed = json.dumps({"table": table, "moves": [{"from": a, "to": b} for a, b in moves]}, indent=1)
    no_list = _trouble_with(lambda: _write(opened, note, listed))
    gone: list[str] = []
    left: list[str] = []
    problem = no_list
    promised: set[str] = set()
    in_vain_s = 0.0
    for source, target in moves:
        is_promised = target in promised
        promised.add(target)
        if not _is_there(source, opened):
            gone += [] if _is_there(target, opened) else [source]
            continue
        if no_list or in_vain_s > PATIENCE_S:
            left.append(source)
            continue
        began = time.monotonic()
        trouble = _PROMISED.format(target) if is_promised else None
        trouble = trouble or _trouble_with(partial(_move, source, target, opened))
        in_vain_s += time.monotonic() - began if trouble else 0.0
        left += [source] if trouble else []
        problem = problem or trouble
    arrived = len(moves) - len(gone) - len(left)
    if left and not arrived:
        raise CommitRefused(
            f"No file of {table} was moved.",
            f"Expected storage to move {len(moves)} files; found {problem}.",
            "Check that Waterline may write next to the table's data, and what is at the new places. Then propose "
            "again.",
        )
    return MovedFiles(arrived=arrived, gone=tuple(gone), left=tuple(left), problem=problem)


def _is_there(path: str, opened: Opened) -> bool:
    try:
        return _info(path, opened).type is FileType.File
    except _TROUBLE as error:
        raise OutcomeUnknown(
            f"It is not known where {path} is.",
            f"Expected it to be at its old or its new place; found {in_a_line(error)}.",
            "Waterline checks again. Nothing is lost, because no file was deleted.",
        ) from error


def _trouble_with(do: Callable[[], str | None]) -> str | None:
    """What it, or storage, said against it; None where it was done."""
    try:
        return do()
    except _TROUBLE as error:
        return in_a_line(error)


def _info(path: str, opened: Opened) -> FileInfo:
    files, place = opened(path)
    return files.get_file_info(place)


def _move(source: str, target: str, opened: Opened) -> str | None:
    """Why it was not moved, where another file is in the way."""
    files, place = opened(source)
    others, arrival = opened(target)
    if files != others:
        raise ValueError(f"{source} and {target} are on different storages")
    there = files.get_file_info(arrival)
    if there.type is FileType.NotFound:
        _folder(files, arrival)
        files.move(place, arrival)
    elif there.type is FileType.File and _is_copy(files, place, arrival):
        files.delete_file(place)
    else:
        return _ANOTHER.format(target)
    return None


def _is_copy(files: FileSystem, one: str, other: str) -> bool:
    """Byte by byte: storages keep no sum that survives a copy for sure."""
    infos = files.get_file_info([one, other])
    if infos[0].size != infos[1].size:
        return False
    with files.open_input_stream(one) as left, files.open_input_stream(other) as right:
        while chunk := left.read(_CHUNK):
            if chunk != right.read(_CHUNK):
                return False
    return True


def _write(opened: Opened, path: str, text: str) -> None:
    files, place = opened(path)
    _folder(files, place)
    with files.open_output_stream(place) as out:
        out.write(text.encode())


def _folder(files: FileSystem, path: str) -> None:
    if files.type_name == "local":
        files.create_dir(path.rpartition("/")[0], recursive=True)


_NAME = re.compile(
    r"(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-(?P<subtask>\d{5})-(?P<attempt>\d+)-(?P<checkpoint>\d+)"
    r"-(?P<number>\d{5})(?:-[0-9a-f-]{36})?\.avro"
)
"""`ManifestOutputFileFactory`; the dynamic sink adds a uuid."""


class FolderOfTable:
    def __init__(self, storage: TableStorage | None = None) -> None:
        """`storage` knows what the catalog says of it; None: the environment does."""
        self._storage = storage or TableStorage({})
        self._told: dict[tuple[TableName, SnapshotId], Told] = {}

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
            told = told or told_at(source, self._storage.of(table.name))
            written = written_as(told, source)
        except TROUBLE as error:
            raise CouldNotLook(
                f"No file of checkpoint {source.checkpoint_id} shows with which columns the job wrote it.",
                f"Expected the schema in a manifest or a file's footer; found {in_a_line(error)}.",
                LOOK_YOURSELF,
            ) from error
        if key is not None:
            self._told = {known: kept for known, kept in self._told.items() if known[0] != table.name} | {key: told}
        return written

    def written_at(self, table: TableName, paths: Sequence[str]) -> dict[str, datetime | None]:
        """See the port. Cost: one request a path."""
        return written_at(paths, self._storage.of(table))

    def move(self, table: TableName, moves: Sequence[tuple[str, str]], note: str) -> MovedFiles:
        return move(table, moves, note, self._storage.of(table))


def manifest_named(path: str, size: int, written_at: datetime | None) -> FlinkManifest | None:
    """What a file's name tells; None for a name that is no temporary manifest's."""
    name = _NAME.fullmatch(path.rpartition("/")[2])
    if name is None:
        return None
    return FlinkManifest(
        path=path,
        job_id=JobId(name["job"]),
        operator_id=OperatorId(name["operator"]),
        subtask=int(name["subtask"]),
        attempt=int(name["attempt"]),
        checkpoint_id=CheckpointId(int(name["checkpoint"])),
        number=int(name["number"]),
        bytes=size,
        written_at=written_at,
    )


def _manifest(files: FileSystem, info: FileInfo) -> FlinkManifest | None:
    written = info.mtime.astimezone(UTC) if info.mtime is not None else None
    return manifest_named(address(files, info.path), info.size, written)
