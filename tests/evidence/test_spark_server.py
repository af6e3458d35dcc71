"""The embedded server: a bad start is explained, and nothing outlives the bot."""

import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest

from bot.adapters.spark_server import KEEPER, EmbeddedSpark, SparkServer
from bot.domain.errors import EvidenceCancelled, EvidenceFailed

pytestmark = pytest.mark.slow


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

    with pytest.raises(EvidenceCancelled, match="given up"):
        SparkServer(embedded, is_given_up=lambda: True)

    assert time.monotonic() - began < 30


def test_nothing_outlives_a_bot_that_is_killed(tmp_path: Path) -> None:
    """Even `kill -9` of the bot ends the server and removes its scratch: its keeper sees the pipe end."""
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    code = (
        "import subprocess, sys, time; from bot.adapters.spark_server import KEEPER; "
        "k = subprocess.Popen([sys.executable, str(KEEPER), sys.argv[1], 'sleep', '60'], stdin=subprocess.PIPE); "
        "time.sleep(60)"
    )
    bot = subprocess.Popen([sys.executable, "-c", code, str(scratch)], stdout=subprocess.PIPE)
    assert bot.stdout is not None
    server = psutil.Process(int(bot.stdout.readline()))

    bot.kill()

    server.wait(timeout=90)
    bot.wait()
    bot.stdout.close()
    assert not server.is_running()
    wait_until_gone(scratch)


def test_the_server_yields_to_the_bot(server: SparkServer) -> None:
    """A task on every core does not keep a click waiting for its acknowledgement."""
    jvm = psutil.Process(server.pid)

    assert jvm.nice() == psutil.Process().nice() + 10


def test_a_killed_keeper_takes_the_server_along(tmp_path: Path) -> None:
    """The kernel ends the server when its keeper is gone; here with a small stand-in for the server."""
    keeper = subprocess.Popen(
        [sys.executable, str(KEEPER), str(tmp_path), "sleep", "60"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert keeper.stdout is not None
    assert keeper.stdin is not None
    kept = psutil.Process(int(keeper.stdout.readline()))

    keeper.kill()

    kept.wait(timeout=90)
    keeper.wait()
    keeper.stdin.close()
    keeper.stdout.close()
    assert not kept.is_running()
