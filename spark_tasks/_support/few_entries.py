"""The entries of manifests, brought here as they are stored: with the bounds of columns and the values of partitions.

Spark only reads them: to plan and compile an aggregation takes it longer than to read a thousand entries, and what is
left to do is a loop. Few are kept for other tasks; many come so many at a time. They may stand in many manifests, as
Flink commits them: these are read side by side.
"""

import re
import threading
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from cachetools import LRUCache
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.table import Column as TableColumn
from bot.observation.table import PartitionField, TableState
from spark_tasks._support.manifests import Manifest
from spark_tasks._support.storage import exact

_WHOLE = frozenset({"int", "long"})
_TIMES = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "date"})
NULLS = {"null_value_counts": "array<struct<key: int, value: bigint>>"}
"""A field of data files: name -> type."""


def range_columns(table: TableState, contract: TableContract) -> tuple[TableColumn | None, TableColumn | None]:
    """(event time, position) as the contract names them, where their type has bounds that are whole numbers and
    their values may be shown."""
    event, position = whole_columns(table, contract)
    return (
        event if event is not None and not contract.hides(event.name) else None,
        position if position is not None and not contract.hides(position.name) else None,
    )


def whole_columns(table: TableState, contract: TableContract) -> tuple[TableColumn | None, TableColumn | None]:
    """The same, hidden ones too: for what is compared and never shown."""
    by_name = {column.name: column for column in table.columns}
    event = by_name.get(contract.event_time) if contract.event_time else None
    position = by_name.get(contract.position) if contract.position else None
    return (
        event if event is not None and event.type in _TIMES else None,
        position if position is not None and position.type in _WHOLE else None,
    )


NULL = "\0"
"""Stands for null among stored values."""
_KINDS = {
    "boolean": "boolean", "int": "int", "date": "int", "long": "bigint", "time": "bigint", "string": "string",
    "timestamp": "bigint", "timestamptz": "bigint", "timestamp_ns": "bigint", "timestamptz_ns": "bigint",
    "uuid": "binary",
}  # fmt: skip
"""Iceberg type -> Spark's, as which the stored value is read. Not `float` and `double`, which every language writes
in its own way."""
_OF_BYTES = re.compile(r"binary|fixed\[\d+\]|decimal\(\d+, \d+\)")


class Parted(NamedTuple):
    """One field of the partitioning, in every spec that has it."""

    field: PartitionField
    stored: str
    """Its name in manifests."""
    kind: str
    """Its type in Spark."""
    specs: frozenset[int]


def parted_by(table: TableState, contract: TableContract) -> tuple[Parted, ...]:
    """Fields whose values may be shown, in the order of the specs. A name that stands for two kinds of values is
    left out, as is a column without partitioning (`void`)."""
    fields = [(spec, field) for spec, fields in sorted(table.spec_fields.items()) for field in fields]
    by_name: dict[str, list[tuple[int, PartitionField]]] = {}
    for spec, field in fields:
        by_name.setdefault(_in_avro(field.name).casefold(), []).append((spec, field))
    told = []
    for alike in by_name.values():
        shown = [(spec, field) for spec, field in alike if field.transform != "void"]
        kinds = {(field.words, _in_avro(field.name), _kind(field.type)) for _, field in shown}
        if len(kinds) == 1 and not any(contract.hides(name) for name in _names(shown)):
            _, stored, kind = kinds.pop()
            if kind is not None:
                told.append(Parted(shown[0][1], stored, kind, frozenset(spec for spec, _ in shown)))
    return tuple(told)


def struct_of(parted: Iterable[Parted]) -> dict[str, str]:
    """The field of a data file that holds these: its name -> its type. Empty without any."""
    fields = ", ".join(f"`{each.stored}`: {each.kind}" for each in parted)
    return {"partition": f"struct<{fields}>"} if fields else {}


def stored_text(value: object) -> str:
    """As text; null as `NULL`, bytes in hexadecimal digits."""
    match value:
        case None:
            return NULL
        case bool():
            return str(value).lower()
        case bytes() | bytearray():
            return value.hex().upper()
        case _:
            return str(value)


def stored_value(parted: Parted, partition: Column) -> Column:
    """`stored_text`, made by Spark."""
    value = partition[parted.stored]
    text = F.hex(value) if parted.kind == "binary" else value.cast("string")
    return F.coalesce(text, F.lit(NULL))


def _names(fields: Iterable[tuple[int, PartitionField]]) -> set[str]:
    return {name for _, field in fields for name in (field.name, field.column)}


def _kind(iceberg: str) -> str | None:
    return "binary" if _OF_BYTES.fullmatch(iceberg) else _KINDS.get(iceberg)


def _in_avro(name: str) -> str:
    """Avro knows fewer names than Iceberg: what it does not know is written as a number."""
    told = "".join(each if each.isalnum() or each == "_" else f"_x{ord(each):X}" for each in name)
    return f"_{told}" if told[:1].isdigit() else told


_ROW_OF_A_TASK = (1 << 33) - 1
"""The bits in which Spark's rising id counts the rows of one task."""


def first_of_each_task(frame: DataFrame, most: int) -> DataFrame:
    """The first `most` rows of each task. Each ends by its own count, where a limit has them wait for each other:
    twenty manifests that two tasks read side by side answer in five sixths of the time. Lazy."""
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_OF_A_TASK))
    return frame.where(row < most)


_FILE = "content: int, file_path: string, file_format: string, record_count: bigint, file_size_in_bytes: bigint"
BOUNDS = dict.fromkeys(("lower_bounds", "upper_bounds"), "array<struct<key: int, value: binary>>")
_MANIFEST = "status int, snapshot_id bigint, sequence_number bigint, data_file struct<{}>"
"""Reader schemas: manifests of different writers differ, and a field that one lacks is then null."""


def stored_entries(
    spark: SparkSession, manifests: Sequence[Manifest], *, bounds: bool = False, more: Mapping[str, str] | None = None
) -> DataFrame:
    """Shape: status, snapshot_id and sequence_number (null where inherited; in format v1 there is no such number),
    data_file (a struct), as the manifests hold them, which are some; `_metadata` tells from which file each is.
    Lazy."""
    fields = {**(BOUNDS if bounds else {}), **(more or {})}
    schema = _MANIFEST.format(", ".join([_FILE, *(f"{name}: {kind}" for name, kind in fields.items())]))
    return spark.read.format("avro").schema(schema).load([exact(manifest.path) for manifest in manifests])


FEW_ENTRIES = 2_500
"""Up to which they are kept: half a megabyte."""
AT_A_TIME = 20_000
_MOST = 1_000_000
"""Of one manifest, whatever its list says."""
_BOUND_BYTES = frozenset({4, 8})
_EDGES = ("lower_bounds", "upper_bounds", "null_value_counts")
"""Fields of a data file, in the order of `Edges`."""


class Edges(NamedTuple):
    """Bounds of one column in one file, as Iceberg stores them; None where they are not stated."""

    stored_low: bytes | None
    stored_high: bytes | None
    nulls: int | None = None
    """Rows in which it is null; None where the file does not count them."""

    @property
    def low(self) -> int | None:
        """As a whole number."""
        return _number(self.stored_low)

    @property
    def high(self) -> int | None:
        """As a whole number."""
        return _number(self.stored_high)


class Entry(NamedTuple):
    snapshot_id: int
    """The commit that added or removed the file; what a manifest does not say is inherited."""
    status: int
    """0 carried over, 1 added, 2 removed."""
    content: int
    """0 data, 1 position deletes, 2 equality deletes."""
    path: str
    rows: int
    spec_id: int
    edges: tuple[Edges, ...]
    """Of each column asked about."""
    partition: tuple[str, ...] = ()
    """Of each field asked about, as `stored_text` has it."""
    format: str = ""
    bytes: int | None = None
    of_file: str | None = None
    """The one data file that a delete file is about, where it says so."""
    age: int = 0
    """Its sequence number; what a manifest does not say is inherited, where it was added. 0 in format v1."""

    @property
    def told(self) -> tuple[object, ...]:
        """As a row of `_reading.entries_of`."""
        return (
            self.snapshot_id, self.status, self.content, self.path, self.format, self.rows, self.bytes, self.spec_id
        )  # fmt: skip


_Wanted = int | Parted
"""The id of a column whose edges are told, or a field of the partitioning."""


class _Stored(NamedTuple):
    """An entry, and what is known of its columns and fields."""

    entry: Entry
    edges: Mapping[int, Edges]
    partition: Mapping[str, str]


class _Copy(NamedTuple):
    """All entries of one manifest."""

    known: frozenset[_Wanted]
    entries: Sequence[_Stored]

    @property
    def bytes(self) -> int:
        """About so much memory."""
        return _ENTRY_BYTES + sum(
            _ENTRY_BYTES + len(each.entry.path) + _EDGE_BYTES * len(self.known) for each in self.entries
        )


_ENTRY_BYTES, _EDGE_BYTES = 800, 300
MOST_BYTES = 32 * 1024 * 1024
"""Of the copies of one session."""


_Copies = LRUCache[tuple[str, int | None], _Copy]
_COPIES: WeakKeyDictionary[SparkSession, _Copies] = WeakKeyDictionary()
"""What tasks of one session have read of manifests, which never change: the last used, up to `MOST_BYTES`."""
_LOCK = threading.Lock()
_READING: WeakKeyDictionary[SparkSession, threading.Lock] = WeakKeyDictionary()
"""Held while a task reads for the copies: two tasks that begin side by side ask for the same manifests."""


def few_entries(
    spark: SparkSession,
    manifests: Sequence[Manifest],
    bounded: Sequence[TableColumn | None] = (),
    parted: Sequence[Parted] = (),
) -> list[Entry] | None:
    """Every entry of these manifests, with the edges of these columns and its values of these fields; None where there
    are more than `FEW_ENTRIES`, or nobody says how many. Reads now those manifests of which no task of the session has
    read as much."""
    counts = [each for m in manifests for each in (m.added, m.existing, m.removed)]
    if None in counts or sum(m.entries for m in manifests) > FEW_ENTRIES:
        return None
    asked: frozenset[_Wanted] = frozenset([*(column.field_id for column in bounded if column is not None), *parted])
    with _LOCK:
        copies = _COPIES.setdefault(spark, LRUCache(MOST_BYTES, getsizeof=lambda copy: copy.bytes))
        reading = _READING.setdefault(spark, threading.Lock())
    with reading:
        told = _kept_or_read(spark, copies, manifests, asked)
    if told is None or len(told) > FEW_ENTRIES:  # a writer that miscounts
        return None
    return _asked(told, bounded, parted)


def _kept_or_read(
    spark: SparkSession, copies: _Copies, manifests: Sequence[Manifest], asked: frozenset[_Wanted]
) -> list[_Stored] | None:
    """What the session has of these manifests, after it read what it had not; None for too many."""
    with _LOCK:
        found = {m.path: copy for m in manifests if (copy := copies.get((m.path, m.length))) is not None}
    known = frozenset(_by_name([*(each for copy in found.values() for each in copy.known), *asked]).values())
    missing = [each for each in manifests if each.path not in found or not asked <= found[each.path].known]
    if missing:
        read = _read(spark, missing, known, FEW_ENTRIES)
        if read is None:
            return None
        for each in missing:
            found[each.path] = _Copy(known, read.get(each.path.rsplit("/", 1)[-1], ()))
            with _LOCK, suppress(ValueError):  # larger than all that is kept
                copies[each.path, each.length] = found[each.path]
    return [stored for each in manifests for stored in found[each.path].entries]


def entries_by_commit(
    spark: SparkSession,
    manifests: Sequence[Manifest],
    bounded: Sequence[TableColumn | None] = (),
    parted: Sequence[Parted] = (),
) -> Iterator[list[Entry]]:
    """The same, however many there are: about `AT_A_TIME` entries, all of those manifests together that one commit
    wrote. Raises EvidenceFailed over a manifest of more than a million entries. Reads while it is iterated."""
    if (few := few_entries(spark, manifests, bounded, parted)) is not None:
        yield few
        return
    asked: frozenset[_Wanted] = frozenset([*(column.field_id for column in bounded if column is not None), *parted])
    batch: list[Manifest] = []
    of_commits = groupby(sorted(manifests, key=lambda each: each.snapshot_id), key=lambda each: each.snapshot_id)
    for some in (*(list(those) for _, those in of_commits), None):
        if batch and (some is None or sum(each.entries for each in (*batch, *some)) > AT_A_TIME):
            read = _read(spark, batch, asked, _MOST)
            if read is None:
                raise EvidenceFailed(
                    "A manifest cannot be read.",
                    f"Expected at most {_MOST:,} entries in it; there are more.",
                    "Rewrite the table's manifests (`rewrite_manifests`), then run it again.",
                )
            yield _asked([stored for those in read.values() for stored in those], bounded, parted)
            batch = []
        batch += some or []


def _asked(told: Iterable[_Stored], bounded: Sequence[TableColumn | None], parted: Sequence[Parted]) -> list[Entry]:
    ids = [column.field_id if column is not None else None for column in bounded]
    return [
        stored.entry._replace(
            edges=tuple(stored.edges.get(each, _NO_EDGES) if each is not None else _NO_EDGES for each in ids),
            partition=tuple(stored.partition[each.stored] for each in parted),
        )
        for stored in told
    ]


def _by_name(asked: Iterable[_Wanted]) -> dict[int | str, _Wanted]:
    """Each column and field once, as it was asked for last."""
    return {each.stored if isinstance(each, Parted) else each: each for each in asked}


_NO_EDGES = Edges(None, None)


def edges_of(file: Column, column: TableColumn | None) -> list[Column]:
    """What `edges_in` takes, of a data file with `BOUNDS` and `NULLS`; nulls without a column."""
    if column is None:
        return [F.lit(None).cast(kind) for kind in ("binary", "binary", "bigint")]
    return _edges_of(file, column.field_id)


def _edges_of(file: Column, field_id: int) -> list[Column]:
    return [F.try_element_at(F.map_from_entries(file[edge]), F.lit(field_id)) for edge in _EDGES]


def edges_in(told: Sequence[Any]) -> tuple[Edges, ...]:
    """Of each column, three values in their order."""
    return tuple(Edges(*told[at : at + len(_EDGES)]) for at in range(0, len(told), len(_EDGES)))


def _read(
    spark: SparkSession, manifests: Sequence[Manifest], asked: Collection[_Wanted], most: int
) -> dict[str, list[_Stored]] | None:
    """Name of a manifest's file -> its entries; None where they are more than `most`."""
    ids = sorted(each for each in asked if isinstance(each, int))
    parted = sorted((each for each in asked if isinstance(each, Parted)), key=lambda each: each.stored)
    more = {"referenced_data_file": "string", **struct_of(parted), **(NULLS if ids else {})}
    read = stored_entries(spark, manifests, bounds=bool(ids), more=more)
    file = F.col("data_file")
    told = read.select(
        F.col("_metadata.file_name"),
        "status",
        "snapshot_id",
        "sequence_number",
        file["content"],
        file["file_path"],
        file["record_count"],
        file["file_format"],
        file["file_size_in_bytes"],
        file["referenced_data_file"],
        *(file["partition"][each.stored] for each in parted),
        *(edge for each in ids for edge in _edges_of(file, each)),
    )
    rows = first_of_each_task(told, most + 1).collect()
    if len(rows) > most:  # a writer that miscounts
        return None
    by_name = {manifest.path.rsplit("/", 1)[-1]: manifest for manifest in manifests}
    found: dict[str, list[_Stored]] = {}
    for row in rows:
        name, *fields = row
        values, edges = fields[_FIELDS : _FIELDS + len(parted)], fields[_FIELDS + len(parted) :]
        stored = _Stored(
            entry=_entry(by_name[name], *fields[:_FIELDS]),
            edges=dict(zip(ids, edges_in(edges), strict=True)),
            partition={each.stored: stored_text(value) for each, value in zip(parted, values, strict=True)},
        )
        found.setdefault(name, []).append(stored)
    return found


_FIELDS = 9


def _entry(
    manifest: Manifest,
    status: int,
    snapshot_id: int | None,
    age: int | None,
    content: int | None,
    path: str,
    rows: int,
    form: str,
    size: int | None,
    of_file: str | None,
) -> Entry:
    return Entry(
        snapshot_id=manifest.snapshot_id if snapshot_id is None else snapshot_id,
        status=status,
        content=content or 0,
        path=path,
        rows=rows,
        spec_id=manifest.spec_id,
        edges=(),
        format=form,
        bytes=size,
        of_file=of_file,
        age=(manifest.sequence_number if status == 1 else 0) if age is None else age,
    )


def _number(bound: bytes | None) -> int | None:
    """Little-endian two's complement of four or eight bytes (Iceberg spec, appendix D): a file older than the promotion
    of its column to long keeps four."""
    if bound is None or len(bound) not in _BOUND_BYTES:
        return None
    return int.from_bytes(bound, "little", signed=True)
