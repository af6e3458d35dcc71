"""What lies in a table's folders: Flink's temporary manifests, told by their names, and what files say of theirs."""

import re
from collections.abc import Sequence
from datetime import UTC, datetime

from pyarrow import ArrowException
from pyarrow.fs import FileInfo, FileSelector, FileSystem, FileType

from bot.adapters.iceberg.storage import TableStorage
from bot.adapters.object_moves import move, written_at
from bot.adapters.opening import address
from bot.adapters.writer_schema import SCHEMA, TROUBLE, Told, told_at, written_as
from bot.domain.errors import CouldNotLook
from bot.domain.file_changes import MovedFiles
from bot.domain.flink import FlinkManifest
from bot.domain.ids import CheckpointId, JobId, OperatorId, SnapshotId, TableName
from bot.domain.owed import folder_of_manifests
from bot.domain.table import TableState
from bot.domain.written import LOOK_YOURSELF, WriterSource, WrittenSchema

_NAME = re.compile(
    r"(?P<job>[0-9a-f]{32})-(?P<operator>[0-9a-f]{32})-(?P<subtask>\d{5})-(?P<attempt>\d+)-(?P<checkpoint>\d+)"
    r"-(?P<number>\d{5})(?:-[0-9a-f-]{36})?\.avro"
)
"""`ManifestOutputFileFactory`; the dynamic sink adds a uuid."""


class FolderOfTable:
    """Lists folders of the table's own storage."""

    def __init__(self, storage: TableStorage | None = None, tape: dict[str, bytes] | None = None) -> None:
        """`storage` knows what the catalog says of it; None: the environment does. `tape` is given what files said of
        their writer's schema, by address."""
        self._storage = storage or TableStorage({})
        self._tape = tape
        self._told: dict[tuple[TableName, SnapshotId], Told] = {}

    def flink_manifests(self, table: TableState) -> tuple[FlinkManifest, ...]:
        """See the port."""
        folder = folder_of_manifests(table)
        try:
            files, path = self._storage.of(table.name)(folder)
            listed = files.get_file_info(FileSelector(path))
        except (OSError, ArrowException, ValueError) as error:
            said = str(error).strip().partition("\n")[0]
            raise CouldNotLook(
                f"The Flink manifests of {table.name} could not be listed.",
                f"Expected a folder {folder}; found {type(error).__name__}: {said[:300]}.",
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
            said = str(error).strip().partition("\n")[0]
            raise CouldNotLook(
                f"No file of checkpoint {source.checkpoint_id} says under which columns the job wrote it.",
                f"Expected the schema in a manifest or a file's footer; found {type(error).__name__}: {said[:300]}.",
                LOOK_YOURSELF,
            ) from error
        if key is not None:
            self._told = {known: kept for known, kept in self._told.items() if known[0] != table.name} | {key: told}
        if self._tape is not None:
            self._tape[f"{SCHEMA}{told.path}"] = told.model_dump_json().encode()
        return written

    def written_at(self, table: TableName, paths: Sequence[str]) -> dict[str, datetime | None]:
        """See the port. Cost: one request a path."""
        return written_at(paths, self._storage.of(table))

    def move(self, table: TableName, moves: Sequence[tuple[str, str]], note: str) -> MovedFiles:
        """See the port."""
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
