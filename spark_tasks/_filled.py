"""Whether files fill a column, from the counts that their manifests keep; no file of rows is read."""

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.record import Record
from bot.domain.table import Column as TableColumn
from bot.domain.table import Snapshot
from spark_tasks._reading import entries

_COUNTS = dict.fromkeys(
    ("null_value_counts", "value_counts", "column_sizes"), "array<struct<key: int, value: bigint>>"
)  # fmt: skip


class Filling(Record):
    """How the data files of some commits fill one column."""

    column: TableColumn
    files: int
    rows: int
    without: int
    """Files that leave it null in every row, or do not have it."""
    untold: int
    """Files that have it and keep no counts of it."""
    nulls: int
    """Rows in which it is null, as far as told."""


def fillings(
    spark: SparkSession, commits: Sequence[Snapshot], columns: Sequence[TableColumn]
) -> tuple[Filling, ...]:  # fmt: skip
    """One for each column, over the data files that these commits added. Cost: their manifests."""
    if not commits or not columns:
        return tuple(Filling(column=c, files=0, rows=0, without=0, untold=0, nulls=0) for c in columns)
    files = entries(spark, commits, more=_COUNTS).where("status = 1 AND content = 0 AND record_count > 0")
    told = _counted(files, columns).first()
    assert told is not None
    return tuple(
        Filling(
            column=each,
            files=int(told["files"]),
            rows=int(told["rows"] or 0),
            without=int(told[f"without_{each.field_id}"]),
            untold=int(told[f"untold_{each.field_id}"]),
            nulls=int(told[f"nulls_{each.field_id}"] or 0),
        )
        for each in columns
    )


def _counted(files: DataFrame, columns: Sequence[TableColumn]) -> DataFrame:
    """Shape: files, rows, then without_i, untold_i, nulls_i for each field id; one row.

    A file has a column when any of its counts names it. A nested column is named by its leaves only and is not told.
    """
    told: list[Column] = [F.count("*").alias("files"), F.sum("record_count").alias("rows")]
    for each in columns:
        nulls = _of("null_value_counts", each)
        is_there = nulls.isNotNull() | _of("value_counts", each).isNotNull() | _of("column_sizes", each).isNotNull()
        keeps_counts = F.coalesce(F.size(F.coalesce("column_sizes", "value_counts")), F.lit(0)) > 0
        is_lacking = ~is_there & keeps_counts
        is_null = is_lacking | (nulls == F.col("record_count"))
        told += [
            F.count_if(F.coalesce(is_null, F.lit(False))).alias(f"without_{each.field_id}"),
            F.count_if(~is_lacking & nulls.isNull()).alias(f"untold_{each.field_id}"),
            F.sum(F.when(is_lacking, F.col("record_count")).otherwise(nulls)).alias(f"nulls_{each.field_id}"),
        ]
    return files.agg(*told)


def _of(counts: str, column: TableColumn) -> Column:
    return F.get(F.filter(counts, lambda entry: entry["key"] == column.field_id), F.lit(0))["value"]
