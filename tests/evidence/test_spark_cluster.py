"""An existing engine: a Connect server before a standalone cluster of a master and two workers, each a process."""

import itertools
import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.evidence import TaskModule, find_tasks
from bot.kept_process import listens
from bot.observation.evidence import Answer, Ask, Progress
from bot.observation.table import Window
from bot.pinned_jars import LEAN, java, pyspark_jars
from tests.actions.worlds import closed, made
from tests.evidence.slow_tasks import PATIENCE_S, SLOW
from tests.tables import CONTRACT, ORDERS

pytestmark = [pytest.mark.slow, pytest.mark.timeout(400), pytest.mark.rotating]
TASKS = find_tasks(spark_tasks)
NUMBERS = itertools.count()


class Cluster:
    """Its processes; the executors are children of the workers."""

    def __init__(self, master: str, workers: list[subprocess.Popen[bytes]]) -> None:
        self.master = master
        self.workers = workers


def free_port() -> int:
    """A port that nobody listens at."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def started(log: Path, main: str, *args: str) -> subprocess.Popen[bytes]:
    """A daemon of Spark, from PySpark's own jars."""
    command = [str(java()), *LEAN, "-Xmx192m", "-cp", f"{pyspark_jars()}/*", main, *args]
    env = {
        **os.environ,
        "SPARK_HOME": str(pyspark_jars().parent),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_SCALA_VERSION": "2.13",
    }
    with log.open("wb") as out:
        return subprocess.Popen(command, stdout=out, stderr=out, env=env)


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A master and two workers of one core each."""
    folder, port = tmp_path_factory.mktemp("cluster"), free_port()
    deploy = "org.apache.spark.deploy"
    where = ("--host", "127.0.0.1", "--port", str(port), "--webui-port", "0")
    master = started(folder / "master.log", f"{deploy}.master.Master", *where)
    address = f"spark://127.0.0.1:{port}"
    give_up = time.monotonic() + PATIENCE_S
    while not listens("127.0.0.1", port, 1.0):
        assert time.monotonic() < give_up, (folder / "master.log").read_text()
        time.sleep(0.2)
    size = ("--host", "127.0.0.1", "--cores", "1", "--memory", "700m", "--webui-port", "0")
    workers = [
        started(folder / f"{n}.log", f"{deploy}.worker.Worker", *size, "--work-dir", str(folder / str(n)), address)
        for n in ("one", "two")
    ]
    yield Cluster(address, workers)
    for process in (*workers, master):
        process.terminate()
        process.wait(60)


@pytest.fixture(scope="module")
def distributed(cluster: Cluster, embedded: EmbeddedSpark) -> Iterator[SparkServer]:
    """A Connect server whose tasks run on the workers' executors."""
    conf = {
        **embedded.conf,
        "spark.master": cluster.master,
        "spark.executor.memory": "600m",
        "spark.executor.extraClassPath": os.pathsep.join(str(jar) for jar in embedded.jars),
        "spark.executor.extraJavaOptions": "-Dorg.apache.avro.fastread=false -XX:+UseSerialGC",
    }
    server = SparkServer(embedded.model_copy(update={"conf": conf, "memory": "700m"}))
    yield server
    server.stop()


@pytest.fixture(scope="module")
def ask(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Ask]:
    """A table whose job was restored from an older savepoint."""
    scene, _plan = made(tmp_path_factory.mktemp("rewound"), "rewound")
    seen = scene.observer.observe(ORDERS)
    assert seen.table.head is not None
    yield Ask(observation=seen, window=Window(since=scene.snapshot("a", 1), until=seen.table.head), contract=CONTRACT)
    closed(scene)


def put(runner: SparkEvidenceRunner, task: str, ask: Ask) -> Answer:
    """The answer to one task."""
    tag = f"cluster-{next(NUMBERS)}"
    return runner.run(TASKS[task].task, ask, tag=tag, on_progress=lambda _progress: None)[0]


def test_every_task_gives_the_answer_of_one_machine(
    distributed: SparkServer, runner: SparkEvidenceRunner, ask: Ask
) -> None:
    """What executors decode, shuffle and send back is what one process reads."""
    remote = SparkEvidenceRunner(TASKS, distributed.url)

    for task in TASKS:
        assert put(remote, task, ask) == put(runner, task, ask), task
    remote.close()


def heavy(spark: SparkSession, ask: Ask) -> Answer:
    """A real question, and before it sums that keep both workers busy for some seconds and pass through a shuffle."""
    sums = (
        spark.range(0, 6_000_000, numPartitions=40)
        .selectExpr("id % 101 AS part", "cast(hash(id) AS bigint) AS value")
        .groupBy("part")
        .sum("value")
        .orderBy("part")
        .collect()
    )
    answer = TASKS["ledger"].answer(spark, ask)
    return answer.model_copy(update={"sources": (*answer.sources, str([tuple(row) for row in sums]))})


def test_a_worker_that_is_killed_under_a_task_changes_no_answer(
    cluster: Cluster, distributed: SparkServer, server: SparkServer, ask: Ask
) -> None:
    """Its executor and what it had shuffled go with it; the other worker does that work again."""
    modules, lost = {SLOW.name: TaskModule(task=SLOW, answer=heavy)}, psutil.Process(cluster.workers[0].pid)
    alone, remote = SparkEvidenceRunner(modules, server.url), SparkEvidenceRunner(modules, distributed.url)
    killed = list[Progress]()

    def kill(progress: Progress) -> None:
        if killed or not 2 <= progress.tasks_done < 36:
            return
        executors = lost.children(recursive=True)
        assert executors
        for process in (lost, *executors):
            process.send_signal(signal.SIGKILL)
        killed.append(progress)

    expected, _ = alone.run(SLOW, ask, tag="alone", on_progress=lambda _progress: None)
    answer, _ = remote.run(SLOW, ask, tag="killed", on_progress=kill)
    alone.close()
    remote.close()

    assert killed
    assert expected == answer
