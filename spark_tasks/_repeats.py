"""Records of the source that came more than once: by their place in the source, else by key and time of the event."""

from collections.abc import Sequence
from functools import reduce
from operator import and_

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.domain.evidence import Ask
from bot.domain.table import Snapshot
from spark_tasks._columns_of_before import names_at
from spark_tasks._copies import FILE, in_range_of, with_key_in
from spark_tasks._data_files import COMMIT, PATH, DataFile, comparable, rows_in
from spark_tasks._reading import column, local_ids, rows_at, whole_schema
from spark_tasks._told_apart import key_columns, key_hash, moment_of
from spark_tasks._window import Reach
from spark_tasks._writers import writers_of

_DIGESTS = ("digest", "key", "moment")
OLDER = -1
"""The place of a row that lived before the window."""


def identity_of(ask: Ask) -> tuple[str, ...]:
    """Columns that together name one record of the source; empty where the contract names none.

    A key alone does not: an upsert brings the same key again, rightly.
    """
    contract = ask.contract
    if contract.position is not None:
        return tuple(name for name in (contract.position_partition, contract.position) if name is not None)
    if contract.event_time is None or not contract.key:
        return ()
    return tuple(dict.fromkeys((*contract.key, contract.event_time)))


def ids_of(identity: Sequence[str]) -> list[str]:
    """Names of the identity's columns in our frames."""
    return [f"id_{place}" for place in range(len(identity))]


def has_identity(identity: Sequence[str]) -> Column:
    """Whether a row in our frames has what names its record: its position, or the time of its event."""
    return F.col(ids_of(identity)[-1]).isNotNull()


def brought_rows(
    spark: SparkSession, ask: Ask, reach: Reach, files: Sequence[DataFile], identity: Sequence[str]
) -> DataFrame:
    """Shape: the identity, digest (bigint, of all other columns), key, moment (bigint, hashes), file_path, snapshot_id,
    place (rising with the commits), on_main (boolean); one row per row that stands in the files; see `has_identity`."""
    table = ask.observation.table
    told = [(int(s.snapshot_id), True) for s in reach.main] + [(int(s.snapshot_id), False) for s in reach.rolled_back]
    sides = spark.createDataFrame(told, "snapshot_id bigint, on_main boolean")
    names = _compared(ask, reach)
    rows = rows_in(spark, table, files, [*identity, *names])
    told_of = F.col(PATH).alias("file_path"), F.col(COMMIT).alias("snapshot_id")
    named = rows.select(*_identity(identity), *_digests(spark, ask, names), *told_of)
    order = local_ids(spark, [s.snapshot_id for s in table.snapshots])
    chosen = named.join(F.broadcast(order), on="snapshot_id", how="inner").join(
        F.broadcast(sides), on="snapshot_id", how="inner"
    )
    return chosen.select(*ids_of(identity), *_DIGESTS, "file_path", "snapshot_id", "place", "on_main")


def older_rows(spark: SparkSession, ask: Ask, reach: Reach, brought: DataFrame, identity: Sequence[str]) -> DataFrame:
    """The same shape; rows that lived where the window begins and whose identity the window brought again.

    Cost: all columns of the files in which the range of the window's identities lies: none, where nothing came again.
    """
    assert reach.since is not None
    ids = ids_of(identity)
    live = rows_at(spark, ask.observation.table, reach.since)
    chosen = live.select(*_identity(identity), *_digests(spark, ask, _compared(ask, reach)), F.col(FILE))
    narrowed, _, _ = in_range_of(ask, brought, chosen, dict(zip(ids, identity, strict=True)))
    same = with_key_in(narrowed, brought.select(*ids).distinct(), ids).withColumnRenamed(FILE, "file_path")
    nowhere = F.lit(None).cast("bigint").alias("snapshot_id")
    return same.select("*", nowhere, F.lit(OLDER).alias("place"), F.lit(True).alias("on_main"))


def replays_of(rows: DataFrame, identity: Sequence[str]) -> DataFrame:
    """Shape: the identity, digest, snapshot_id, first (struct of place, the digests, snapshot_id, file_path: its first
    copy), is_other (boolean: key and time of the event are not the first copy's, so that it may be another record);
    one row per row on main whose identity an earlier commit had brought."""
    ids = ids_of(identity)
    one = F.struct("place", *_DIGESTS, "snapshot_id", "file_path")
    is_other = (F.col("key") != F.col("first.key")) & (F.col("moment") != F.col("first.moment"))
    firsts = rows.groupBy(*ids).agg(F.min(one).alias("first"), F.max("place").alias("last_place"))
    again = firsts.where("last_place > first.place").select(*(F.col(i).alias(f"{i}_of") for i in ids), "first")
    same = reduce(and_, (F.col(name).eqNullSafe(F.col(f"{name}_of")) for name in ids))
    return (
        rows.where("on_main")
        .join(again, on=same, how="inner")
        .where("place > first.place")
        .select(*ids, "digest", "snapshot_id", "first", is_other.alias("is_other"))
    )


def twice_within(rows: DataFrame, identity: Sequence[str]) -> DataFrame:
    """Shape: snapshot_id, rows (bigint, 1 or more); one row per commit on main that brought a record's very row more
    than once, equal in every column, and how often too many. Rows at one place of the source that differ are not
    counted: one record may make several. Cost: one more grouping of what the window brought."""
    same = rows.where("on_main").groupBy(*ids_of(identity), "digest", "snapshot_id").agg(F.count("*").alias("copies"))
    return same.where("copies > 1").groupBy("snapshot_id").agg(F.sum(F.col("copies") - 1).alias("rows"))


def commits_of_first(spark: SparkSession, at: Snapshot, pairs: DataFrame) -> DataFrame:
    """Shape: file_path, writer (snapshot_id); one row per file in which a first copy lived before the window.
    Cost: as of `writers_of`; nothing where no such file is."""
    files = pairs.where("first.snapshot_id IS NULL").select(F.col("first.file_path").alias("file_path")).distinct()
    if files.limit(1).count() == 0:
        return spark.createDataFrame([], "file_path string, writer bigint")
    return writers_of(spark, at, files).withColumnRenamed("snapshot_id", "writer")


def _compared(ask: Ask, reach: Reach) -> list[str]:
    """Columns beside the identity, that both the window's beginning and its end have; of these none with a default,
    which files that lack it do not tell."""
    table, identity = ask.observation.table, identity_of(ask)
    names = [each.name for each in table.columns] if reach.since is None else names_at(table, reach.since)
    untold = {each.name for each in table.columns if each.has_default}
    return [name for name in names if name not in identity and name not in untold]


def _identity(identity: Sequence[str]) -> list[Column]:
    return [column(name).alias(alias) for name, alias in zip(identity, ids_of(identity), strict=True)]


def _digests(spark: SparkSession, ask: Ask, names: Sequence[str]) -> list[Column]:
    """`_DIGESTS`: of all these columns, of those of the key, and of the event's time: the key's too where none tells.
    A hash passes nulls over, so which are null is hashed too."""
    kinds = {field.name: field.dataType for field in whole_schema(spark, ask.observation.table).fields}
    told = [comparable(name, kinds[name]) for name in names]
    digest = F.xxhash64(F.lit(0), *told, *(each.isNull() for each in told))
    key = [name for name in key_columns(ask) if name in names]
    moment = [name for name in moment_of(ask) if name in names] or key
    return [each.alias(name) for each, name in zip((digest, key_hash(key), key_hash(moment)), _DIGESTS, strict=True)]
