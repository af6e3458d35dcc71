"""Partition values of files, as manifests hold them: which fields can be read, and how."""

import re
from collections.abc import Iterable
from typing import NamedTuple

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.table import PartitionField, TableState

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
