"""What a declared source has within bounds, beside what the table has of it: what a bounded replay would meet."""

from functools import reduce
from operator import and_

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.contract import CopyRule, TableContract
from bot.domain.ids import SnapshotId
from bot.domain.replay import ReplayRange, ReplayRecipe, SourceSurvey
from bot.domain.table import TableState
from spark_tasks._data_files import comparable
from spark_tasks._reading import column, rows_at, whole_schema
from spark_tasks._replay import Named, event_span, named_by, rows_given, rows_within, summed, without_keys_of
from spark_tasks._words import cell

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
    named = named_by(contract)
    given = rows_given(spark, recipe, bounds, named, whole_schema(spark, table)).limit(recipe.most_rows + 1).persist()
    try:
        rows = given.count()
        if rows == 0 or rows > recipe.most_rows:
            return SourceSurvey(given=rows)
        return _compared(spark, given, rows_at(spark, table, at), recipe, bounds, contract, copies).model_copy(
            update={"given": rows}
        )
    finally:
        given.unpersist()


def _compared(
    spark: SparkSession,
    given: DataFrame,
    live: DataFrame,
    recipe: ReplayRecipe,
    bounds: ReplayRange,
    contract: TableContract,
    copies: CopyRule,
) -> SourceSurvey:
    named = named_by(contract)
    place = column(named.position).cast("bigint") if named.position is not None else F.lit(None).cast("bigint")
    edges = given.agg(
        (F.count("*") - F.count_distinct(F.struct(*map(column, named.key)))).alias("repeated"),
        F.count_distinct(place).alias("places"),
        F.min(place).alias("first"),
        F.max(place).alias("last"),
    ).first()
    assert edges is not None
    absent = without_keys_of(given, live, named)
    rows, digest = summed(absent)
    since, until = event_span(absent, named)
    differing = _differing(given, live, named, copies)
    keys = differing.select(*map(column, named.key)).orderBy(*map(column, named.key)).limit(KEYS_NAMED).collect()
    return SourceSurvey(
        given=0,
        places=edges["places"],
        first=edges["first"],
        last=edges["last"],
        repeated=edges["repeated"],
        differing=differing.count(),
        differing_keys=tuple(
            tuple(contract.shown(name, cell(value)) for name, value in zip(named.key, key, strict=True)) for key in keys
        ),
        absent=rows,
        unsettled=_unsettled(absent, live, named, recipe).count(),
        not_given=without_keys_of(rows_within(spark, live, bounds, named), given, named).count(),
        event_from=since,
        event_until=until,
        digest=digest,
    )


def _differing(given: DataFrame, live: DataFrame, named: Named, copies: CopyRule) -> DataFrame:
    """Shape: as `given`; its rows of whose key a live row has other values. Columns that each writing sets anew are
    passed over."""
    kinds = {field.name: field.dataType for field in given.schema.fields}
    values = {name: comparable(name, kinds[name]) for name in kinds if name not in (*named.key, *copies.ignore)}
    told = live.select(
        *(column(key).alias(f"live_{n}") for n, key in enumerate(named.key)),
        *(value.alias(f"live_value_{n}") for n, value in enumerate(values.values())),
    )
    same_key = [column(key).eqNullSafe(F.col(f"live_{n}")) for n, key in enumerate(named.key)]
    same = [value.eqNullSafe(F.col(f"live_value_{n}")) for n, value in enumerate(values.values())]
    return given.join(told, on=reduce(and_, same_key) & ~reduce(and_, same, F.lit(True)), how="left_semi")


def _unsettled(absent: DataFrame, live: DataFrame, named: Named, recipe: ReplayRecipe) -> DataFrame:
    """Shape: as `absent`; rows that the job may still bring. By position: a row above the newest that the table has
    of its source partition. Else by event time: a row younger than `settled_after` before the newest."""
    if named.position is not None:
        of = column(named.position_partition).cast("string") if named.position_partition else F.lit("")
        value, reaches = column(named.position), column(named.position)
    elif named.event_time is not None:
        of, value = F.lit(""), column(named.event_time).cast("timestamp")
        reaches = value - F.lit(recipe.settled_after)
    else:
        return absent
    newest = live.groupBy(of.alias("of_")).agg(F.max(reaches).alias("until_"))
    joined = absent.join(F.broadcast(newest), on=of.eqNullSafe(F.col("of_")), how="left")
    is_settled = F.coalesce(value < F.col("until_"), F.lit(False))
    return joined.where(~is_settled).select(*map(column, absent.columns))
