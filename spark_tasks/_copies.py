"""Rows that can be copies of the window's rows, read as cheaply as exactness allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from spark_tasks._reading import operations, rows_appended, rows_at
from spark_tasks._window import Reach

FILE = "_file"
IN_WINDOW = "_in_window"
_NARROW = ("int", "long", "date", "timestamp", "decimal")
"""Iceberg types whose range says much about a row; ids in text are spread over the whole range."""


@dataclass(frozen=True)
class Copies:
    """The window's live rows, and older live rows that may repeat them."""

    frame: DataFrame
    """Shape: the key columns, `_file`, `_in_window`; one row per live row. Rows below the window that no row
    of the window can repeat are left out."""
    window_rows: int
    sources: tuple[str, ...]
    """What was read, in words."""


def with_key_in(rows: DataFrame, keys: DataFrame, key: Sequence[str]) -> DataFrame:
    """The rows whose key is among `keys` (no duplicates needed); null is a value like any other."""
    renamed = keys.select(*(F.col(column).alias(f"_key_{place}") for place, column in enumerate(key)))
    same = [F.col(column).eqNullSafe(F.col(f"_key_{place}")) for place, column in enumerate(key)]
    return rows.join(renamed, on=reduce(and_, same), how="left_semi")


def copies_of(spark: SparkSession, ask: Ask, reach: Reach, written: DataFrame) -> Copies:
    """Where the window only appends, its rows are read alone and older ones within their bounds.

    Where it also overwrites, deletes or compacts, rows are told apart by the file that they live in (`written`:
    one row per file of the window), which reads the key columns of the whole table.
    Cost: one aggregation over the window's rows happens here.
    """
    if reach.since is None or operations(reach.main) != {"append"}:
        return _at_the_end(spark, ask, reach, written)
    columns = _columns(ask)
    inside = rows_appended(spark, ask.observation.table, reach.since, reach.until).select(*columns, FILE)
    pruned_by = _pruned_by(ask)
    edges = inside.agg(F.count("*").alias("rows"), *_edges(pruned_by)).first()
    assert edges is not None
    older = rows_at(spark, ask.observation.table, reach.since).select(*columns, FILE)
    bounds = []
    for column in pruned_by:
        if edges[f"{column}.count"] == edges["rows"] and edges["rows"]:
            low, high = edges[f"{column}.low"], edges[f"{column}.high"]
            kind = older.schema[column].dataType
            older = older.where(F.col(column).between(F.lit(low).cast(kind), F.lit(high).cast(kind)))
            bounds.append(column)
    keys = inside.select(*ask.contract.key).distinct()
    older = with_key_in(older, keys, ask.contract.key)
    both = inside.withColumn(IN_WINDOW, F.lit(True)).unionByName(older.withColumn(IN_WINDOW, F.lit(False)))
    within = f" with {' and '.join(bounds)} in the window's range" if bounds else ""
    return Copies(
        frame=both.select(*ask.contract.key, FILE, IN_WINDOW),
        window_rows=int(edges["rows"]),
        sources=("rows that the window appended", f"older rows{within}"),
    )


def _at_the_end(spark: SparkSession, ask: Ask, reach: Reach, written: DataFrame) -> Copies:
    live = rows_at(spark, ask.observation.table, reach.until).select(*ask.contract.key, FILE)
    files = F.broadcast(written.select(F.col("file_path").alias("_written")).distinct())
    marked = live.join(files, F.col(FILE) == F.col("_written"), "left").select(
        *ask.contract.key, FILE, F.col("_written").isNotNull().alias(IN_WINDOW)
    )
    return Copies(
        frame=marked,
        window_rows=marked.where(F.col(IN_WINDOW)).count(),
        sources=("all live rows, because the window does more than append or begins with the table",),
    )


def _columns(ask: Ask) -> list[str]:
    return list(dict.fromkeys([*ask.contract.key, *_pruned_by(ask)]))


def _pruned_by(ask: Ask) -> list[str]:
    """Columns whose range in the window bounds its copies: always the key; a copy has the same.

    A key of text alone narrows nothing, so the event's time (else its source position) joins it: a replayed
    record carries the time and position that it had. The answer names the bounds that were used.
    """
    contract = ask.contract
    kinds = {column.name: column.type for column in ask.observation.table.columns}
    narrow = any(kinds[column].startswith(_NARROW) for column in contract.key)
    extra = None if narrow else contract.event_time or contract.position
    return [*contract.key] if extra is None else list(dict.fromkeys([*contract.key, extra]))


def _edges(columns: Sequence[str]) -> list[Column]:
    """Lowest and highest as text: exact for every type, and free of the client's time zone."""
    return [
        told.alias(f"{column}.{name}")
        for column in columns
        for name, told in (
            ("low", F.min(column).cast("string")),
            ("high", F.max(column).cast("string")),
            ("count", F.count(column)),
        )
    ]
