"""Duplicates of a window that is one percent of the table, beside counting every key of it."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Observation
from bot.observation.looked import Seen
from bot.observation.table import Window
from spark_tasks import duplicate_rows
from tests.bench.rows_table import WINDOW, rows_table
from tests.bench.window_cost import best_of
from tests.tables import ORDERS

_CONTRACT = TableContract(key=("order_id",), position="source_position", event_time="event_time")


@dataclass(frozen=True)
class RowCosts:
    """Seconds of the same answer."""

    rows: int
    key: str
    extra_rows: int
    ours_s: float
    group_by_s: float


def row_costs(spark: SparkSession, rows: int, *, text_key: bool = False) -> RowCosts:
    """Ours (best of three) and the group-by (once: it takes long). Raises AssertionError where they differ.

    With `text_key` the ids are spread, so that no file can be left out: then the key column of all rows is read."""
    home = rows_table(rows, text_key=text_key)
    catalog = PyIcebergCatalog("lake", {"type": "sql", "uri": f"sqlite:///{home}/catalog.db"}, SystemClock())
    table = catalog.load(ORDERS)
    catalog.close()
    assert table.head is not None
    nothing: Seen[Any] = Seen(source="nobody", values=())
    world = Observation(table=table, jobs=nothing, checkpoints=nothing, reads=nothing)
    window = Window(since=table.chain[WINDOW].snapshot_id, until=table.head)
    ask = Ask(observation=world, window=window, contract=_CONTRACT)
    answer, ours_s = best_of(3, partial(duplicate_rows.answer, spark, ask))
    theirs, group_by_s = best_of(1, partial(_group_by, spark, table.metadata_location))
    assert (answer.finding.keys, answer.finding.extra_rows) == theirs
    return RowCosts(rows, "spread text" if text_key else "number", answer.finding.extra_rows, ours_s, group_by_s)


def _group_by(spark: SparkSession, metadata: str) -> tuple[int, int]:
    """(keys that live more than once, rows too many) of the whole table."""
    rows = spark.read.format("iceberg").load(metadata)
    keys = rows.groupBy("order_id").agg(F.count("*").alias("copies")).where("copies > 1")
    found = keys.agg(F.count("*").alias("keys"), F.sum(F.col("copies") - 1).alias("extra")).first()
    return int(found["keys"]), int(found["extra"] or 0)
