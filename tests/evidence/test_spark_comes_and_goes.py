"""A Spark server that starts badly, dies, or belongs to others."""

import gc
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
import weakref
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

import spark_tasks
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.adapters.spark_session import SparkConnection
from bot.evidence import TaskModule, find_tasks
from bot.kept_process import KeptProcess
from bot.observation.errors import EngineEnded, EvidenceCancelled, EvidenceFailed
from bot.observation.evidence import Answer, Ask, Verdict
from tests.evidence.slow_tasks import COUNTED, PATIENCE_S, SLOW, ask, counting, deaf, in_thread
from tests.slack.people import eventually
from tests.tables import of_table

__all__ = ["ask"]

pytestmark = [pytest.mark.slow, pytest.mark.rotating]


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
    is read by interpreted queries, and so is a table of few rows; rows of others are read by compiled ones."""
    manager = "spark.connect.session.manager"
    soon = {f"{manager}.defaultSessionTimeout": "8s", f"{manager}.maintenanceInterval": "1s"}
    server = SparkServer(embedded.model_copy(update={"conf": soon}))
    metadata = SLOW.model_copy(update={"name": "metadata", "reads": "metadata"})
    asked = [(SLOW, ask, "NO_CODEGEN"), (SLOW, _of_many_rows(ask), "FALLBACK"), (metadata, ask, "NO_CODEGEN")] * 2
    runner = SparkEvidenceRunner(
        {task.name: TaskModule(task=task, answer=_how_it_runs) for task, _, _ in asked}, server.url
    )
    try:
        first = [runner.run(task, of, tag=task.name, on_progress=deaf)[0].headline for task, of, _ in asked]
        time.sleep(12)
        then = [runner.run(task, of, tag=task.name, on_progress=deaf)[0].headline for task, of, _ in asked]
    finally:
        runner.close()
        server.stop()

    assert first == then == [mode for _, _, mode in asked]


def _of_many_rows(ask: Ask) -> Ask:
    table = ask.observation.table
    snapshots = tuple(
        each.model_copy(update={"summary": {**each.summary, "total-records": "1000000"}}) for each in table.snapshots
    )
    return of_table(ask, snapshots=snapshots)


def _how_it_runs(spark: SparkSession, _ask: Ask) -> Answer:
    assert spark.range(3).count() == 3
    return Answer(verdict=Verdict.INCONCLUSIVE, headline=str(spark.conf.get("spark.sql.codegen.factoryMode")))


def test_a_task_that_reads_nothing_starts_no_spark(ask: Ask) -> None:
    """All that it needs is in hand."""
    runner = SparkEvidenceRunner(find_tasks(spark_tasks), EmbeddedSpark())

    answers = [
        runner.run(each.task, ask, tag=name, on_progress=deaf)[0]
        for name, each in find_tasks(spark_tasks).items()
        if each.task.reads == "nothing"
    ]

    assert answers
    assert runner.pid is None
    runner.close()


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


def wait_until_gone(folder: Path) -> None:
    """Fails when the folder is still there after ten seconds."""
    give_up = time.monotonic() + 10
    while folder.exists():
        assert time.monotonic() < give_up, f"{folder} is still there"
        time.sleep(0.05)


def test_a_server_that_cannot_start_shows_the_end_of_its_log(embedded: EmbeddedSpark) -> None:
    """A wrong setting is found in the message, not by guessing."""
    with pytest.raises(EvidenceFailed, match="System memory"):
        SparkServer(embedded.model_copy(update={"memory": "64m"}))


def test_a_start_is_given_up_when_nobody_waits_for_it(embedded: EmbeddedSpark) -> None:
    """A bot that is told to stop, or a responder who cancels, does not sit out the start of a JVM."""
    began = time.monotonic()

    with pytest.raises(EvidenceCancelled):
        SparkServer(embedded, is_given_up=lambda: True)

    assert time.monotonic() - began < 30


def test_nothing_outlives_a_bot_that_is_killed(tmp_path: Path) -> None:
    """Even `kill -9` of the bot ends the server and removes its scratch: its keeper sees the pipe end."""
    scratch, pid_file = tmp_path / "scratch", tmp_path / "pid"
    scratch.mkdir()
    code = (
        "import sys, time; from pathlib import Path; from bot.kept_process import KeptProcess; "
        "pid_file, log, scratch = map(Path, sys.argv[1:]); "
        "kept = KeptProcess(['sleep', '60'], log, pid_file, {}, scratch=scratch); "
        "time.sleep(60)"
    )
    bot = subprocess.Popen([sys.executable, "-c", code, str(pid_file), str(tmp_path / "log"), str(scratch)])
    eventually(pid_file.exists)
    server = psutil.Process(int(pid_file.read_text()))

    bot.kill()

    server.wait(timeout=90)
    bot.wait()
    assert not server.is_running()
    wait_until_gone(scratch)


def test_the_server_yields_to_the_bot(server: SparkServer) -> None:
    """A task on every core does not keep a click waiting for its acknowledgement."""
    jvm = psutil.Process(server.pid)

    assert jvm.nice() == psutil.Process().nice() + 10


def test_java_options_are_added_to_our_own(server: SparkServer) -> None:
    """A trust store must not cost the options without which manifests fill the heap."""
    jvm = psutil.Process(server.pid)
    told = [each.as_dict(["cmdline"], ad_value=[])["cmdline"] for each in (jvm, *jvm.children())]  # a zombie has none
    commands = [" ".join(each) for each in told]

    assert [c for c in commands if "-Dwaterline.runs=tests" in c and "-Dorg.apache.avro.fastread=false" in c]


def test_a_keeper_moves_what_its_process_writes_as_it_ends(tmp_path: Path) -> None:
    """The process has as long as it needs, and whoever asked for its end need not wait."""
    scratch, to = tmp_path / "scratch", tmp_path / "kept" / "classes"
    scratch.mkdir()
    script = f"trap 'echo all > {scratch}/classes; exit 1' TERM; touch {scratch}/ready; while :; do sleep 0.1; done"
    kept = KeptProcess(["sh", "-c", script], tmp_path / "log", tmp_path / "pid", os.environ, scratch=scratch)
    eventually((scratch / "ready").exists)

    kept.ends_with_file(to)
    kept.ask_to_end()
    kept.wait()

    assert to.read_text() == "all\n"
    assert not scratch.exists()


def test_what_a_server_has_loaded_serves_the_next_one(
    embedded: EmbeddedSpark, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With `-Xshare:on` Java would refuse to start where it cannot use what the first one left."""
    monkeypatch.setenv("WATERLINE_CACHE", str(tmp_path))
    conf = {**embedded.conf, "spark.driver.extraJavaOptions": "-Xshare:on"}
    wanted = embedded.model_copy(update={"keeps_classes": True, "conf": conf})
    first = SparkServer(wanted)
    first.stop(was_used=True)
    first._kept.wait()

    second = SparkServer(wanted)

    (archive,) = (tmp_path / "classes").iterdir()
    options = psutil.Process(second.pid).cmdline()
    second.stop(was_used=True)
    assert f"-XX:SharedArchiveFile={archive}" in options
    assert [archive] == list((tmp_path / "classes").iterdir())
