"""The runner: progress, cancellation, limits, a server that dies, and nothing that outlives it."""

import gc
import os
import signal
import socket
import threading
import time
import uuid
import weakref
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import psutil
import pytest
from pyspark.sql import SparkSession
from pyspark.sql.connect.shell.progress import StageInfo

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_run import SparkRun
from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.domain.errors import EngineEnded, EvidenceCancelled, EvidenceFailed, FileNotOpened
from bot.domain.evidence import Answer, Ask, Progress, Task, Verdict
from bot.evidence import TaskModule, find_tasks
from tests.slack.people import eventually
from tests.tables import OrdersTable

SLOW = Task(name="slow", title="Slow", question="How long?", confirmed_means="long", needs=("table",), cost="time")
TASKS = find_tasks(spark_tasks)
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


def test_progress_is_told_and_a_broken_listener_does_no_harm(
    with_task: Callable[..., SparkEvidenceRunner], ask: Ask
) -> None:
    """A listener that raises must not end the query that it listens to."""
    heard: list[Progress] = []

    def listener(progress: Progress) -> None:
        heard.append(progress)
        raise ValueError("the card could not be drawn")

    answer, _ = with_task(counting(1000)).run(SLOW, ask, tag="progress", on_progress=listener)

    assert answer == COUNTED
    assert heard[-1].tasks_total >= 64


def test_tasks_and_bytes_are_summed_over_the_stages_of_all_queries() -> None:
    """A stage's later report replaces its earlier one; stages of another query are added."""
    heard: list[Progress] = []
    run = SparkRun("tag", heard.append)

    run.progressed([StageInfo(1, 4, 1, 100, done=False)], "first")
    run.progressed([StageInfo(1, 4, 4, 700, done=True)], "first")
    run.progressed([StageInfo(1, 2, 1, 50, done=False)], "second")

    assert heard[-1] == Progress(tasks_done=5, tasks_total=6, bytes_read=750)
    assert run.bytes_read == 750


def test_a_running_task_is_cancelled_by_its_tag_alone(with_task: Callable[..., SparkEvidenceRunner], ask: Ask) -> None:
    """The cancelled run raises EvidenceCancelled in its own thread; a run beside it is not touched."""
    runner = with_task(counting(20_000_000_000))
    began = threading.Event()
    one, raised = in_thread(lambda: runner.run(SLOW, ask, tag="one", on_progress=lambda _p: began.set()))
    assert began.wait(PATIENCE_S)

    assert runner.cancel("one")
    one.join(PATIENCE_S)

    assert [type(error) for error in raised] == [EvidenceCancelled]
    assert not runner.cancel("one")
    answer, _ = with_task(counting(1000)).run(SLOW, ask, tag="two", on_progress=deaf)
    assert answer == COUNTED


def test_two_tasks_run_beside_each_other_with_progress_of_their_own(server: SparkServer, ask: Ask) -> None:
    """One session serves two threads; the task of 4 parts never hears of the 64 of the other."""
    few = SLOW.model_copy(update={"name": "few"})
    modules = {
        "slow": TaskModule(task=SLOW, answer=counting(1000)),
        "few": TaskModule(task=few, answer=counting(10, 4)),
    }
    runner = SparkEvidenceRunner(modules, server.url)
    totals: dict[str, int] = {}

    def work(task: Task) -> None:
        runner.run(task, ask, tag=task.name, on_progress=lambda p: totals.__setitem__(task.name, p.tasks_total))

    threads = [in_thread(partial(work, task))[0] for task in (SLOW, few)]
    for thread in threads:
        thread.join(PATIENCE_S)
    runner.close()

    assert totals["slow"] >= 64
    assert totals["few"] <= 10


def test_a_task_ends_at_its_time_limit(with_task: Callable[..., SparkEvidenceRunner], ask: Ask) -> None:
    """The limit is said, and what to do about it."""
    runner = with_task(counting(20_000_000_000), timedelta(seconds=1))

    with pytest.raises(EvidenceFailed, match="0:00:01"):
        runner.run(SLOW, ask, tag="slow", on_progress=deaf)


def test_a_query_that_spark_refuses_is_told_in_three_parts(
    with_task: Callable[..., SparkEvidenceRunner], ask: Ask
) -> None:
    """The first line of Spark's message is enough; the stack trace stays away."""
    with pytest.raises(EvidenceFailed) as failed:
        with_task(failing).run(SLOW, ask, tag="bad", on_progress=deaf)

    assert "no_such_column" in failed.value.found
    assert "JVM stacktrace" not in str(failed.value)
    assert failed.value.remedy


def test_a_file_that_the_table_names_and_storage_lacks_is_told_by_name(
    runner: SparkEvidenceRunner, orders: OrdersTable
) -> None:
    """The name is kept apart from the words, so that a diagnosis can rest on it."""
    orders.commits_files("a", 1, {"one.parquet": range(10)})
    before = orders.commits("a", 2, range(10, 20))
    orders.commits("a", 3, range(5, 15))
    lost = orders.data_folder / "one.parquet"
    lost.unlink()

    with pytest.raises(FileNotOpened) as failed:
        runner.run(TASKS["duplicate_rows"].task, orders.ask(before), tag="lost", on_progress=deaf)

    assert failed.value.path.endswith(str(lost))
    assert str(lost) in failed.value.found


@pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")
def test_a_dead_server_is_told_and_the_next_run_starts_another(embedded: EmbeddedSpark, ask: Ask) -> None:
    """Spark may die under a task; the bot lives on. Closing ends the new server too."""
    began = threading.Event()
    runner = SparkEvidenceRunner({"slow": TaskModule(task=SLOW, answer=counting(20_000_000_000))}, embedded)
    one, raised = in_thread(lambda: runner.run(SLOW, ask, tag="one", on_progress=lambda _p: began.set()))
    assert began.wait(PATIENCE_S)
    first = runner.pid
    assert first is not None
    os.kill(first, signal.SIGKILL)
    one.join(PATIENCE_S)
    runner.warm()
    second = runner.pid
    assert second is not None

    runner.close()
    runner.close()

    assert [type(error) for error in raised] == [EngineEnded]
    assert "Spark went away" in str(raised[0])
    assert second != first
    assert not psutil.pid_exists(second)
    with pytest.raises(EvidenceFailed, match="shutting down"):
        runner.warm()


def test_a_run_that_is_cancelled_while_spark_starts_ends_at_once(embedded: EmbeddedSpark, ask: Ask) -> None:
    """A responder who cancels, and a bot that stops, do not sit out the start of a JVM."""
    runner = SparkEvidenceRunner({"slow": TaskModule(task=SLOW, answer=counting(1000))}, embedded)
    one, raised = in_thread(lambda: runner.run(SLOW, ask, tag="one", on_progress=deaf))
    eventually(lambda: runner.cancel("one"))
    one.join(PATIENCE_S)

    assert [type(error) for error in raised] == [EvidenceCancelled]
    assert "given up" in str(raised[0])
    assert runner.pid is None
    runner.close()


def test_a_session_that_nobody_uses_any_more_is_not_collected(server: SparkServer) -> None:
    """Its end would wait in whichever thread collects it, under a lock that every query needs: at worst for ever."""
    connection = SparkConnection(server.url)
    session = weakref.ref(connection.beside(str(uuid.uuid4())))

    connection.close()
    gc.collect()

    assert session() is not None


def test_a_remote_server_is_left_running(server: SparkServer, ask: Ask) -> None:
    """A server that others started serves as well; closing ends only our session."""
    runner = SparkEvidenceRunner({"slow": TaskModule(task=SLOW, answer=counting(1000))}, server.url)
    answer, _ = runner.run(SLOW, ask, tag="remote", on_progress=deaf)

    runner.close()

    assert answer == COUNTED
    assert runner.pid is None
    assert server.is_alive


def test_a_remote_server_that_is_not_there_is_told_within_seconds() -> None:
    """A responder does not wait for Spark's own ten minutes of retries; a token is not shown."""
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        port = unused.getsockname()[1]
    runner = SparkEvidenceRunner({}, f"sc://localhost:{port}/;token=s3cret")
    began = time.monotonic()

    with pytest.raises(EvidenceFailed, match="nothing answered") as failed:
        runner.warm()

    assert time.monotonic() - began < 10
    assert f"sc://localhost:{port}" in str(failed.value)
    assert "s3cret" not in str(failed.value)
