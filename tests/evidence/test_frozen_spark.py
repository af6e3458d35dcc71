"""A Spark that freezes, or whose connection breaks without a word, ends in a clear error; nothing of ours waits."""

import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import pytest

from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.evidence import TaskModule
from bot.observation.errors import EngineEnded, EvidenceCancelled, EvidenceFailed
from bot.observation.evidence import Ask
from bot.settings import SparkSettings
from tests.adapters.serving import unused_address
from tests.evidence.slow_tasks import COUNTED, PATIENCE_S, SLOW, ask, counting, deaf, in_thread
from tests.slack.people import eventually

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore:.RETRIES_EXCEEDED")]
WITHIN_S = 4.0
FOR_EVER = 20_000_000_000
__all__ = ["ask"]


@pytest.fixture
def frozen(embedded: EmbeddedSpark) -> Iterator[SparkServer]:
    """A server of the test's own; goes on at the end so that it can be stopped."""
    server = SparkServer(embedded)
    yield server
    os.kill(server.pid, signal.SIGCONT)
    server.stop()


def runner_at(url: str, rows: int = FOR_EVER) -> SparkEvidenceRunner:
    """One slow task on that server."""
    return SparkEvidenceRunner(
        {"slow": TaskModule(task=SLOW, answer=counting(rows))}, url, answer_timeout=timedelta(seconds=WITHIN_S)
    )


def running(runner: SparkEvidenceRunner, ask: Ask, tag: str) -> tuple[threading.Thread, list[BaseException]]:
    """A task of which Spark has told something."""
    began = threading.Event()
    thread, raised = in_thread(lambda: runner.run(SLOW, ask, tag=tag, on_progress=lambda _progress: began.set()))
    assert began.wait(PATIENCE_S)
    return thread, raised


def test_a_server_that_freezes_under_a_task_is_told(frozen: SparkServer, ask: Ask) -> None:
    """The next task is told too, and closing does not wait for the server."""
    runner = runner_at(frozen.url)
    task, raised = running(runner, ask, "one")

    os.kill(frozen.pid, signal.SIGSTOP)
    task.join(8 * WITHIN_S)
    with pytest.raises(EvidenceFailed, match="does not answer"):
        runner.warm()
    began = time.monotonic()
    with pytest.raises(EvidenceFailed, match="does not answer"):
        runner.warm()
    again_s = time.monotonic() - began
    runner.close()

    assert [type(error) for error in raised] == [EngineEnded]
    assert "stopped answering" in str(raised[0])
    assert again_s < 1
    assert time.monotonic() - began < 8 * WITHIN_S


def test_a_task_on_a_frozen_server_can_be_cancelled(frozen: SparkServer, ask: Ask) -> None:
    """A responder does not wait for a server that does not come back."""
    runner = runner_at(frozen.url)
    task, raised = running(runner, ask, "one")

    os.kill(frozen.pid, signal.SIGSTOP)
    assert runner.cancel("one")
    task.join(8 * WITHIN_S)
    runner.close()

    assert [type(error) for error in raised] == [EvidenceCancelled]


def test_a_bot_can_stop_while_its_spark_is_frozen(frozen: SparkServer, ask: Ask) -> None:
    """What waits for Spark ends with it."""
    runner = runner_at(frozen.url)
    task, raised = running(runner, ask, "one")

    os.kill(frozen.pid, signal.SIGSTOP)
    began = time.monotonic()
    runner.close()
    task.join(8 * WITHIN_S)

    assert [type(error) for error in raised] == [EvidenceCancelled]
    assert time.monotonic() - began < 30


def test_a_server_that_only_accepts_connections_is_told(ask: Ask) -> None:
    """Nothing is ever answered, and nobody waits longer than was said."""
    with socket.socket() as deaf_one:
        deaf_one.bind(("127.0.0.1", 0))
        deaf_one.listen()
        runner = runner_at(f"sc://127.0.0.1:{deaf_one.getsockname()[1]}")
        began = time.monotonic()

        with pytest.raises(EvidenceFailed):
            runner.warm()

        runner.close()
        assert time.monotonic() - began < 8 * WITHIN_S


@pytest.mark.long
def test_a_session_is_released_when_nobody_asks_and_made_anew(embedded: EmbeddedSpark, ask: Ask) -> None:
    """Between incidents there is no Spark to pay for."""
    runner = SparkEvidenceRunner(
        {"slow": TaskModule(task=SLOW, answer=counting(1000))}, embedded, idle_after=timedelta(seconds=4)
    )
    first = runner.run(SLOW, ask, tag="one", on_progress=deaf)[0]

    eventually(lambda: runner.pid is None)
    then = runner.run(SLOW, ask, tag="two", on_progress=deaf)[0]

    runner.close()
    assert first == then == COUNTED


def test_a_start_that_failed_is_tried_once(embedded: EmbeddedSpark) -> None:
    """Twelve tasks of one diagnosis do not each wait for it."""
    connection = SparkConnection(embedded.model_copy(update={"memory": "64m"}))
    with pytest.raises(EvidenceFailed, match="could not be started"):
        connection.session()
    began = time.monotonic()

    for _ in range(11):
        with pytest.raises(EvidenceFailed, match="could not be started"):
            connection.session()

    connection.close()
    assert time.monotonic() - began < 1


def test_a_storage_without_its_jars_keeps_no_other_table_from_being_read(
    embedded: EmbeddedSpark, ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor does a folder where jars cannot be kept. For tables there the same is said once more."""
    monkeypatch.setenv("WATERLINE_CACHE", "/dev/null/none")
    connection = SparkConnection(embedded)
    local = ask.observation.table
    on_gcs = local.model_copy(update={"metadata_location": "gs://lake/metadata/00001.metadata.json"})
    with pytest.raises(EvidenceFailed, match="NotADirectoryError"):
        connection.session(table=on_gcs)

    assert connection.session(table=local).range(3).count() == 3
    with pytest.raises(EvidenceFailed, match="NotADirectoryError"):
        connection.session(table=on_gcs)

    connection.close()


def test_a_token_is_had_anew_from_its_command(server: SparkServer, tmp_path: Path) -> None:
    """One that has expired is refused in words; the next is used."""
    address, _, token = server.url.partition("/;token=")
    file = tmp_path / "token"
    file.write_text("expired")
    remote = SparkSettings(remote=address, token_command=("cat", str(file)), token_lifetime=timedelta(milliseconds=1))
    connection = SparkConnection(remote)
    with pytest.raises(EvidenceFailed, match="refused the token"):
        connection.session()
    connection.close()
    file.write_text(token)
    connection = SparkConnection(remote)

    assert connection.session().range(3).count() == 3

    connection.close()


def test_a_server_that_takes_the_connection_and_says_nothing_is_told() -> None:
    """gRPC gives the connection up before the answer is due: not a word of tokens and versions."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        runner = SparkEvidenceRunner(
            {}, f"sc://127.0.0.1:{server.getsockname()[1]}", answer_timeout=timedelta(seconds=PATIENCE_S)
        )
        with pytest.raises(EvidenceFailed, match="does not answer") as told:
            runner.warm()
        runner.close()

    assert "Look at the Spark server" in told.value.remedy


def test_a_server_that_is_down_is_told_with_both_places_of_its_address() -> None:
    """The settings name it, or the environment."""
    runner = SparkEvidenceRunner({}, unused_address().replace("http:", "sc:"))
    with pytest.raises(EvidenceFailed, match="cannot be reached") as told:
        runner.warm()
    runner.close()

    assert "`spark.remote`" in told.value.remedy
