"""Rows that can be copies of the window's rows, read as cheaply as exactness allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from spark_tasks._reading import column, operations, rows_appended, rows_at
from spark_tasks._window import Reach

FILE = "_file"
IN_WINDOW = "_in_window"
PARTITION = "_lies_in"
_NARROW = ("int", "long", "date", "timestamp", "decimal")
"""Iceberg types whose range says much about a row; ids in text are spread over the whole range."""


@dataclass(frozen=True)
class Copies:
    """The window's live rows, and older live rows that may repeat them."""

    frame: DataFrame
    """Shape: `keys`, `_file`, `_in_window`, `_lies_in` (its partition as text; null where the table has none); one row
    per live row. Rows below the window that no row of the window can repeat are left out."""
    keys: tuple[str, ...]
    """Names of the key columns in `frame`, in the contract's order: its own could be those of our columns."""
    window_rows: int
    sources: tuple[str, ...]
    """What was read, in words."""


def with_key_in(rows: DataFrame, wanted: DataFrame, keys: Sequence[str]) -> DataFrame:
    """The rows whose key is among `wanted` (no duplicates needed); null is a value like any other."""
    renamed = wanted.select(*(F.col(key).alias(f"wanted_{key}") for key in keys))
    same = [F.col(key).eqNullSafe(F.col(f"wanted_{key}")) for key in keys]
    return rows.join(renamed, on=reduce(and_, same), how="left_semi")


def in_range_of(wanted: DataFrame, rows: DataFrame, names: Sequence[str]) -> tuple[DataFrame, tuple[str, ...], int]:
    """(`rows` within the range that `wanted` has of each of `names`, the names that bound, how many are wanted).

    A column that is null in some wanted row bounds nothing. Files whose bounds lie outside are not read.
    Cost: one aggregation over `wanted` happens here.
    """
    edges = wanted.agg(F.count("*").alias("rows"), *_edges(names)).first()
    assert edges is not None
    bounds = tuple(name for name in names if edges[f"{name}.count"] == edges["rows"] > 0)
    for name in bounds:
        kind = rows.schema[name].dataType
        low, high = (F.lit(edges[f"{name}.{end}"]).cast(kind) for end in ("low", "high"))
        rows = rows.where(F.col(name).between(low, high))
    return rows, bounds, int(edges["rows"])


def copies_of(spark: SparkSession, ask: Ask, reach: Reach, written: DataFrame) -> Copies:
    """Where the window only appends, its rows are read alone and older ones within their bounds.

    Where it also overwrites, deletes or compacts, rows are told apart by the file that they live in (`written`:
    one row per file of the window), which reads the key columns of the whole table.
    Cost: one aggregation over the window's rows happens here.
    """
    names = _names(ask)
    keys = tuple(names)[: len(ask.contract.key)]
    chosen = [*(column(name).alias(alias) for alias, name in names.items()), F.col(FILE), _partition(ask)]
    if reach.since is None or operations(reach.main) != {"append"}:
        live = rows_at(spark, ask.observation.table, reach.until).select(*chosen)
        return _at_the_end(live, keys, written)
    inside = rows_appended(spark, ask.observation.table, reach.since, reach.until).select(*chosen)
    older = rows_at(spark, ask.observation.table, reach.since).select(*chosen)
    older, bounds, window_rows = in_range_of(inside, older, tuple(names))
    older = with_key_in(older, inside.select(*keys).distinct(), keys)
    both = inside.withColumn(IN_WINDOW, F.lit(True)).unionByName(older.withColumn(IN_WINDOW, F.lit(False)))
    within = f" with {' and '.join(names[bound] for bound in bounds)} in the window's range" if bounds else ""
    return Copies(
        frame=both.select(*keys, FILE, PARTITION, IN_WINDOW),
        keys=keys,
        window_rows=window_rows,
        sources=("rows that the window appended", f"older rows{within}"),
    )


def _at_the_end(live: DataFrame, keys: tuple[str, ...], written: DataFrame) -> Copies:
    files = F.broadcast(written.select(F.col("file_path").alias("_written")).distinct())
    marked = live.join(files, F.col(FILE) == F.col("_written"), "left").select(
        *keys, FILE, PARTITION, F.col("_written").isNotNull().alias(IN_WINDOW)
    )
    return Copies(
        frame=marked,
        keys=keys,
        window_rows=marked.where(F.col(IN_WINDOW)).count(),
        sources=("all live rows, because the window does more than append or begins with the table",),
    )


def _partition(ask: Ask) -> Column:
    table = ask.observation.table
    is_partitioned = any(table.specs.values()) or bool(table.partitioning)
    return (F.col("_partition").cast("string") if is_partitioned else F.lit(None).cast("string")).alias(PARTITION)


def _names(ask: Ask) -> dict[str, str]:
    """Alias -> column whose range in the window bounds its copies: always the key; a copy has the same.

    A key of text alone narrows nothing, so the event's time (else its source position) joins it: a replayed
    record carries the time and position that it had. The answer names the bounds that were used.
    """
    contract = ask.contract
    kinds = {column.name: column.type for column in ask.observation.table.columns}
    named = {f"key_{place}": name for place, name in enumerate(contract.key)}
    is_narrow = any(kinds[name].startswith(_NARROW) for name in contract.key)
    extra = None if is_narrow else contract.event_time or contract.position
    return named if extra is None or extra in contract.key else {**named, "bound": extra}


def _edges(columns: Sequence[str]) -> list[Column]:
    """Lowest and highest as text: exact for every type, and free of the client's time zone."""
    return [
        told.alias(f"{name}.{end}")
        for name in columns
        for end, told in (
            ("low", F.min(name).cast("string")),
            ("high", F.max(name).cast("string")),
            ("count", F.count(name)),
        )
    ]
