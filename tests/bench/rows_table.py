"""A table of a hundred million narrow rows whose last percent holds a replay."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyiceberg.catalog.sql import SqlCatalog

from tests.bench.entries_table import cache
from tests.tables import ORDERS, of_flink

WINDOW = 20
"""Commits of the window: one percent of the rows together."""
REPLAYED = 5
"""The last so many of them write rows again that the ones before them wrote."""
_PER_FILE = 1_000_000
_COLUMNS = pa.schema(
    [
        ("order_id", pa.int64()),
        ("source_position", pa.int64()),
        ("event_time", pa.timestamp("us", tz="UTC")),
        ("customer", pa.int32()),
    ]
)
_ODD = 0x9E3779B97F4A7C15
"""Spreads consecutive numbers over 64 bits, each to a place of its own."""
_START_US = 1_760_000_000_000_000


def rows_table(rows: int, *, text_key: bool = False) -> Path:
    """The folder of a catalog (`catalog.db`) with `sales.orders` of so many rows; built if it is not there.

    With `text_key` order ids are text that is spread over its whole range, as random ids are."""
    home = cache() / f"{rows}-rows{'-text-key' if text_key else ''}"
    if (home / "built").exists():
        return home
    shutil.rmtree(home, ignore_errors=True)
    (home / "files").mkdir(parents=True)
    catalog = SqlCatalog("lake", uri=f"sqlite:///{home}/catalog.db", warehouse=f"file://{home}/lake")
    catalog.create_namespace("sales")
    columns = _COLUMNS.set(0, pa.field("order_id", pa.string())) if text_key else _COLUMNS
    table = catalog.create_table(ORDERS, schema=columns)
    per_commit = rows // 100 // WINDOW
    base = rows - per_commit * WINDOW
    table.add_files([_write(home, columns, span) for span in _spans(0, base)], of_flink("a", 1))
    for place in range(WINDOW):
        replayed = place >= WINDOW - REPLAYED
        first = base + (place - (REPLAYED if replayed else 0)) * per_commit
        names = [_write(home, columns, range(first, first + per_commit), "again" if replayed else "once")]
        table.add_files(names, of_flink("b" if replayed else "a", place + 2))
    catalog.close()
    (home / "built").touch()
    return home


def size_of(home: Path) -> int:
    """Bytes on disk."""
    return sum(file.stat().st_size for file in home.rglob("*") if file.is_file())


def _spans(first: int, end: int) -> Iterator[range]:
    for start in range(first, end, _PER_FILE):
        yield range(start, min(start + _PER_FILE, end))


def _write(home: Path, schema: pa.Schema, span: range, name: str = "once") -> str:
    """One file: keys in an order of their own, one event each millisecond."""
    place = pa.array(range(len(span)), pa.int64()).to_numpy()
    order = span.start + (place * 7_919) % len(span)
    position = span.start + place
    is_text = schema.field("order_id").type == pa.string()
    columns = {
        "order_id": [f"{(each * _ODD) % 2**64:016x}" for each in order.tolist()] if is_text else order,
        "source_position": position,
        "event_time": pa.array(_START_US + position * 1_000, _COLUMNS.field("event_time").type),
        "customer": pa.array(position % 1_000, pa.int32()),
    }
    path = home / "files" / f"{name}-{span.start}.parquet"
    encodings = dict.fromkeys(("source_position", "event_time"), "DELTA_BINARY_PACKED")
    encodings["order_id"] = "PLAIN" if is_text else "DELTA_BINARY_PACKED"
    pq.write_table(
        pa.table(columns, schema=schema),
        path,
        compression="zstd",
        use_dictionary=["customer"],
        column_encoding=encodings,
    )
    return f"file://{path}"
