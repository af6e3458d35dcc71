"""The columns under which a job's writer wrote, from what its own files say of themselves; never from their rows.

Flink's temporary manifests carry schema and partition spec in their Avro header; Iceberg's Parquet files carry the
writer's schema as `iceberg.schema` in their footer, and at least the field ids where another library wrote them.
"""

import json
from collections.abc import Callable
from typing import Literal

import pyarrow.parquet as pq
from pyarrow import ArrowException
from pyiceberg.exceptions import ResolveError
from pyiceberg.io.pyarrow import pyarrow_to_schema
from pyiceberg.manifest import DataFile, FileFormat, ManifestContent
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema

from bot.adapters.iceberg.reading import columns_of, fields_of
from bot.adapters.storage import Opened, added_in, head_of, manifests_in
from bot.domain.record import Record
from bot.domain.table import Snapshot
from bot.domain.written import WriterSource, WrittenSchema

SCHEMA = "schema:"
"""Begins the address under which a saved case keeps what was told."""
_LARGEST_MANIFEST = 8 * 1024 * 1024
_ENTRIES_READ = 2_000
_FOOTER_KEY = b"iceberg.schema"
TROUBLE = (OSError, ArrowException, ValueError, KeyError, ResolveError)


class Told(Record):
    """What one file said, in Iceberg's own JSON; as a saved case keeps it."""

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


def written_again(told: Told, recorded: WrittenSchema) -> WrittenSchema:
    """What this version makes of what was kept. Raises ValueError."""
    return recorded.model_copy(update=_in_words(told))


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
