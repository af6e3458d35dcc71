"""The runner: progress, cancellation, limits, and what Spark refuses."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial

import grpc
import pytest
from pyspark.sql.connect.shell.progress import StageInfo

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner, SparkRun
from bot.adapters.spark_server import SparkServer
from bot.domain.errors import EvidenceCancelled, EvidenceFailed, FileNotOpened
from bot.domain.evidence import Ask, Progress, Task
from bot.evidence import TaskModule, find_tasks
from tests.evidence.slow_tasks import COUNTED, PATIENCE_S, SLOW, ask, counting, deaf, failing, in_thread, with_task
from tests.tables import OrdersTable

__all__ = ["ask", "with_task"]
TASKS = find_tasks(spark_tasks)
_SECONDS_OF_ROWS = 5_000_000
"""Spark tells its progress five times a second: a query that is done sooner is never told of."""


def test_progress_is_told_and_a_broken_listener_does_no_harm(
    with_task: Callable[..., SparkEvidenceRunner], ask: Ask
) -> None:
    """A listener that raises must not end the query that it listens to."""
    heard: list[Progress] = []

    def listener(progress: Progress) -> None:
        heard.append(progress)
        raise ValueError("the card could not be drawn")

    answer, _ = with_task(counting(1000, parts=2000)).run(SLOW, ask, tag="progress", on_progress=listener)

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


def test_a_task_is_interrupted_until_it_ends_although_spark_does_not_answer_once() -> None:
    """A proxy that stumbles leaves the query running: neither its limit nor a cancellation may be lost by that."""
    run, asked = SparkRun("tag", lambda _progress: None), list[str]()

    class Session:
        def interruptTag(self, tag: str) -> None:
            asked.append(tag)
            if len(asked) == 1:
                raise grpc.RpcError("UNAVAILABLE")
            run.end()

    run.cancel()
    run.watch(Session(), 60)  # type: ignore[arg-type]

    assert asked == ["tag", "tag"]


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
        "few": TaskModule(task=few, answer=counting(_SECONDS_OF_ROWS, 4)),
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
