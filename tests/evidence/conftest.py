"""A session of the one embedded Spark, a table of orders for each test, and tasks that answer without Spark."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.evidence import check_answer, find_tasks
from bot.observation.evidence import Answer, Ask
from spark_tasks import duplicate_commits
from spark_tasks._support import commit_files as _commit_files
from spark_tasks._support import data_files as _data_files
from spark_tasks._support import reading as _reading
from tests.evidence import manifests
from tests.tables import OrdersTable

Asks = Callable[[str, Ask], Answer]


@pytest.fixture(scope="module")
def session(server: SparkServer) -> Iterator[SparkSession]:
    """A session of the test's own, in which it writes."""
    made = SparkConnection(server.url).session()
    made.conf.set("spark.sql.session.timeZone", "UTC")
    yield made
    made.stop()


@pytest.fixture
def writer(server: SparkServer) -> Iterator[SparkSession]:
    """A session of its own: Spark remembers a catalog as it first knew it."""
    made = SparkConnection(server.url).session()
    yield made
    made.stop()


@pytest.fixture
def asks(runner: SparkEvidenceRunner) -> Asks:
    """`asks("ledger", ask)`: the task's answer, checked as the collector checks it."""
    tasks = find_tasks(spark_tasks)
    count = iter(range(1000))

    def put(name: str, ask: Ask) -> Answer:
        task = tasks[name].task
        answer, _ = runner.run(task, ask, tag=f"test-{id(count)}-{next(count)}", on_progress=lambda _progress: None)
        check_answer(task, ask, answer)
        return answer

    return put


@pytest.fixture
def judges(monkeypatch: pytest.MonkeyPatch) -> Asks:
    """As `asks`, without Spark: of a task that reads nothing, or manifests alone."""
    for module in (_commit_files, _data_files, duplicate_commits):
        monkeypatch.setattr(module, "own_manifests", lambda _spark, commits: commits)
        monkeypatch.setattr(module, "entries_by_commit", manifests.entries_by_commit)
    tasks = find_tasks(spark_tasks)

    def put(name: str, ask: Ask) -> Answer:
        answer = tasks[name].answer(None, ask)
        check_answer(tasks[name].task, ask, answer)
        return answer

    return put


@pytest.fixture
def orders(tmp_path: Path) -> Iterator[OrdersTable]:
    """An empty `sales.orders`."""
    table = OrdersTable(tmp_path)
    yield table
    table.close()


@pytest.fixture
def by_key(tmp_path: Path) -> Iterator[OrdersTable]:
    """An empty `sales.orders` into which a job writes by key."""
    table = OrdersTable(tmp_path, {"write.upsert.enabled": "true"})
    yield table
    table.close()


@pytest.fixture
def is_large(monkeypatch: pytest.MonkeyPatch) -> None:
    """No table counts as small, so each is read as a large one is."""
    monkeypatch.setattr(_reading, "_FETCHED_ROWS", -1)
