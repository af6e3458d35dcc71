"""Rows made once more by a declared recipe: within bounds, and only those whose key does not live.

Both the evidence before an approval and the replay after it read through here, so that they mean the same rows.
"""

import importlib
from datetime import datetime
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known
from pyspark.sql.types import StructType

from bot.observation.contract import CopyRule, TableContract
from bot.observation.errors import EvidenceFailed
from bot.observation.ids import SnapshotId
from bot.observation.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.observation.table import TableState
from spark_tasks._support.data_files import comparable
from spark_tasks._support.kafka import rows_of_topic
from spark_tasks._support.reading import column, persisted, rows_at, whole_schema
from spark_tasks._support.words import at as at_micros
from spark_tasks._support.words import cell

_CANNOT = (ArithmeticError, AssertionError, AttributeError, LookupError, NotImplementedError, TypeError, ValueError)
"""What a declared function raises for a kind of bounds that it was not written for."""


def rows_given(
    spark: SparkSession, recipe: ReplayRecipe, bounds: ReplayRange, contract: TableContract, schema: StructType
) -> DataFrame:
    """Shape: the columns of `schema`; one row per row that the recipe gives within the bounds. Raises EvidenceFailed
    where the recipe cannot be read so."""
    made = _made(spark, recipe, bounds, contract, schema)
    lacking = [field.name for field in schema.fields if field.name not in made.columns]
    if lacking:
        raise _unfit(recipe, f"columns {', '.join(field.name for field in schema.fields)}", f"no {', '.join(lacking)}")
    rows = made.select(*(column(field.name).cast(field.dataType).alias(field.name) for field in schema.fields))
    return rows_within(spark, rows, bounds, contract)


def rows_within(spark: SparkSession, rows: DataFrame, bounds: ReplayRange, contract: TableContract) -> DataFrame:
    """Shape: as `rows`, which have the table's columns; those that lie within the bounds."""
    return (
        _within_positions(spark, rows, bounds, contract) if bounds.positions else _within_times(rows, bounds, contract)
    )


def rows_absent(
    spark: SparkSession, table: TableState, at: SnapshotId, contract: TableContract, given: DataFrame
) -> DataFrame:
    """Shape: as `given`; its rows whose key does not live at that snapshot. Null is a value like any other.

    Cost: the key columns of the table's files.
    """
    return without_keys_of(given, rows_at(spark, table, at), contract)


def without_keys_of(rows: DataFrame, others: DataFrame, contract: TableContract) -> DataFrame:
    """Shape: as `rows`; those whose key none of `others` has. Null is a value like any other."""
    keys = others.select(*(column(key).alias(f"live_{n}") for n, key in enumerate(contract.key)))
    same = [column(key).eqNullSafe(F.col(f"live_{n}")) for n, key in enumerate(contract.key)]
    return rows.join(keys, on=reduce(and_, same), how="left_anti")


def summed(rows: DataFrame) -> tuple[int, str]:
    """(how many rows, a digest of every value in them, whatever their order). Reads now."""
    kinds = {field.name: field.dataType for field in rows.schema.fields}
    told = [each for name, kind in kinds.items() for each in _hashed(name, comparable(name, kind))]
    hashed = rows.select(F.xxhash64(*told).alias("of"))
    total = hashed.agg(
        F.count("*").alias("rows"), F.bit_xor("of").alias("xor"), F.sum(F.col("of").cast("decimal(38,0)")).alias("sum")
    ).first()
    assert total is not None
    return int(total["rows"]), f"{total['rows']}-{total['xor'] or 0}-{total['sum'] or 0}"


def event_span(rows: DataFrame, contract: TableContract) -> tuple[datetime | None, datetime | None]:
    """(first event, last event) of these rows; None without any. Reads now."""
    if contract.event_time is None:
        return None, None
    micros = F.unix_micros(column(contract.event_time).cast("timestamp"))
    edges = rows.agg(F.min(micros).alias("low"), F.max(micros).alias("high")).first()
    assert edges is not None
    return (None, None) if edges["low"] is None else (at_micros(edges["low"]), at_micros(edges["high"]))


def _hashed(name: str, value: Column) -> tuple[Column, Column]:
    """A hash passes null over, so whether it is null is hashed too."""
    return value, column(name).isNull()


def _made(
    spark: SparkSession, recipe: ReplayRecipe, bounds: ReplayRange, contract: TableContract, schema: StructType
) -> DataFrame:
    if recipe.kafka is not None:
        return rows_of_topic(spark, recipe, bounds, (contract.position_partition, contract.position), schema)
    if recipe.sql is not None:
        select = recipe.sql.strip().rstrip(";")
        return spark.sql(f"SELECT * FROM (\n{select}\n)")  # noqa: S608 - from the operators' own configuration
    assert recipe.function is not None
    module, _, name = recipe.function.partition(":")
    try:
        function = getattr(importlib.import_module(module), name, None)
    except ImportError as error:
        raise _unfit(recipe, "a module that can be imported", str(error)) from error
    try:
        made = function(spark, bounds) if callable(function) else None
    except _CANNOT as error:
        raise _unfit(recipe, "a function that takes these bounds", f"{type(error).__name__}: {error}") from error
    if not isinstance(made, DataFrame):
        raise _unfit(recipe, "a function that returns a DataFrame of Spark Connect", type(made or function).__name__)
    return made


def _within_positions(spark: SparkSession, rows: DataFrame, bounds: ReplayRange, contract: TableContract) -> DataFrame:
    """The outermost bounds are plain comparisons, which a source can use; the inner ones are joined."""
    assert contract.position is not None
    ranges = [(each.partition, each.first, each.last) for each in bounds.positions]
    wanted = F.broadcast(spark.createDataFrame(ranges, "in_partition string, from_ bigint, until_ bigint"))
    place = column(contract.position)
    outer = rows.where(place.between(min(each.first for each in bounds.positions), max(r[2] for r in ranges)))
    inside = place.between(F.col("from_"), F.col("until_"))
    if contract.position_partition is not None:
        of = column(contract.position_partition).cast("string")
        inside = inside & (F.col("in_partition").isNull() | F.col("in_partition").eqNullSafe(of))
    return outer.join(wanted, on=inside, how="left_semi")


def _within_times(rows: DataFrame, bounds: ReplayRange, contract: TableContract) -> DataFrame:
    assert contract.event_time is not None
    at = column(contract.event_time)
    return rows.where((at >= F.lit(bounds.event_from)) & (at < F.lit(bounds.event_until)))


def _unfit(recipe: ReplayRecipe, expected: str, found: str) -> EvidenceFailed:
    return EvidenceFailed(
        "The declared replay cannot be used as it is.",
        f"Expected {expected} of {recipe.function or 'its SELECT'}; found {found}.",
        "Correct `replay` of the table in the configuration file, restart Waterline, and run it again.",
    )


KEYS_NAMED = 5


def survey(
    spark: SparkSession,
    table: TableState,
    at: SnapshotId,
    recipe: ReplayRecipe,
    bounds: ReplayRange,
    contract: TableContract,
    copies: CopyRule,
) -> SourceSurvey:
    """Reads now; writes nothing. Keys of differing rows come hidden where the contract redacts them. Raises
    EvidenceFailed for a recipe that does not fit. Cost: the source within the bounds, up to `most_rows`; then the
    table's columns by which rows are compared."""
    source = rows_given(spark, recipe, bounds, contract, whole_schema(spark, table)).limit(recipe.most_rows + 1)
    with persisted(source) as given:
        rows = given.count()
        if rows == 0 or rows > recipe.most_rows:
            return SourceSurvey(given=rows)
        found = _compared(spark, given, rows_at(spark, table, at), recipe, bounds, contract, copies)
        return found.model_copy(update={"given": rows})


def _compared(
    spark: SparkSession,
    given: DataFrame,
    live: DataFrame,
    recipe: ReplayRecipe,
    bounds: ReplayRange,
    contract: TableContract,
    copies: CopyRule,
) -> SourceSurvey:
    place = column(contract.position).cast("bigint") if contract.position is not None else F.lit(None).cast("bigint")
    edges = given.agg(
        (F.count("*") - F.count_distinct(F.struct(*map(column, contract.key)))).alias("repeated"),
        F.count_distinct(place).alias("places"),
        F.min(place).alias("first"),
        F.max(place).alias("last"),
    ).first()
    assert edges is not None
    absent = without_keys_of(given, live, contract)
    rows, digest = summed(absent)
    since, until = event_span(absent, contract)
    differing = _differing(given, live, contract, copies)
    keys = differing.select(*map(column, contract.key)).orderBy(*map(column, contract.key)).limit(KEYS_NAMED).collect()
    return SourceSurvey(
        given=0,
        places=edges["places"],
        first=edges["first"],
        last=edges["last"],
        repeated=edges["repeated"],
        differing=differing.count(),
        differing_keys=tuple(
            tuple(contract.shown(name, cell(value)) for name, value in zip(contract.key, key, strict=True))
            for key in keys
        ),
        absent=rows,
        unsettled=_unsettled(absent, live, contract, recipe).count(),
        not_given=without_keys_of(rows_within(spark, live, bounds, contract), given, contract).count(),
        event_from=since,
        event_until=until,
        digest=digest,
    )


def _differing(given: DataFrame, live: DataFrame, contract: TableContract, copies: CopyRule) -> DataFrame:
    """Shape: as `given`; its rows of whose key a live row has other values. Columns that each writing sets anew are
    passed over."""
    kinds = {field.name: field.dataType for field in given.schema.fields}
    values = {name: comparable(name, kinds[name]) for name in kinds if name not in (*contract.key, *copies.ignore)}
    told = live.select(
        *(column(key).alias(f"live_{n}") for n, key in enumerate(contract.key)),
        *(value.alias(f"live_value_{n}") for n, value in enumerate(values.values())),
    )
    same_key = [column(key).eqNullSafe(F.col(f"live_{n}")) for n, key in enumerate(contract.key)]
    same = [value.eqNullSafe(F.col(f"live_value_{n}")) for n, value in enumerate(values.values())]
    return given.join(told, on=reduce(and_, same_key) & ~reduce(and_, same, F.lit(True)), how="left_semi")


def _unsettled(absent: DataFrame, live: DataFrame, contract: TableContract, recipe: ReplayRecipe) -> DataFrame:
    """Shape: as `absent`; rows that the job may still bring. By position: a row above the newest that the table has
    of its source partition. Else by event time: a row younger than `settled_after` before the newest."""
    if contract.position is not None:
        of = column(contract.position_partition).cast("string") if contract.position_partition else F.lit("")
        value, reaches = column(contract.position), column(contract.position)
    elif contract.event_time is not None:
        of, value = F.lit(""), column(contract.event_time).cast("timestamp")
        reaches = value - F.lit(recipe.settled_after)
    else:
        return absent
    newest = live.groupBy(of.alias("of_")).agg(F.max(reaches).alias("until_"))
    joined = absent.join(F.broadcast(newest), on=of.eqNullSafe(F.col("of_")), how="left")
    is_settled = F.coalesce(value < F.col("until_"), F.lit(False))
    return joined.where(~is_settled).select(*map(column, absent.columns))
