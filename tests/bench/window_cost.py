"""The same window of twenty commits on tables of any size: Waterline's tasks beside what anyone would write first.

Every answer is compared: the files and rows of each commit of the window, the paths that are live more than once, and
the commits that share one. `#entries` of a metadata file is read at the very state that Waterline looks at, and has
that file read with it; a table that Spark keeps in its catalog was loaded before, as Waterline's was.
"""

import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
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
from bot.adapters.spark_repairs import spark_catalog
from bot.adapters.spark_server import EmbeddedSpark
from bot.adapters.spark_session import open_session
from bot.evidence import find_tasks
from bot.observation.evidence import Answer, Ask, Observation
from bot.observation.ids import SnapshotId
from bot.observation.looked import Seen
from bot.observation.table import TableState, Window
from tests.bench.entries_commits import REPLAYED, WINDOW
from tests.bench.entries_table import Size, entries_table
from tests.tables import CONTRACT, ORDERS

TASKS = ("ledger", "duplicate_files", "duplicate_commits")
ALONE = ("freshness", "table_health", "unreadable_files", "backfill_boundary")
"""Beside which stands nothing that anyone would write first: compared with themselves on the smallest table only."""
BY_COMMIT, BY_PATH, ALL_BY_PATH = "Spark #entries by commit", "Spark #entries by path", "Spark #all_entries by path"
BY_SHARED = "Spark #entries, commits that share a path"
KEPT_BY_COMMIT, KEPT_BY_PATH = "the same by commit, table kept by Spark", "the same by path, table kept by Spark"
ENTRIES, FILES = "PyIceberg inspect.entries", "PyIceberg inspect.files"
T = TypeVar("T")
LOAD = "load the table (bot)"
_TURNS, _WARMING = 9, 20
_SLOW_S = 4.0
"""What took longer in the first turn is asked once more, and not in every turn."""
_MOST_FOR_ALL = 10_000
"""Entries above which reading those of every snapshot takes many minutes."""
Counts = Mapping[SnapshotId, tuple[int, int]]
"""Commit -> (files added, rows added)."""
Shared = frozenset[tuple[SnapshotId, ...]]
"""Commits that added the same file; their ids rise."""
Question = tuple[Size, str]


@dataclass(frozen=True)
class Costs:
    """Seconds of each question on one table; what is not in it was not asked."""

    size: Size
    seconds: dict[str, float]


def window_costs(url: str, sizes: Sequence[Size]) -> list[Costs]:
    """Ours and theirs on each table, all asked in turns so that a busy machine slows all alike: the median of nine
    turns, after one that warms up and twenty of the smallest table, because a bot's Spark has run for days; what takes
    minutes is asked once. Raises AssertionError where two answers differ."""
    often: dict[Question, Callable[[], object]] = {}
    once: dict[Question, Callable[[], object]] = {}
    seconds: dict[Question, float] = {}
    sessions = []
    for size in sizes:
        home = entries_table(size)
        sessions += [spark := _session(url, home), ours := _session(url, home, is_interpreted=True)]
        ask, seconds[size, LOAD] = _ask(home)
        often |= {(size, name): each for name, each in _often(spark, ours, ask).items()}
        once |= {(size, name): each for name, each in _once(spark, home, ask, size).items()}
    in_turns(_WARMING, {question: asked for question, asked in often.items() if question[0] == sizes[0]})
    found, medians = in_turns(_TURNS, often)
    for question, asked in once.items():
        found[question], seconds[question] = best_of(1, asked)
    for spark in sessions:
        spark.stop()
    for size in sizes:
        _compare({name: answer for (of, name), answer in found.items() if of == size})
    seconds |= medians
    return [Costs(size, {name: took for (of, name), took in seconds.items() if of == size}) for size in sizes]


def in_turns(turns: int, questions: Mapping[T, Callable[[], object]]) -> tuple[dict[T, object], dict[T, float]]:
    """(Last answers, median times in seconds) of questions that are asked one after the other, again and again; the
    first time is not counted."""
    answers: dict[T, object] = {}
    times: dict[T, list[float]] = {question: [] for question in questions}
    for turn in range(turns + 1):
        for question, ask in questions.items():
            if turn < 2 or times[question][0] < _SLOW_S:
                answers[question], took = best_of(1, ask)
                times[question].append(took)
    return answers, {question: median(took[1:]) for question, took in times.items()}


def best_of(runs: int, ask: Callable[[], T]) -> tuple[T, float]:
    """(The last answer, the shortest time in seconds)."""
    times = []
    for _ in range(runs):
        began = time.perf_counter()
        answer = ask()
        times.append(time.perf_counter() - began)
    return answer, min(times)


def _session(url: str, home: Path, *, is_interpreted: bool = False) -> SparkSession:
    """As Waterline opens it; it also knows the catalog, and keeps a table that it loaded once."""
    spark = open_session(url, listing_tasks=EmbeddedSpark().cores, is_interpreted=is_interpreted)
    told = {"type": "sql", "uri": f"sqlite:///{home}/catalog.db", "warehouse": f"file://{home}/lake"}
    kept = {"cache-enabled": "true", "cache.expiration-interval-ms": "-1"}
    for key, value in spark_catalog("lake", told, kept).conf.items():
        spark.conf.set(key, value)
    return spark


def _often(spark: SparkSession, ours: SparkSession, ask: Ask) -> dict[str, Callable[[], object]]:
    """Theirs compiled, as everybody's Spark does it; ours as the bot has it, which reads rows by compiled code."""
    table, tasks = ask.observation.table, find_tasks(spark_tasks)
    window = [int(commit.snapshot_id) for commit in ask.window.of(table)]
    read = partial(_entries, spark, table.metadata_location)
    return {
        **{
            name: partial(tasks[name].answer, spark if tasks[name].task.reads == "rows" else ours, ask)
            for name in (*TASKS, *ALONE)
        },
        BY_COMMIT: lambda: _by_commit(read("entries"), window),
        BY_PATH: lambda: _by_path(read("entries")),
        BY_SHARED: lambda: _by_shared(read("entries")),
        KEPT_BY_COMMIT: lambda: _by_commit(_kept(spark), window),
        KEPT_BY_PATH: lambda: _by_path(_kept(spark)),
    }


def _once(spark: SparkSession, home: Path, ask: Ask, size: Size) -> dict[str, Callable[[], object]]:
    table, whole = ask.observation.table, _table(home)
    window = [int(commit.snapshot_id) for commit in ask.window.of(table)]
    asked: dict[str, Callable[[], object]] = {
        ENTRIES: lambda: _inspected(whole, window),
        FILES: lambda: _repeated_files(whole),
    }
    if size.entries <= _MOST_FOR_ALL:
        asked[ALL_BY_PATH] = lambda: _by_path(_entries(spark, table.metadata_location, "all_entries"))
    return asked


def _compare(found: Mapping[str, object]) -> None:
    counts, repeated, shared = _told(found)
    assert all(found[question] == counts for question in (BY_COMMIT, KEPT_BY_COMMIT, ENTRIES))
    by_path = (BY_PATH, KEPT_BY_PATH, ALL_BY_PATH, FILES)
    assert all(found[question] == repeated for question in by_path if question in found)
    assert found[BY_SHARED] == shared


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


def _told(found: Mapping[str, object]) -> tuple[Counts, frozenset[str], Shared]:
    """(Counts by commit, paths that are live more than once, commits that share one), as Waterline says."""
    answers = [found[name] for name in TASKS]
    ledger, files, commits = (answer.finding for answer in answers if isinstance(answer, Answer))
    assert len(commits.repeated) == REPLAYED
    rows = {row.snapshot_id: (row.added_files, row.added_rows) for row in ledger.ledger.rows}
    shared = frozenset(tuple(sorted((each.first, each.again))) for each in commits.repeated)
    return rows, frozenset(file.path for file in files.files), shared


def _entries(spark: SparkSession, metadata: str, kind: str) -> DataFrame:
    return spark.read.format("iceberg").load(f"{metadata}#{kind}").where("status < 2")


def _kept(spark: SparkSession) -> DataFrame:
    return spark.read.table(f"lake.{ORDERS}.entries").where("status < 2")


def _by_commit(entries: DataFrame, window: list[int]) -> Counts:
    counts = entries.where(F.col("snapshot_id").isin(window)).groupBy("snapshot_id")
    rows = counts.agg(F.count("*").alias("files"), F.sum("data_file.record_count").alias("rows")).collect()
    return {SnapshotId(row["snapshot_id"]): (row["files"], row["rows"]) for row in rows}


def _by_path(entries: DataFrame) -> frozenset[str]:
    """One entry of each commit counts once, because `#all_entries` lists it for every snapshot that still has it."""
    each = entries.select("snapshot_id", "data_file.file_path").distinct()
    rows = each.groupBy("file_path").agg(F.count("*").alias("times")).where("times > 1").collect()
    return frozenset(row["file_path"] for row in rows)


def _by_shared(entries: DataFrame) -> Shared:
    sets = entries.groupBy("data_file.file_path").agg(F.array_sort(F.collect_set("snapshot_id")).alias("commits"))
    rows = sets.where("size(commits) > 1").select("commits").distinct().collect()
    return frozenset(tuple(SnapshotId(each) for each in row["commits"]) for row in rows)


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
