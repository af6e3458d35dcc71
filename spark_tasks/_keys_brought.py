"""The keys that stand in the files that a window brought: what can be a copy of its rows has one of them."""

from collections.abc import Mapping
from functools import reduce
from operator import or_

from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from spark_tasks._columns_of_before import renamed
from spark_tasks._data_files import DataFile, rows_in
from spark_tasks._orc_times import orc_times
from spark_tasks._reading import column, entries
from spark_tasks._window import Reach

MAX_FILES = 5_000
"""In a window of more, all live rows are read instead."""


def keys_brought(spark: SparkSession, ask: Ask, reach: Reach, names: Mapping[str, str]) -> DataFrame | None:
    """Shape: `names` (alias -> the table's column); one row per row in a file that the window's commits added and that
    is live at its end, its deleted rows too.

    None where these files do not tell the key as the table does: it was renamed, or it is null in some row (a file
    from before the column was added has none, and the table may give it a default), or the files are too many, or are
    ORC files that Spark cannot read. Also where one is gone from storage: the reading of the table then says which.
    Cost: the window's manifests, and the key columns of its files.
    """
    files = _still_there(spark, reach)
    table, key = ask.observation.table, ask.contract.key
    if files is None or renamed(table, key) or orc_times(table, {file.format for file in files}, key):
        return None
    told = rows_in(spark, table, files, list(names.values()))
    found = told.select(*(column(name).alias(alias) for alias, name in names.items()))
    is_null = reduce(or_, (F.col(alias).isNull() for alias in names))
    try:
        return None if found.where(is_null).limit(1).count() else found
    except AnalysisException as error:
        if error.getCondition() != "PATH_NOT_FOUND":
            raise
        return None


def _still_there(spark: SparkSession, reach: Reach) -> list[DataFile] | None:
    """Those whose last commit in the window added them; None above `MAX_FILES`. Reads the manifests now."""
    read = entries(spark, reach.main).where("content = 0")
    rows = read.select("snapshot_id", "status", "file_path", "file_format").limit(MAX_FILES + 1).collect()
    if len(rows) > MAX_FILES:
        return None
    order = {int(commit.snapshot_id): place for place, commit in enumerate(reach.main)}
    last: dict[str, Row] = {}
    for row in sorted(rows, key=lambda row: (order[row["snapshot_id"]], row["status"] == 1)):
        last[row["file_path"]] = row
    return [_file(row) for row in last.values() if row["status"] == 1]


def _file(row: Row) -> DataFile:
    return DataFile(
        snapshot_id=row["snapshot_id"],
        is_added=True,
        content="data",
        path=row["file_path"],
        format=row["file_format"].lower(),
        rows=0,
        low=None,
        high=None,
    )
