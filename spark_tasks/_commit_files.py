"""What each commit's own files tell: counts, writers, and the range of time and position they cover."""

from collections.abc import Sequence
from datetime import UTC, date, datetime, time, timedelta

from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.record import Record
from bot.domain.table import Column as TableColumn
from bot.domain.table import Snapshot, TableState
from spark_tasks._bounds import range_columns, with_bounds
from spark_tasks._file_names import WRITER_IN_PATH
from spark_tasks._reading import entries

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_KINDS_OF_ENTRY = 4
"""Added and removed, data and deletes."""
_RANGES = ("event_from", "event_until", "position_from", "position_until")


class CommitFiles(Record):
    """What the files of one commit tell. Ranges are of the data files that it added, as Iceberg stores them; None
    where a bound is not stated."""

    added_files: int = 0
    added_rows: int = 0
    removed_files: int = 0
    removed_rows: int = 0
    added_delete_files: int = 0
    removed_delete_files: int = 0
    subtasks: tuple[int, ...] | None = None
    """Of the files added; None if it added none, or one with another engine's name."""
    attempts: tuple[int, ...] | None = None
    spec_ids: tuple[int, ...] = ()
    event_from: int | None = None
    event_until: int | None = None
    position_from: int | None = None
    position_until: int | None = None


def files_by_commit(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> dict[SnapshotId, CommitFiles]:
    """Commits that added or removed files. Reads the manifests that they wrote; nothing without commits."""
    if not commits:
        return {}
    read = entries(spark, commits, bounds=True)
    event, position = range_columns(table, contract)
    told = files_of_commits(read, event, position).limit(len(commits) * _KINDS_OF_ENTRY).collect()
    by_commit: dict[SnapshotId, list[Row]] = {}
    for row in told:
        by_commit.setdefault(SnapshotId(row["snapshot_id"]), []).append(row)
    return {snapshot_id: _files(rows) for snapshot_id, rows in by_commit.items()}


def files_of_commits(read: DataFrame, event: TableColumn | None, position: TableColumn | None) -> DataFrame:
    """Shape: snapshot_id, is_added, is_data, files, rows, named (files with Flink's name), writers (array of
    `subtask-attempt`), spec_ids (array of int), event_from, event_until, position_from, position_until (bigint, as
    Iceberg stores them; null without bounds); one row per commit and kind of entry."""
    writer = F.regexp_extract("file_path", WRITER_IN_PATH, 1)
    placed = with_bounds(read, {"event": event, "position": position}).select(
        "snapshot_id",
        (F.col("status") == 1).alias("is_added"),
        (F.col("content") == 0).alias("is_data"),
        "record_count",
        "spec_id",
        F.nullif(writer, F.lit("")).alias("writer"),
        *_RANGES,
    )
    return placed.groupBy("snapshot_id", "is_added", "is_data").agg(
        F.count("*").alias("files"),
        F.sum("record_count").alias("rows"),
        F.count("writer").alias("named"),
        F.collect_set("writer").alias("writers"),
        F.collect_set("spec_id").alias("spec_ids"),
        *((F.min if name.endswith("_from") else F.max)(name).alias(name) for name in _RANGES),
    )


def _files(rows: Sequence[Row]) -> CommitFiles:
    """Of one commit's rows."""
    told = {(row["is_added"], row["is_data"]): row for row in rows}
    added = [row for row in rows if row["is_added"]]
    new, gone = told.get((True, True)), told.get((False, True))
    new_deletes, gone_deletes = told.get((True, False)), told.get((False, False))
    is_flinks = bool(added) and all(row["named"] == row["files"] for row in added)
    writers = {tuple(map(int, each.split("-"))) for row in added for each in row["writers"]}
    return CommitFiles(
        added_files=new["files"] if new else 0,
        added_rows=new["rows"] if new else 0,
        removed_files=gone["files"] if gone else 0,
        removed_rows=gone["rows"] if gone else 0,
        added_delete_files=new_deletes["files"] if new_deletes else 0,
        removed_delete_files=gone_deletes["files"] if gone_deletes else 0,
        subtasks=tuple(sorted({subtask for subtask, _ in writers})) if is_flinks else None,
        attempts=tuple(sorted({attempt for _, attempt in writers})) if is_flinks else None,
        spec_ids=tuple(sorted({spec for row in added for spec in row["spec_ids"]})),
        **{name: new[name] if new else None for name in _RANGES},
    )


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
