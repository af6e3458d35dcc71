"""The same window of twenty commits on tables of any size: Waterline's tasks beside what anyone would write first.

Every answer is compared before its time counts: the files and rows of each commit of the window, and the paths that
are live more than once.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.catalog.sql import SqlCatalog
from pyiceberg.table import Table
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name under which PySpark's functions are known

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.domain.evidence import Answer, Ask, Observation
from bot.domain.findings import DuplicateCommitsFinding, DuplicateFilesFinding, LedgerFinding
from bot.domain.ids import SnapshotId
from bot.domain.looked import Seen
from bot.domain.table import TableState, Window
from bot.evidence import find_tasks
from tests.bench.entries_commits import REPLAYED, WINDOW
from tests.bench.entries_table import Size, entries_table
from tests.tables import CONTRACT, ORDERS

TASKS = ("ledger", "duplicate_files", "duplicate_commits")
BY_COMMIT, BY_PATH, ALL_BY_PATH = "Spark #entries by commit", "Spark #entries by path", "Spark #all_entries by path"
ENTRIES, FILES = "PyIceberg inspect.entries", "PyIceberg inspect.files"
T = TypeVar("T")
LOAD = "load the table (bot)"
_TURNS = 3
_MOST_FOR_ALL = 10_000
"""Entries above which reading those of every snapshot takes many minutes."""
Counts = Mapping[SnapshotId, tuple[int, int]]
"""Commit -> (files added, rows added)."""


@dataclass(frozen=True)
class Costs:
    """Seconds of each question on one table; what is not in it was not asked."""

    size: Size
    seconds: dict[str, float]


def window_costs(spark: SparkSession, size: Size) -> Costs:
    """Ours and theirs on one table, asked in turns so that a busy machine slows all alike; the first turn warms up
    and is not counted. Raises AssertionError where two answers differ."""
    home = entries_table(size)
    ask, loading = _ask(home)
    table = ask.observation.table
    window = [int(commit.snapshot_id) for commit in ask.window.of(table)]
    read = partial(_entries, spark, table.metadata_location)
    tasks = find_tasks(spark_tasks)
    often: dict[str, Callable[[], object]] = {name: partial(tasks[name].answer, spark, ask) for name in TASKS}
    often |= {BY_COMMIT: lambda: _by_commit(read("entries"), window), BY_PATH: lambda: _by_path(read("entries"))}
    found, seconds = in_turns(_TURNS, often)
    whole = _table(home)
    once: dict[str, Callable[[], object]] = {
        ENTRIES: lambda: _inspected(whole, window),
        FILES: lambda: _repeated_files(whole),
    }
    if size.entries <= _MOST_FOR_ALL:
        once[ALL_BY_PATH] = lambda: _by_path(read("all_entries"))
    for question, ask_once in once.items():
        found[question], seconds[question] = best_of(1, ask_once)
    counts, repeated = _told({name: found[name] for name in TASKS})
    assert all(found[question] == counts for question in (BY_COMMIT, ENTRIES) if question in found)
    assert all(found[question] == repeated for question in (BY_PATH, ALL_BY_PATH, FILES) if question in found)
    return Costs(size, {LOAD: loading, **seconds})


def in_turns(turns: int, questions: Mapping[str, Callable[[], object]]) -> tuple[dict[str, object], dict[str, float]]:
    """(Last answers, shortest times in seconds) of questions that are asked one after the other, again and again."""
    answers: dict[str, object] = {}
    shortest: dict[str, float] = {}
    for turn in range(turns + 1):
        for question, ask in questions.items():
            answers[question], took = best_of(1, ask)
            if turn:
                shortest[question] = min(took, shortest.get(question, took))
    return answers, shortest


def best_of(runs: int, ask: Callable[[], T]) -> tuple[T, float]:
    """(The last answer, the shortest time in seconds)."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        answer = ask()
        times.append(time.perf_counter() - began)
    return answer, min(times)


def _ask(home: Path) -> tuple[Ask, float]:
    catalog = PyIcebergCatalog("lake", {"type": "sql", "uri": f"sqlite:///{home}/catalog.db"}, SystemClock())
    table, loading = best_of(2, lambda: catalog.load(ORDERS))
    catalog.close()
    return ask_of(table), loading


def ask_of(table: TableState) -> Ask:
    """The question of the newest commits."""
    assert table.head is not None
    nothing: Seen[Any] = Seen(source="nobody", values=())
    world = Observation(table=table, jobs=nothing, checkpoints=nothing, reads=nothing)
    window = Window(since=table.chain[WINDOW].snapshot_id, until=table.head)
    return Ask(observation=world, window=window, contract=CONTRACT)


def _told(found: Mapping[str, object]) -> tuple[Counts, frozenset[str]]:
    """(Counts by commit, paths that are live more than once), as Waterline says."""
    answers = [answer for answer in found.values() if isinstance(answer, Answer)]
    ledger, files, commits = (answer.finding for answer in answers)
    assert isinstance(ledger, LedgerFinding)
    assert isinstance(files, DuplicateFilesFinding)
    assert isinstance(commits, DuplicateCommitsFinding)
    assert len(commits.repeated) == REPLAYED
    rows = {row.snapshot_id: (row.added_files, row.added_rows) for row in ledger.ledger.rows}
    return rows, frozenset(file.path for file in files.files)


def _entries(spark: SparkSession, metadata: str, kind: str) -> DataFrame:
    return spark.read.format("iceberg").load(f"{metadata}#{kind}").where("status < 2")


def _by_commit(entries: DataFrame, window: list[int]) -> Counts:
    counts = entries.where(F.col("snapshot_id").isin(window)).groupBy("snapshot_id")
    rows = counts.agg(F.count("*").alias("files"), F.sum("data_file.record_count").alias("rows")).collect()
    return {SnapshotId(row["snapshot_id"]): (row["files"], row["rows"]) for row in rows}


def _by_path(entries: DataFrame) -> frozenset[str]:
    """One entry of each commit counts once, because `#all_entries` lists it for every snapshot that still has it."""
    each = entries.select("snapshot_id", "data_file.file_path").distinct()
    rows = each.groupBy("file_path").agg(F.count("*").alias("times")).where("times > 1").collect()
    return frozenset(row["file_path"] for row in rows)


def _table(home: Path) -> Table:
    catalog = SqlCatalog("lake", uri=f"sqlite:///{home}/catalog.db")
    table = catalog.load_table(ORDERS)
    catalog.close()
    return table


def _inspected(table: Table, window: list[int]) -> Counts:
    entries = table.inspect.entries()
    inside = entries.filter(pc.is_in(entries["snapshot_id"], value_set=pa.array(window, "int64")))
    told: dict[SnapshotId, tuple[int, int]] = {}
    for snapshot, file in zip(inside["snapshot_id"].to_pylist(), inside["data_file"].to_pylist(), strict=True):
        files, rows = told.get(SnapshotId(snapshot), (0, 0))
        told[SnapshotId(snapshot)] = (files + 1, rows + file["record_count"])
    return told


def _repeated_files(table: Table) -> frozenset[str]:
    times = Counter(table.inspect.files()["file_path"].to_pylist())
    return frozenset(path for path, many in times.items() if many > 1)
