"""A table's history, read from its metadata file piece by piece: fifty thousand commits in seconds and little memory.

PyIceberg builds a model of every snapshot before it hands out the first: half a gigabyte for such a table. Here the
file is decoded in a stream, every snapshot is packed as soon as it is read, and PyIceberg gets the rest by
`py-io-impl`, its own way to name a file IO. Never used for a commit: a catalog that writes the next metadata file
itself would write it without the history.
"""

import codecs
import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime
from typing import IO, Any, cast

import pyarrow
from pyiceberg.exceptions import ValidationError as NotIceberg
from pyiceberg.io import PY_IO_IMPL, FileIO, InputFile, InputStream, OutputFile, load_file_io
from pyiceberg.partitioning import PartitionField as IcebergField
from pyiceberg.partitioning import PartitionSpec
from pyiceberg.schema import Schema
from pyiceberg.serializers import FromInputFile
from pyiceberg.table.metadata import TableMetadata, TableMetadataV1
from pyiceberg.typedef import EMPTY_DICT, Properties

from bot.adapters.iceberg.packing import Packing
from bot.observation.ids import SnapshotId, TableName
from bot.observation.snapshot import Snapshot, without_partitions
from bot.observation.table import Column, HeadMove, HeadMoves, PartitionField, Ref, TableState

_CHUNK = 1 << 18
_Packed = tuple[Sequence[Snapshot], int | None]
"""(All snapshots, the lowest sequence number of one that gave its rows ids; None: none did.)"""


@dataclass(frozen=True)
class History:
    snapshots: Sequence[Snapshot]
    """By rising sequence number."""
    moves: Sequence[HeadMove]
    lineage_since: int | None = None
    """`TableState.lineage_since`."""


def read_split(read: Callable[[int], bytes]) -> tuple[dict[str, Any], History]:
    """(The metadata with empty `snapshots` and `snapshot-log`, its history). Raises ValueError if it is no metadata.

    `read(n)` gives at most so many bytes of UTF-8, none at the end.
    """
    text = _Text(read)
    rest: dict[str, Any] = {}
    packed: _Packed = (), None
    moves: Sequence[HeadMove] = ()
    try:
        for name in text.names():
            if name == "snapshots":
                packed = _packed(text.elements())
            elif name == "snapshot-log":
                moves = _moves(text.elements())
            else:
                rest[name] = text.value()
    except (KeyError, TypeError, AttributeError, OverflowError) as error:
        raise ValueError(f"Not Iceberg metadata: {type(error).__name__} {error} in a snapshot.") from error
    return {**rest, "snapshots": [], "snapshot-log": []}, History(packed[0], moves, packed[1])


def history_of(metadata: TableMetadata) -> History:
    """The history of metadata that PyIceberg has read whole, as from a catalog that sends it itself."""
    snapshots = (each.model_dump(by_alias=True, exclude_none=True) for each in metadata.snapshots)
    moves = (each.model_dump(by_alias=True) for each in metadata.snapshot_log)
    packed = _packed(snapshots)
    return History(packed[0], _moves(moves), packed[1])


def _packed(told: Iterable[dict[str, Any]]) -> _Packed:
    packing, with_row_ids = Packing(), None
    for raw in told:
        if raw.get("first-row-id") is not None:
            number = raw.get("sequence-number") or 0
            with_row_ids = number if with_row_ids is None else min(with_row_ids, number)
        packing.add(
            snapshot_id=int(raw["snapshot-id"]),
            parent_id=raw.get("parent-snapshot-id"),
            sequence_number=raw.get("sequence-number") or 0,
            moment=int(raw["timestamp-ms"]),
            schema_id=raw.get("schema-id"),
            manifest_list=raw["manifest-list"],
            summary={key: str(value) for key, value in without_partitions(raw.get("summary") or {}).items()},
        )
    return packing.packed(), with_row_ids


def _moves(told: Iterable[dict[str, Any]]) -> HeadMoves:
    return HeadMoves((int(raw["timestamp-ms"]), int(raw["snapshot-id"])) for raw in told)


class _Text:
    def __init__(self, read: Callable[[int], bytes]) -> None:
        self._read = read
        self._utf8 = codecs.getincrementaldecoder("utf-8")()
        self._decode = json.JSONDecoder().raw_decode
        self._text, self._at, self._is_over = "", 0, False

    def names(self) -> Iterator[str]:
        """The names of the object's members; the caller takes each one's value before it asks for the next."""
        self._pass("{")
        while self._next() != "}":
            name = self.value()
            self._pass(":")
            yield name
            self._pass_comma("}")

    def elements(self) -> Iterator[Any]:
        """The elements of an array; all are to be taken. A null is an empty one."""
        if self._next() != "[":
            if self.value() is not None:
                raise ValueError("Not Iceberg metadata: expected an array of snapshots.")
            return
        self._pass("[")
        while self._next() != "]":
            yield self.value()
            self._pass_comma("]")
        self._pass("]")

    def value(self) -> Any:
        self._next()
        while True:
            try:
                found, end = self._decode(self._text, self._at)
            except json.JSONDecodeError:
                if self._is_over:
                    raise
            else:
                if end < len(self._text) or self._is_over:  # a number at the edge may go on
                    self._at = end
                    return found
            self._more()

    def _next(self) -> str:
        """The next character that is not space; it is not taken."""
        while True:
            while self._at < len(self._text):
                if not (char := self._text[self._at]).isspace():
                    return char
                self._at += 1
            if self._is_over:
                raise ValueError("Not Iceberg metadata: the file ends too early.")
            self._more()

    def _pass(self, char: str) -> None:
        if (found := self._next()) != char:
            raise ValueError(f"Not Iceberg metadata: expected {char}, found {found}.")
        self._at += 1

    def _pass_comma(self, end: str) -> None:
        if self._next() != end:
            self._pass(",")

    def _more(self) -> None:
        chunk = self._read(_CHUNK)
        self._is_over = not chunk
        self._text = self._text[self._at :] + self._utf8.decode(chunk, final=self._is_over)
        self._at = 0


pyarrow.set_memory_pool(pyarrow.system_memory_pool())
"""Arrow's own allocator keeps several megabytes at hand for tables that the bot never reads."""
_GZIP = (".gz.metadata.json", ".metadata.json.gz")
_caught: ContextVar[dict[str, History]] = ContextVar("caught")


def lean(properties: Properties) -> Properties:
    """The same catalog's properties for reading only; unchanged where another file IO is configured."""
    return properties if PY_IO_IMPL in properties else {**properties, PY_IO_IMPL: f"{__name__}.{LeanFileIO.__name__}"}


@contextmanager
def catching() -> Iterator[dict[str, History]]:
    """Metadata location -> history, of all that is read inside; empty for a catalog that sends the metadata itself."""
    caught: dict[str, History] = {}
    token = _caught.set(caught)
    try:
        yield caught
    finally:
        _caught.reset(token)


class LeanFileIO(FileIO):
    def __init__(self, properties: Properties = EMPTY_DICT) -> None:
        super().__init__({name: value for name, value in properties.items() if name != PY_IO_IMPL})

    def new_input(self, location: str) -> InputFile:
        """The file; a metadata file without its history."""
        file = load_file_io(self.properties, location).new_input(location)
        return _LeanMetadata(file) if location.endswith((".metadata.json", *_GZIP)) else file

    def new_output(self, location: str) -> OutputFile:
        raise OSError(f"{location} is not written: this catalog is opened for reading.")

    def delete(self, location: str | InputFile | OutputFile) -> None:
        raise OSError(f"{location} is not deleted: this catalog is opened for reading.")


class _LeanMetadata(InputFile):
    def __init__(self, whole: InputFile) -> None:
        super().__init__(whole.location)
        self._whole = whole

    def __len__(self) -> int:
        return len(self._whole)

    def exists(self) -> bool:
        return self._whole.exists()

    def open(self, seekable: bool = True) -> InputStream:  # noqa: ARG002 - the signature is PyIceberg's
        """What is left of the file; packed again if it was, because PyIceberg goes by the name."""
        is_packed = self.location.endswith(_GZIP)
        with self._whole.open(seekable=False) as stream:
            whole = gzip.GzipFile(fileobj=cast(IO[bytes], stream)) if is_packed else stream
            rest, history = read_split(whole.read)
        _caught.get({})[self.location] = history
        told = json.dumps(rest).encode()
        return cast(InputStream, io.BytesIO(gzip.compress(told) if is_packed else told))


_OPENED = 20
"""So many files are opened before it is given up; in practice it is the one from before the expiry."""
_NOT_THERE = (FileNotFoundError, NotIceberg, ValueError)
"""The file is not there, or is not a metadata file. A refused right or a dead connection says nothing of it."""


def expired_of_main(
    table: TableState, newest_first: Iterable[str], read: Callable[[str], History | None]
) -> tuple[Snapshot, ...]:
    """Ancestors of the oldest snapshot that main still lists, oldest first, down to the newest commit by Flink at
    least; only what a line of parents without a hole reaches. `newest_first`: locations of older metadata files.

    The line is followed in the older files alone: PyIceberg's expiry leaves no parent in the snapshots that stay.
    """
    oldest = table.chain[-1].snapshot_id if table.chain else None
    found: list[Snapshot] = []
    for _, location in zip(range(_OPENED), newest_first, strict=False):
        if oldest is None or any(each.job_id is not None and each.checkpoint_id is not None for each in found):
            break
        history = read(location)
        found += _below(history, oldest) if history is not None else []
        oldest = found[-1].snapshot_id if found else oldest
    return tuple(reversed(found))


def history_at(files: FileIO, location: str) -> History | None:
    """What grows with each commit, as this metadata file has it; None where the file is gone or is none. Raises what
    the storage raises."""
    lean = LeanFileIO(files.properties)
    try:
        with catching() as caught:
            FromInputFile.table_metadata(lean.new_input(location))
    except _NOT_THERE:
        return None
    return caught.get(location)


def _below(history: History, of: SnapshotId) -> list[Snapshot]:
    """Its ancestors without itself, newest first."""
    by_id = {snapshot.snapshot_id: snapshot for snapshot in history.snapshots}
    line: list[Snapshot] = []
    current = by_id.get(of)
    while current is not None:
        line.append(current)
        current = by_id.get(current.parent_id) if current.parent_id is not None else None
    return line[1:]


def table_state(
    name: TableName, metadata: TableMetadata, metadata_location: str, read_at: datetime, history: History | None = None
) -> TableState:
    """The whole state that one metadata file tells, snapshots by rising sequence number.

    `history` where it was read apart from the rest; None: it is in `metadata`.
    """
    head = metadata.current_snapshot_id
    history = history or history_of(metadata)
    return TableState(
        name=name,
        uuid=str(metadata.table_uuid),
        location=metadata.location,
        metadata_location=metadata_location,
        format_version=metadata.format_version,
        head=SnapshotId(head) if head is not None and head >= 0 else None,
        snapshots=history.snapshots,
        refs=tuple(
            Ref(
                name=ref_name,
                kind=ref.snapshot_ref_type.value,
                snapshot_id=SnapshotId(ref.snapshot_id),
                max_ref_age_ms=ref.max_ref_age_ms,
                max_snapshot_age_ms=ref.max_snapshot_age_ms,
                min_snapshots=ref.min_snapshots_to_keep,
            )
            for ref_name, ref in sorted(metadata.refs.items())
        ),
        head_moves=history.moves,
        properties=dict(metadata.properties),
        columns=columns_of(metadata.schema()),
        read_at=read_at,
        partitioning=fields_of(metadata.spec(), metadata.schema()),
        schemas={schema.schema_id: columns_of(schema) for schema in metadata.schemas},
        specs={spec.spec_id: fields_of(spec, *reversed(metadata.schemas)) for spec in metadata.partition_specs},
        spec_fields={
            spec.spec_id: _typed_fields(spec, *reversed(metadata.schemas)) for spec in metadata.partition_specs
        },
        last_sequence_number=None if isinstance(metadata, TableMetadataV1) else metadata.last_sequence_number,
        lineage_since=history.lineage_since,
    )


def columns_of(schema: Schema) -> tuple[Column, ...]:
    return tuple(
        Column(
            field_id=field.field_id,
            name=field.name,
            type=str(field.field_type),
            is_required=field.required,
            has_default=True if field.initial_default is not None else None,
        )
        for field in schema.fields
    )


def fields_of(spec: PartitionSpec, *schemas: Schema) -> tuple[str, ...]:
    """As `day(event_time)`; a source column under the first of the schemas that has it."""
    return tuple(_words(field, _having(field, schemas)) for field in spec.fields)


def _typed_fields(spec: PartitionSpec, *schemas: Schema) -> tuple[PartitionField, ...]:
    told = []
    for field in spec.fields:
        schema = _having(field, schemas)
        if schema is not None:
            kind = field.transform.result_type(schema.find_type(field.source_id))
            told.append(PartitionField(words=_words(field, schema), name=field.name, type=str(kind)))
    return tuple(told)


def _having(field: IcebergField, schemas: Iterable[Schema]) -> Schema | None:
    return next((schema for schema in schemas if schema.find_column_name(field.source_id) is not None), None)


def _words(field: IcebergField, schema: Schema | None) -> str:
    source = (schema.find_column_name(field.source_id) if schema else None) or f"field {field.source_id}"
    transform = str(field.transform)
    return source if transform == "identity" else f"{transform}({source})"
