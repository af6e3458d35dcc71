"""The same window of twenty commits on tables of any size: does a task cost more where the table is larger?"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, TypeVar

import spark_tasks
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.spark_session import SparkConnection
from bot.evidence import find_tasks
from bot.observation.evidence import Answer, Ask, Observation
from bot.observation.looked import Seen
from bot.observation.table import TableState, Window
from tests.bench.entries_commits import REPLAYED, WINDOW
from tests.bench.entries_table import Size, entries_table
from tests.tables import CONTRACT, ORDERS

TASKS = ("ledger", "duplicate_files", "duplicate_commits", "freshness", "unreadable_files")
LOAD = "load the table (bot)"
_TURNS, _WARMING = 9, 20
T = TypeVar("T")
Question = tuple[Size, str]


@dataclass(frozen=True)
class Costs:
    """Seconds of each question on one table."""

    size: Size
    seconds: dict[str, float]


def window_costs(url: str, sizes: Sequence[Size]) -> list[Costs]:
    """All tables asked in turns, so that a busy machine slows all alike: the median of nine turns, after twenty of the
    smallest table, because a bot's Spark has run for days."""
    loads: dict[Question, float] = {}
    questions: dict[Question, Callable[[], Answer]] = {}
    tasks = find_tasks(spark_tasks)
    spark = SparkConnection(url).session(is_interpreted=True)
    for size in sizes:
        ask, loads[size, LOAD] = _ask(entries_table(size))
        questions |= {(size, name): partial(tasks[name].answer, spark, ask) for name in TASKS}
    times: dict[Question, list[float]] = {question: [] for question in questions}
    for turn in range(_WARMING + _TURNS):
        for question, put in questions.items():
            if turn >= _WARMING or question[0] == sizes[0]:
                answer, took = best_of(1, put)
                times[question].append(took)
                if question[1] == "duplicate_commits":
                    assert len(answer.finding.repeated) == REPLAYED  # type: ignore[union-attr]
    spark.stop()
    medians = loads | {question: median(took[-_TURNS:]) for question, took in times.items()}
    return [Costs(size, {name: took for (of, name), took in medians.items() if of == size}) for size in sizes]


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
