"""A task that takes as long as a test asks for, and a thread to run it in."""

import threading
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.evidence import TaskModule
from bot.observation.errors import EvidenceCancelled, EvidenceFailed
from bot.observation.evidence import Answer, Ask, Progress, Task, Verdict
from tests.tables import OrdersTable

SLOW = Task(
    name="slow", title="Slow", question="How long?", confirmed_means="long", ruled_out_means="short",
    needs=("table",), cost="time",
)  # fmt: skip
PATIENCE_S = 100
"""A busy machine may need half a minute to start Spark."""
COUNTED = Answer(verdict=Verdict.INCONCLUSIVE, headline="Counted.")


def counting(rows: int, parts: int = 64) -> Callable[[SparkSession, Ask], Answer]:
    """A task that keeps Spark busy in proportion to `rows`."""

    def answer(spark: SparkSession, _ask: Ask) -> Answer:
        spark.range(0, rows, numPartitions=parts).selectExpr("sum(cast(hash(id) as bigint))").collect()
        return COUNTED

    return answer


def failing(spark: SparkSession, _ask: Ask) -> Answer:
    """A task that asks for a column which is not there."""
    spark.range(1).select("no_such_column").collect()
    return COUNTED


def deaf(_progress: Progress) -> None:
    """Nobody listens."""


@pytest.fixture
def ask(orders: OrdersTable) -> Ask:
    """Any question."""
    return orders.ask(orders.commits("a", 1, range(10)))


@pytest.fixture
def with_task(runner: SparkEvidenceRunner, monkeypatch: pytest.MonkeyPatch) -> Callable[..., SparkEvidenceRunner]:
    """The warm runner with one more task, `slow`."""

    def add(answer: Callable[[Any, Ask], Answer], limit: timedelta | None = None) -> SparkEvidenceRunner:
        monkeypatch.setattr(runner, "_modules", {"slow": TaskModule(task=SLOW, answer=answer)})
        if limit is not None:
            monkeypatch.setattr(runner, "_time_limit", limit)
        return runner

    return add


def in_thread(work: Callable[[], object]) -> tuple[threading.Thread, list[BaseException]]:
    """Start it; the list holds what it raised."""
    raised: list[BaseException] = []

    def body() -> None:
        try:
            work()
        except (EvidenceCancelled, EvidenceFailed) as error:
            raised.append(error)

    thread = threading.Thread(target=body, daemon=True)
    thread.start()
    return thread, raised
