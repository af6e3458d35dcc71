"""The entries of a few manifests, brought here as they are stored.

Where it is known beforehand that there are few, Spark only reads them: to plan and compile an aggregation takes it
longer than to read a thousand entries, and what is left to do is a loop. Where there are more, Spark aggregates.
Few entries may stand in many manifests, as Flink commits them: these are read side by side.

At most so many rows of each task of Spark's, whatever comes before.
"""

from collections.abc import Sequence
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.table import Column as TableColumn
from spark_tasks._bounds import NULLS
from spark_tasks._manifests import Manifest
from spark_tasks._parted import Parted, stored_text, struct_of
from spark_tasks._reading import stored_entries

_ROW_OF_A_TASK = (1 << 33) - 1
"""The bits in which Spark's rising id counts the rows of one task."""


def first_of_each_task(frame: DataFrame, most: int) -> DataFrame:
    """The first `most` rows of each task. Each ends by its own count, where a limit has them wait for each other:
    twenty manifests that two tasks read side by side answer in five sixths of the time. Lazy."""
    row = F.monotonically_increasing_id().bitwiseAND(F.lit(_ROW_OF_A_TASK))
    return frame.where(row < most)


FEW_ENTRIES = 2_500
"""Above, Spark counts: half a megabyte comes here, and the loop would cost as much as the plan."""
_BOUND_BYTES = frozenset({4, 8})
_EDGES = {"lower_bounds": "binary", "upper_bounds": "binary"}
_COUNTED = {"null_value_counts": "bigint"}
"""Fields of a data file, in the order of `Edges`, and the type of what they hold of one column."""


class Edges(NamedTuple):
    """Bounds of one column in one file, as Iceberg stores them; None where they are not stated."""

    stored_low: bytes | None
    stored_high: bytes | None
    nulls: int | None = None
    """Rows in which it is null; None where the file does not count them, or nobody asked."""

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


def few_entries(
    spark: SparkSession,
    manifests: Sequence[Manifest],
    bounded: Sequence[TableColumn | None] = (),
    parted: Sequence[Parted] = (),
    *,
    nulls: bool = False,
) -> list[Entry] | None:
    """Every entry of these manifests, with the edges of these columns (also their `nulls`) and its values of these
    fields; None where there are more than `FEW_ENTRIES`, or nobody says how many. Reads the manifests now."""
    counts = [each for m in manifests for each in (m.added, m.existing, m.removed)]
    if None in counts or sum(m.entries for m in manifests) > FEW_ENTRIES:
        return None
    if not manifests:
        return []
    edges = _EDGES | _COUNTED if nulls else _EDGES
    more = NULLS if nulls and any(bounded) else {}
    read = stored_entries(spark, manifests, bounds=any(bounded), more={**struct_of(parted), **more})
    file = F.col("data_file")
    told = read.select(
        F.col("_metadata.file_name"),
        "status",
        "snapshot_id",
        file["content"],
        file["file_path"],
        file["record_count"],
        *(file["partition"][each.stored] for each in parted),
        *(_edge(edge, type_, column) for column in bounded for edge, type_ in edges.items()),
    )
    rows = first_of_each_task(told, FEW_ENTRIES + 1).collect()
    if len(rows) > FEW_ENTRIES:  # a writer that miscounts
        return None
    by_name = {manifest.path.rsplit("/", 1)[-1]: manifest for manifest in manifests}
    return [_entry(row, by_name[row[0]], len(parted), len(edges)) for row in rows]


def _edge(edge: str, type_: str, column: TableColumn | None) -> Column:
    if column is None:
        return F.lit(None).cast(type_)
    return F.try_element_at(F.map_from_entries(F.col("data_file")[edge]), F.lit(column.field_id))


def _entry(row: Row, manifest: Manifest, fields: int, edges: int) -> Entry:
    _, status, snapshot_id, content, path, count, *more = row
    bounds = more[fields:]
    return Entry(
        snapshot_id=manifest.snapshot_id if snapshot_id is None else snapshot_id,
        status=status,
        content=content or 0,
        path=path,
        rows=count,
        spec_id=manifest.spec_id,
        edges=tuple(map(Edges, *(bounds[place::edges] for place in range(edges)))),
        partition=tuple(map(stored_text, more[:fields])),
    )


def _number(bound: bytes | None) -> int | None:
    """As `_bounds.with_bounds` has it: little-endian two's complement of four or eight bytes."""
    if bound is None or len(bound) not in _BOUND_BYTES:
        return None
    return int.from_bytes(bound, "little", signed=True)
