"""Where commits stand in the source whose manifests do not say: read from their rows, as long as these are few.

A writer leaves bounds out where the table tells it to (`write.metadata.metrics`), of columns behind the hundredth, and
in Avro files.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import TableContract
from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot, TableState
from spark_tasks._columns_of_before import renamed
from spark_tasks._data_files import DataFile, data_added, files_of, grouped_in
from spark_tasks._reading import column
from spark_tasks._source_ranges import MAX_RANGES, Covered, Range, source_columns
from spark_tasks._source_runs import run_of

MOST_FILES = 2_000
MOST_BYTES = 64 * 1024 * 1024
_VALUE_BYTES = 8
"""Of one value of a column, at the most: positions rise and partitions repeat, so that they are mostly kept in less."""
_BY_COLUMN = frozenset({"parquet", "orc"})
_WIDTHS = {"int": 4, "long": 8}


def with_rows_read(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot], covered: Covered
) -> Covered:
    """`covered`, with ranges and rows without a position read from the files of commits that state none: of those that
    a Flink run made, the others are not compared. What is not read stays `unstated`, and `unread` says why. None is
    unstated where the contract names no position, or columns that cannot be read as one.

    Cost: manifests of these commits, and the position, with the source partition, of all rows of theirs: up to
    `MOST_FILES` and `MOST_BYTES`, else none.
    """
    position, _, of = source_columns(table, contract)
    asked = {each.snapshot_id for each in commits if run_of(table, each) is not None}
    wanted = [each for each in commits if each.snapshot_id in covered.unstated and each.snapshot_id in asked]
    if position is None or (of is None and contract.position_partition is not None) or len(asked) < 2:
        return replace(covered, unstated=frozenset())
    unstated = replace(covered, unstated=frozenset(each.snapshot_id for each in wanted))
    if not wanted:
        return unstated
    names = [each.name for each in (of, position) if each is not None]
    kind = of.type if of is not None else "string"
    if kind not in _WIDTHS and kind != "string":
        return replace(unstated, unread=f"{names[0]} holds {kind}, which is not compared")
    if renamed(table, names):
        return replace(unstated, unread=f"{' or '.join(names)} was renamed since they were written")
    if sum(each.counted("added-data-files") for each in wanted) > MOST_FILES:
        return replace(unstated, unread=f"to read their rows is too much: more than {MOST_FILES:,} files")
    files = data_added(files_of(spark, wanted))
    if sum(_bytes(file, len(names)) for file in files) > MOST_BYTES:
        return replace(unstated, unread=f"to read their rows is too much: more than {MOST_BYTES // 1024**2:,} MB")
    return _read(spark, table, unstated, files, names, kind)


def _read(
    spark: SparkSession, table: TableState, covered: Covered, files: Sequence[DataFile], names: list[str], kind: str
) -> Covered:
    place = column(names[-1]).cast("bigint")
    partition = column(names[0]).cast("string") if len(names) > 1 else F.lit(None).cast("string")
    ends = {"low": F.min(place), "high": F.max(place), "bare": F.count_if(place.isNull())}
    of_files = grouped_in(spark, table, files, names, {"partition": partition}, ends)
    grouped = of_files.groupBy("snapshot_id", "partition").agg(
        F.min("low").alias("low"), F.max("high").alias("high"), F.sum("bare").alias("bare")
    )
    try:
        found = grouped.limit(MAX_RANGES + 1).collect()
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return replace(covered, unread="a file of theirs is gone from storage")
    if len(found) > MAX_RANGES:
        return replace(covered, unread=f"they are of more than {MAX_RANGES:,} source partitions")
    ranges = tuple(_range(row, kind) for row in found if row["low"] is not None)
    bare = {each: _sum(found, each, "bare") for each in covered.unstated}
    return replace(
        covered,
        positions=tuple(each for each in covered.positions if each.snapshot_id not in covered.unstated) + ranges,
        unstated=frozenset(),
        bare={**covered.bare, **{each: rows for each, rows in bare.items() if rows}},
    )


def _bytes(file: DataFile, columns: int) -> int:
    """Of what is read of it, at the most: a format that keeps rows together is read whole."""
    values, size = file.rows * columns * _VALUE_BYTES, file.size
    if file.format not in _BY_COLUMN:
        return size if size is not None else MOST_BYTES + 1
    return values if size is None else min(values, size)


def _range(row: Row, kind: str) -> Range:
    return Range(SnapshotId(row["snapshot_id"]), _as_stored(row["partition"], kind), row["low"], row["high"])


def _as_stored(partition: str | None, kind: str) -> str:
    """The value as bounds of files have it, in hexadecimal digits, so that it can be compared with theirs."""
    if partition is None:
        return ""
    if kind in _WIDTHS:
        return int(partition).to_bytes(_WIDTHS[kind], "little", signed=True).hex().upper()
    return partition.encode().hex().upper()


def _sum(found: Iterable[Row], commit: SnapshotId, name: str) -> int:
    return sum(row[name] for row in found if row["snapshot_id"] == commit)
