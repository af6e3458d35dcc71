"""Where commits stand in the source whose manifests do not say: read from their rows, as long as these are few.

A writer leaves bounds out where the table tells it to (`write.metadata.metrics`), of columns behind the hundredth, and
in Avro files. Where a file holds several source partitions, its bounds tell nothing of any: so it is where a job has
fewer writers than its source has partitions.
"""

from collections.abc import Sequence
from dataclasses import replace

from pyspark.errors import AnalysisException
from pyspark.sql import SparkSession

from bot.domain.contract import TableContract
from bot.domain.looked import NotSeen
from bot.domain.table import Snapshot, TableState
from spark_tasks._columns_of_before import renamed
from spark_tasks._coverage import brought_by
from spark_tasks._covered import Covered, Range
from spark_tasks._data_files import DataFile, data_added, files_of, orc_times
from spark_tasks._source_partition import WHOLE, of_value
from spark_tasks._source_ranges import source_columns
from spark_tasks._source_runs import run_of

MOST_FILES = 2_000
MOST_BYTES = 64 * 1024 * 1024
_VALUE_BYTES = 8
"""Of one value of a column, at the most: positions rise and partitions repeat, so that they are mostly kept in less."""
_BY_COLUMN = frozenset({"parquet", "orc"})


def with_rows_read(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot], covered: Covered
) -> Covered:
    """`covered`, with ranges and rows without a position read from the files of commits that are `unstated` or `mixed`:
    of those that a Flink run made, the others are not compared. What is not read stays so, and `unread` says why. None
    is where the contract names no position, or columns that cannot be read as one.

    Cost: manifests of these commits, and the position, with the source partition, of all rows of theirs: up to
    `MOST_FILES` and `MOST_BYTES`, else none.
    """
    position, _, of = source_columns(table, contract)
    asked = frozenset(each.snapshot_id for each in commits if run_of(table, each) is not None)
    if position is None or (of is None and contract.position_partition is not None) or len(asked) < 2:
        return replace(covered, unstated=frozenset(), mixed=frozenset())
    untold = replace(covered, unstated=covered.unstated & asked, mixed=covered.mixed & asked)
    wanted = [each for each in commits if each.snapshot_id in untold.unstated | untold.mixed]
    if not wanted:
        return untold
    found = readable(spark, table, contract, wanted)
    return replace(untold, unread=found) if isinstance(found, str) else _read(spark, table, contract, untold, wanted)


def readable(
    spark: SparkSession, table: TableState, contract: TableContract, commits: Sequence[Snapshot]
) -> tuple[Sequence[DataFile], list[str]] | str:
    """(The files that these commits added, the names of the source partition's column, if there is one, and of the
    position's), where their rows are few enough to be read; else why not, the end of a
    sentence. The contract names a position. Cost: manifests of these commits."""
    position, _, of = source_columns(table, contract)
    names = [each.name for each in (of, position) if each is not None]
    kind = of.type if of is not None else "string"
    if kind not in WHOLE and kind != "string":
        return f"{names[0]} holds {kind}, which is not compared"
    if renamed(table, names):
        return f"{' or '.join(names)} was renamed since they were written"
    if sum(each.counted("added-data-files") for each in commits) > MOST_FILES:
        return f"to read their rows is too much: more than {MOST_FILES:,} files"
    files = data_added(files_of(spark, commits))
    if sum(_bytes(file, len(names)) for file in files) > MOST_BYTES:
        return f"to read their rows is too much: more than {MOST_BYTES // 1024**2:,} MB"
    if orc_times(table, {file.format for file in files}, names):
        return "Spark cannot read the ORC files among theirs"
    return files, names


def _read(
    spark: SparkSession, table: TableState, contract: TableContract, covered: Covered, wanted: Sequence[Snapshot]
) -> Covered:
    try:
        brought = brought_by(spark, table, contract, wanted)
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return replace(covered, unread="a file of theirs is gone from storage")
    if isinstance(brought, NotSeen):
        return replace(covered, unread=brought.reason.rstrip("."))
    of = source_columns(table, contract)[2]
    ranges = tuple(
        Range(commit, of_value(part.partition, of.type) if of is not None else "", part.low, part.high, part.rows)
        for commit, parts in brought.items()
        for part in parts
        if part.low is not None and part.high is not None
    )
    bare = {commit: sum(part.bare for part in parts) for commit, parts in brought.items()}
    return replace(
        covered,
        positions=tuple(each for each in covered.positions if each.snapshot_id not in brought) + ranges,
        unstated=frozenset(),
        mixed=frozenset(),
        untold=covered.untold - brought.keys(),
        bare={**covered.bare, **{each: rows for each, rows in bare.items() if rows}},
    )


def _bytes(file: DataFile, columns: int) -> int:
    """Of what is read of it, at the most: a format that keeps rows together is read whole."""
    values, size = file.rows * columns * _VALUE_BYTES, file.size
    if file.format not in _BY_COLUMN:
        return size if size is not None else MOST_BYTES + 1
    return values if size is None else min(values, size)
