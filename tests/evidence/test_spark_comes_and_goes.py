"""A server that dies, starts, or belongs to others: told within seconds, and nothing outlives us."""

import gc
import os
import signal
import socket
import threading
import time
import uuid
import weakref

import psutil
import pytest
from pyspark.sql import SparkSession

from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.domain.errors import EngineEnded, EvidenceCancelled, EvidenceFailed
from bot.domain.evidence import Answer, Ask, Verdict
from bot.evidence import TaskModule
from tests.evidence.slow_tasks import COUNTED, PATIENCE_S, SLOW, ask, counting, deaf, in_thread
from tests.slack.people import eventually

pytestmark = pytest.mark.slow

__all__ = ["ask"]


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
    assert "Spark ended" in str(raised[0])
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


def test_a_session_that_the_server_closed_is_opened_anew(embedded: EmbeddedSpark, ask: Ask) -> None:
    """A server closes what nobody asked for an hour, and the first question of the night comes after hours. Metadata
    is read by interpreted queries, rows by compiled ones."""
    manager = "spark.connect.session.manager"
    soon = {f"{manager}.defaultSessionTimeout": "8s", f"{manager}.maintenanceInterval": "1s"}
    server = SparkServer(embedded.model_copy(update={"conf": soon}))
    metadata = SLOW.model_copy(update={"name": "metadata", "reads": "metadata"})
    asked = [(SLOW, "FALLBACK"), (metadata, "NO_CODEGEN")] * 2
    runner = SparkEvidenceRunner(
        {task.name: TaskModule(task=task, answer=_how_it_runs) for task, _ in asked}, server.url
    )
    try:
        first = [runner.run(task, ask, tag=task.name, on_progress=deaf)[0].headline for task, _ in asked]
        time.sleep(12)
        then = [runner.run(task, ask, tag=task.name, on_progress=deaf)[0].headline for task, _ in asked]
    finally:
        runner.close()
        server.stop()

    assert first == then == [mode for _, mode in asked]


def _how_it_runs(spark: SparkSession, _ask: Ask) -> Answer:
    assert spark.range(3).count() == 3
    return Answer(verdict=Verdict.INCONCLUSIVE, headline=str(spark.conf.get("spark.sql.codegen.factoryMode")))


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

    assert time.monotonic() - began < 60
    assert f"sc://localhost:{port}" in str(failed.value)
    assert "s3cret" not in str(failed.value)
