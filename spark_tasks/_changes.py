"""Keys that the window's commits may have touched, and what each was before and after."""

from collections.abc import Sequence
from functools import reduce

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.ids import SnapshotId
from bot.domain.looked import NotSeen
from spark_tasks._as_stored import exact
from spark_tasks._copies import in_range_of, with_key_in
from spark_tasks._data_files import DataFile, comparable, rows_in
from spark_tasks._reading import column, rows_at, whole_schema

_POSITION_DELETES = "file_path string"


def key_names(ask: Ask) -> list[str]:
    """Names of the key columns in our frames: the contract's own could be those of our columns."""
    return [f"key_{place}" for place in range(len(ask.contract.key))]


def touched_keys(spark: SparkSession, ask: Ask, files: Sequence[DataFile]) -> DataFrame | NotSeen:
    """Shape: the key columns, no duplicates; every key whose rows the window can have changed, and some more.

    They stand in data files that came or went, in data files from which rows were deleted by position, and in
    equality deletes. NotSeen where an equality delete names other columns than the key.
    """
    key, table = list(ask.contract.key), ask.observation.table
    data = [file for file in files if file.content == "data"]
    by_equality = [file for file in files if file.content == "equality-deletes" and file.is_added]
    data += _deleted_from(spark, [f for f in files if f.content == "position-deletes" and f.is_added], data)
    names = [column(name).alias(alias) for name, alias in zip(key, key_names(ask), strict=True)]
    found = rows_in(spark, table, data, key).select(*names)
    if by_equality:
        deleted = rows_in(spark, table, by_equality, key).select(*names)
        if (
            deleted.where(reduce(lambda a, b: a | b, (F.col(name).isNull() for name in key_names(ask))))
            .limit(1)
            .count()
        ):
            return NotSeen(
                source=f"equality deletes of {table.name}",
                reason=f"They do not name the key ({', '.join(key)}), so the keys that they deleted cannot be told.",
                remedy="Let the contract's key be the equality columns of the Flink sink.",
            )
        found = found.unionByName(deleted)
    return found.distinct()


def states_of(
    spark: SparkSession, ask: Ask, at: SnapshotId, touched: DataFrame, values: Sequence[str], side: str
) -> DataFrame:
    """Shape: the key columns, then `{side}_rows` and for the n-th of `values` `{side}_n` (its values as one struct of
    lowest, highest and whether any is null); one row per touched key that lives at `at`.

    Cost: all columns of the files in which the range of the touched keys lies.
    """
    keys = key_names(ask)
    names = [column(name).alias(alias) for name, alias in zip(ask.contract.key, keys, strict=True)]
    kinds = {field.name: field.dataType for field in whole_schema(spark, ask.observation.table).fields}
    chosen = [comparable(name, kinds[name]).alias(f"value_{place}") for place, name in enumerate(values)]
    live = rows_at(spark, ask.observation.table, at).select(*names, *chosen)
    narrowed, _, _ = in_range_of(ask, touched, live, dict(zip(keys, ask.contract.key, strict=True)))
    told = [_told(f"value_{place}").alias(f"{side}_{place}") for place in range(len(values))]
    return with_key_in(narrowed, touched, keys).groupBy(*keys).agg(F.count("*").alias(f"{side}_rows"), *told)


def _told(value: str) -> Column:
    return F.struct(
        F.min(value).alias("lowest"), F.max(value).alias("highest"), F.bool_or(F.col(value).isNull()).alias("has_null")
    )


def _deleted_from(spark: SparkSession, deletes: Sequence[DataFile], known: Sequence[DataFile]) -> list[DataFile]:
    """The data files from which rows were deleted by position, as files to be read; those that are known left out."""
    named = {file.of_file for file in deletes if file.of_file is not None}
    unnamed = [file for file in deletes if file.of_file is None and file.format != "puffin"]
    for format_ in {file.format for file in unnamed}:
        paths = [file.path for file in unnamed if file.format == format_]
        read = spark.read.format(format_).schema(_POSITION_DELETES).load([exact(path) for path in paths]).distinct()
        named |= {row["file_path"] for row in read.limit(len(known) + 20_000).collect()}
    there = {file.path for file in known}
    return [
        DataFile(
            snapshot_id=deletes[0].snapshot_id,
            is_added=False,
            content="data",
            path=path,
            format=path.rsplit(".", 1)[-1].lower(),
            rows=0,
            low=None,
            high=None,
        )
        for path in sorted(named - there)
    ]
