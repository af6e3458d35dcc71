"""`python -m tests.bench.scale [--short | ENTRIES…]`: does cost follow the window?

With numbers of entries only the questions of the window are asked, of the tables of these sizes.
"""

import os
import shutil
import time
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known
from rich.console import Console
from rich.table import Table

from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.observation.contract import TableContract
from bot.observation.evidence import Ask, Observation
from bot.observation.looked import Seen
from bot.observation.table import Window
from bot.pinned_jars import spark_jars
from spark_tasks import duplicate_rows
from tests.bench.diagnosis_cost import print_diagnosis
from tests.bench.entries_table import Size, entries_table
from tests.bench.memory import Held, held
from tests.bench.rows_table import WINDOW, rows_table, size_of
from tests.bench.window_cost import LOAD, TASKS, Costs, best_of, window_costs
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


SIZES = (Size(1_000, 500), Size(10_000, 2_000), Size(100_000, 10_000), Size(1_000_000, 50_000))
ROWS, MOST_ROWS = 10_000_000, 100_000_000
MEMORY_AIM_MB = 250
_KEEP_BYTES = 3 * 1024**3
_console = Console(highlight=False, width=118)


def main(*, short: bool, only: Sequence[int] = ()) -> None:
    """Measure, and print each table as soon as it is known."""
    began = time.monotonic()
    sizes = [size for size in (SIZES[:-1] if short else SIZES) if not only or size.entries in only]
    with _spark() as (spark, url):
        costs = window_costs(url, sizes)
        _print_costs(costs)
        if not only:
            print_diagnosis(_console)
            _rest(spark, url, sizes, (ROWS,) if short else (ROWS, MOST_ROWS))
    if not only and not short and size_of(rows_table(MOST_ROWS)) > _KEEP_BYTES:
        shutil.rmtree(rows_table(MOST_ROWS))
    _console.print(f"Measured in {time.monotonic() - began:.0f} s.")
    _console.print(f"Load of the last minutes: {', '.join(f'{each:.1f}' for each in os.getloadavg())}.")


def _rest(spark: SparkSession, url: str, sizes: Sequence[Size], rows: Sequence[int]) -> None:
    """What is not about the window's metadata."""
    _print_memory([(size, held(entries_table(size), url)) for size in sizes])
    spread = row_costs(spark, ROWS, text_key=True)
    _print_rows([*(row_costs(spark, many) for many in rows), spread])


@contextmanager
def _spark() -> Iterator[tuple[SparkSession, str]]:
    """The embedded server as Waterline starts it, but with a larger heap for the queries that rows are compared with,
    and its address."""
    server = SparkServer(EmbeddedSpark(jars=tuple(spark_jars()), memory="3g"))
    try:
        session = SparkConnection(server.url).session()
        yield session, server.url
        session.stop()
    finally:
        server.stop()


def _name(size: Size) -> str:
    return f"{size.entries:,} files, {size.snapshots:,} snapshots"


def _print_costs(costs: Sequence[Costs]) -> None:
    grid = Table(title="Seconds for one window of 20 commits, in the middle of nine, and to the smallest table")
    grid.add_column("question")
    for cost in costs:
        grid.add_column(_name(cost.size), justify="right")
    smallest = costs[0].seconds
    for question in (LOAD, *TASKS):
        times = [cost.seconds[question] for cost in costs]
        grid.add_row(question, *(f"{seconds:.2f} ({seconds / smallest[question]:.2f} ×)" for seconds in times))
    _console.print(grid)


def _print_rows(costs: Sequence[RowCosts]) -> None:
    grid = Table(title="Duplicate rows of a 1 % window (aim: 10 × at 100,000,000)")
    for column in (
        "rows of the table",
        "key",
        "rows too many",
        "duplicate_rows s",
        "group-by over the table s",
        "faster",
    ):
        grid.add_column(column, justify="right")
    for cost in costs:
        ratio = f"{cost.group_by_s / cost.ours_s:.1f} ×"
        seconds = (f"{cost.ours_s:.2f}", f"{cost.group_by_s:.2f}")
        grid.add_row(f"{cost.rows:,}", cost.key, f"{cost.extra_rows:,}", *seconds, ratio)
    _console.print(grid)


def _print_memory(found: Sequence[tuple[Size, Held]]) -> None:
    grid = Table(title=f"Resident memory of the bot's process in MB (aim: below {MEMORY_AIM_MB})")
    for column in ("table", "nothing loaded", "table held", "after evidence", "its own", "peak", "seconds to load"):
        grid.add_column(column, justify="left" if column == "table" else "right")
    for size, each in found:
        numbers = (each.before_mb, each.after_mb, each.tasked_mb, each.own_mb, each.peak_mb)
        grid.add_row(_name(size), *(f"{number:.0f}" for number in numbers), f"{each.load_s:.2f}")
    _console.print(grid)


if __name__ == "__main__":
    given = ArgumentParser(prog="python -m tests.bench.scale", description="Does cost follow the window?")
    given.add_argument("--short", action="store_true", help="without the largest table, and a tenth of the rows")
    given.add_argument("entries", type=int, nargs="*", help=f"only the window, of {[size.entries for size in SIZES]}")
    told = given.parse_args()
    main(short=told.short, only=told.entries)
