"""The entries of manifests, brought here as they are stored: with the bounds of columns and the values of partitions.

Spark only reads them: to plan and compile an aggregation takes it longer than to read a thousand entries, and what is
left to do is a loop. Few are kept for other tasks; many come so many at a time. They may stand in many manifests, as
Flink commits them: these are read side by side.
"""

import re
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import groupby
from typing import Any, NamedTuple

from cachetools import LRUCache
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.observation.contract import TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.table import Column as TableColumn
from bot.observation.table import PartitionField, TableState
from spark_tasks._support.manifests import Manifest
from spark_tasks._support.storage import exact

WHOLE = frozenset({"int", "long"})
_TIMES = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "date"})
NULLS = {"null_value_counts": "array<struct<key: int, value: bigint>>"}
"""A field of data files: name -> type."""


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


class Asked(NamedTuple):
    """What of each data file is told beside its path: bounds of the columns that the contract names, and its values of
    the partitioning that may be shown."""

    position: TableColumn | None = None
    """Of whole numbers."""
    event: TableColumn | None = None
    """A time, or a date."""
    source: TableColumn | None = None
    """The source partition, of any type."""
    parted: tuple[Parted, ...] = ()

    @property
    def columns(self) -> tuple[TableColumn | None, ...]:
        """As `Entry.bounds` has them."""
        return self[:3]


NOTHING = Asked()


def asked_of(table: TableState, contract: TableContract) -> Asked:
    """Hidden columns have their bounds as well: for what is compared and never shown."""
    by_name = {column.name: column for column in table.columns}
    position, event, source = (
        by_name.get(name) if name is not None else None
        for name in (contract.position, contract.event_time, contract.position_partition)
    )
    return Asked(
        position=position if position is not None and position.type in WHOLE else None,
        event=event if event is not None and event.type in _TIMES else None,
        source=source,
        parted=parted_by(table, contract),
    )


FEW_ENTRIES = 2_500
"""Up to which they are kept: half a megabyte."""
AT_A_TIME = 20_000
_MOST = 1_000_000
"""Of one manifest, whatever its list says."""
_BOUND_BYTES = frozenset({4, 8})
_BOUNDS = ("lower_bounds", "upper_bounds", "null_value_counts")
"""Fields of a data file, in the order of `Bounds`."""


class Bounds(NamedTuple):
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


NO_BOUNDS = Bounds(None, None)


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
    bounds: tuple[Bounds, ...] = (NO_BOUNDS, NO_BOUNDS, NO_BOUNDS)
    """Of position, event time and source partition."""
    partition: tuple[str, ...] = ()
    """Of each field of `Asked.parted`, as `stored_text` has it."""
    format: str = ""
    """`parquet`, `avro`, `orc`, `puffin`."""
    bytes: int | None = None
    of_file: str | None = None
    """The one data file that a delete file is about, where it says so."""
    age: int = 0
    """Its sequence number; what a manifest does not say is inherited, where it was added. 0 in format v1."""

    @property
    def is_added(self) -> bool:
        return self.status == 1

    @property
    def is_data(self) -> bool:
        return self.content == 0

    @property
    def position(self) -> Bounds:
        return self.bounds[0]

    @property
    def event(self) -> Bounds:
        return self.bounds[1]

    @property
    def source(self) -> Bounds:
        return self.bounds[2]

    @property
    def told(self) -> tuple[object, ...]:
        """As a row of `reading.entries_of`."""
        return (
            self.snapshot_id, self.status, self.content, self.path, self.format, self.rows, self.bytes, self.spec_id
        )  # fmt: skip


MOST_KEPT = 40_000
"""Entries, of all tables together: some 32 MB."""
_Copy = tuple[Asked, list[Entry]]
"""All entries of one manifest, and what is told of them."""
_COPIES: LRUCache[tuple[str, int | None], _Copy] = LRUCache(MOST_KEPT, getsizeof=lambda copy: len(copy[1]) + 1)
"""What tasks have read of manifests, which never change: the last used."""
_READING = threading.Lock()
"""Held while a task reads for the copies: two tasks that begin side by side ask for the same manifests."""


def few_entries(spark: SparkSession, manifests: Sequence[Manifest], asked: Asked = NOTHING) -> list[Entry] | None:
    """Every entry of these manifests; None where there are more than `FEW_ENTRIES`, or nobody says how many. Reads now
    those manifests of which no task has read as much."""
    counts = [each for m in manifests for each in (m.added, m.existing, m.removed)]
    if None in counts or sum(m.entries for m in manifests) > FEW_ENTRIES:
        return None
    found: dict[str, list[Entry]] = {}
    with _READING:
        missing = []
        for each in manifests:
            copy = _COPIES.get((each.path, each.length))
            if copy is not None and asked in (copy[0], NOTHING):
                found[each.path] = copy[1]
            else:
                missing.append(each)
        read = _read(spark, missing, asked, FEW_ENTRIES) if missing else {}
        if read is None:
            return None
        for each in missing:
            found[each.path] = read.get(each.path.rsplit("/", 1)[-1], [])
            with suppress(ValueError):  # larger than all that is kept
                _COPIES[each.path, each.length] = asked, found[each.path]
    told = [entry for each in manifests for entry in found[each.path]]
    return told if len(told) <= FEW_ENTRIES else None  # else a writer that miscounts


def entries_by_commit(
    spark: SparkSession, manifests: Sequence[Manifest], asked: Asked = NOTHING
) -> Iterator[list[Entry]]:
    """The same, however many there are: about `AT_A_TIME` entries, all of those manifests together that one commit
    wrote. Raises EvidenceFailed over a manifest of more than a million entries. Reads while it is iterated."""
    if (few := few_entries(spark, manifests, asked)) is not None:
        yield few
        return
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
            yield [entry for those in read.values() for entry in those]
            batch = []
        batch += some or []


def bounds_of(file: Column, column: TableColumn | None) -> list[Column]:
    """What `bounds_in` takes, of a data file with `BOUNDS` and `NULLS`; nulls without a column."""
    if column is None:
        return [F.lit(None).cast(kind) for kind in ("binary", "binary", "bigint")]
    return [F.try_element_at(F.map_from_entries(file[edge]), F.lit(column.field_id)) for edge in _BOUNDS]


def bounds_in(told: Sequence[Any]) -> tuple[Bounds, ...]:
    """Of each column, three values in their order."""
    return tuple(Bounds(*told[at : at + len(_BOUNDS)]) for at in range(0, len(told), len(_BOUNDS)))


def _read(spark: SparkSession, manifests: Sequence[Manifest], asked: Asked, most: int) -> dict[str, list[Entry]] | None:
    """Name of a manifest's file -> its entries; None where they are more than `most`."""
    has_bounds = any(asked.columns)
    more = {"referenced_data_file": "string", **struct_of(asked.parted), **(NULLS if has_bounds else {})}
    file = F.col("data_file")
    told = stored_entries(spark, manifests, bounds=has_bounds, more=more).select(
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
        *(edge for column in asked.columns for edge in bounds_of(file, column)),
        *(file["partition"][each.stored] for each in asked.parted),
    )
    rows = first_of_each_task(told, most + 1).collect()
    if len(rows) > most:  # a writer that miscounts
        return None
    by_name = {manifest.path.rsplit("/", 1)[-1]: manifest for manifest in manifests}
    found: dict[str, list[Entry]] = {}
    for name, status, snapshot_id, age, content, path, count, form, size, of_file, *more_values in rows:
        bounds, partition = more_values[: 3 * len(_BOUNDS)], more_values[3 * len(_BOUNDS) :]
        manifest = by_name[name]
        entry = Entry(
            snapshot_id=manifest.snapshot_id if snapshot_id is None else snapshot_id,
            status=status,
            content=content or 0,
            path=path,
            rows=count,
            spec_id=manifest.spec_id,
            bounds=bounds_in(bounds),
            partition=tuple(map(stored_text, partition)),
            format=form.lower(),
            bytes=size,
            of_file=of_file,
            age=(manifest.sequence_number if status == 1 else 0) if age is None else age,
        )
        found.setdefault(name, []).append(entry)
    return found


def _number(bound: bytes | None) -> int | None:
    """Little-endian two's complement of four or eight bytes (Iceberg spec, appendix D): a file older than the promotion
    of its column to long keeps four."""
    if bound is None or len(bound) not in _BOUND_BYTES:
        return None
    return int.from_bytes(bound, "little", signed=True)
