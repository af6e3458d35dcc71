"""What each commit's own files tell: counts, writers, and the range of time and position they cover."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from pyspark.sql import Column, DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.table import Column as TableColumn
from bot.domain.table import Snapshot, TableState
from spark_tasks._file_names import ATTEMPT_IN_FILE_NAME, SUBTASK_IN_FILE_NAME
from spark_tasks._reading import entries

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = frozenset({"int", "long"})
_TIMES = frozenset({"timestamp", "timestamptz", "timestamp_ns", "timestamptz_ns", "date"})
_NUMBER_OF_DIGITS = {"int": 8, "long": 16}
_NAME = r"[^/]+$"


def files_by_commit(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> dict[SnapshotId, Row]:
    """Commit -> its row of `files_of_commits`. Reads the manifests that the commits wrote; nothing without commits."""
    if not commits:
        return {}
    read = entries(spark, commits, bounds=True)
    event, position = range_columns(table, contract)
    told = files_of_commits(read, event, position).limit(len(commits)).collect()
    return {SnapshotId(row["snapshot_id"]): row for row in told}


def range_columns(table: TableState, contract: TableContract) -> tuple[TableColumn | None, TableColumn | None]:
    """(event time, position) as the contract names them, where their type has bounds that are whole numbers and
    their values may be shown."""
    by_name = {column.name: column for column in table.columns if column.name not in contract.redacted}
    event = by_name.get(contract.event_time) if contract.event_time else None
    position = by_name.get(contract.position) if contract.position else None
    return (
        event if event is not None and event.type in _TIMES else None,
        position if position is not None and position.type in _WHOLE else None,
    )


def files_of_commits(read: DataFrame, event: TableColumn | None, position: TableColumn | None) -> DataFrame:
    """Shape: snapshot_id, added_files, added_rows, removed_files, removed_rows (data files), added_delete_files,
    removed_delete_files, names, named, attempts, subtasks, spec_ids (arrays of int), event_from, event_until,
    position_from, position_until (bigint, as Iceberg stores them; null without bounds); one row per commit.

    `named` < `names`: some added file has another engine's name. Ranges are of the data files added.
    """
    is_added, is_data = F.col("status") == 1, F.col("content") == 0
    name = F.regexp_extract("file_path", _NAME, 0)
    attempt, subtask = (F.regexp_extract(name, form, 1) for form in (ATTEMPT_IN_FILE_NAME, SUBTASK_IN_FILE_NAME))
    is_new_data = is_added & is_data
    return (
        read.withColumn("attempt", F.when(is_added & (attempt != ""), attempt.cast("int")))
        .withColumn("subtask", F.when(is_added & (subtask != ""), subtask.cast("int")))
        .groupBy("snapshot_id")
        .agg(
            F.count_if(is_new_data).alias("added_files"),
            F.sum(F.when(is_new_data, F.col("record_count")).otherwise(0)).alias("added_rows"),
            F.count_if(~is_added & is_data).alias("removed_files"),
            F.sum(F.when(~is_added & is_data, F.col("record_count")).otherwise(0)).alias("removed_rows"),
            F.count_if(is_added & ~is_data).alias("added_delete_files"),
            F.count_if(~is_added & ~is_data).alias("removed_delete_files"),
            F.count_if(is_added).alias("names"),
            F.count("attempt").alias("named"),
            F.array_sort(F.collect_set("attempt")).alias("attempts"),
            F.array_sort(F.collect_set("subtask")).alias("subtasks"),
            F.array_sort(F.collect_set(F.when(is_added, F.col("spec_id")))).alias("spec_ids"),
            F.min(F.when(is_new_data, bound("lower_bounds", event))).alias("event_from"),
            F.max(F.when(is_new_data, bound("upper_bounds", event))).alias("event_until"),
            F.min(F.when(is_new_data, bound("lower_bounds", position))).alias("position_from"),
            F.max(F.when(is_new_data, bound("upper_bounds", position))).alias("position_until"),
        )
    )


def bound(edge: str, column: TableColumn | None) -> Column:
    """A bound as bigint: little-endian two's complement of four or eight bytes (Iceberg spec, appendix D). A file
    older than the promotion of its column to long keeps four. Null without a column, or where none is stated."""
    if column is None:
        return F.lit(None).cast("bigint")
    value = F.get(F.filter(edge, lambda entry: entry["key"] == column.field_id), F.lit(0))["value"]
    little = F.hex(value)
    return F.when(F.length(little) == _NUMBER_OF_DIGITS["long"], _number(little, 8)).when(
        F.length(little) == _NUMBER_OF_DIGITS["int"], _number(little, 4)
    )


def _number(little: Column, size: int) -> Column:
    """The signed number of so many little-endian bytes in hexadecimal digits."""
    big = F.concat(*(F.substring(little, 2 * place + 1, 2) for place in reversed(range(size))))
    if size == 8:
        return F.conv(big, 16, -10).cast("bigint")
    unsigned = F.conv(big, 16, 10).cast("bigint")
    return F.when(unsigned >= 2**31, unsigned - 2**32).otherwise(unsigned)


def moment_of(bound: int | None, column: TableColumn | None) -> datetime | None:
    """A bound of a time column as a moment in UTC; None where it lies outside of the calendar."""
    if bound is None or column is None:
        return None
    try:
        if column.type == "date":
            return datetime.combine(date(1970, 1, 1) + timedelta(days=bound), time(), tzinfo=UTC)
        return _EPOCH + timedelta(microseconds=bound // 1000 if column.type.endswith("_ns") else bound)
    except OverflowError:
        return None
