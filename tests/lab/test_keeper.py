"""Nothing outlives the lab, however the lab ends."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest

from bot.kept_process import KEEPER, Restarts, pid_in
from bot.lab.errors import until
from bot.lab.home import Home
from bot.lab.process import Kept

PATIENCE_S = 60
_A_LAB = """
import sys, time
from pathlib import Path
from bot.lab.process import Kept
kept = Kept("sleeper", ["sleep", "120"], Path(sys.argv[1]), {}, restarts="always")
time.sleep(120)
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A prepared home."""
    prepared = Home(tmp_path / "lab")
    prepared.prepare()
    return prepared.folder


@pytest.fixture
def keep(home: Path) -> Iterator[Callable[..., Kept]]:
    """Starts kept processes and ends them after the test."""
    started: list[Kept] = []

    def start(command: list[str], restarts: Restarts = "never") -> Kept:
        started.append(Kept("sleeper", command, home, {}, restarts))
        return started[-1]

    yield start
    for kept in started:
        kept.end()


def running(pid_file: Path) -> int:
    """The process id, once it runs."""
    return until("the process", lambda: pid_in(pid_file), PATIENCE_S, "the keeper")


def another(pid_file: Path, first: int) -> int:
    """The process id of the one that took its place; the keeper writes it after the first has ended."""
    return until(
        "another process", lambda: pid if (pid := pid_in(pid_file)) != first else None, PATIENCE_S, "the keeper"
    )


def gone(pid: int) -> bool | None:
    """True once no such process lives."""
    try:
        return True if psutil.Process(pid).status() == psutil.STATUS_ZOMBIE else None
    except psutil.NoSuchProcess:
        return True


def test_a_kept_process_ends_with_the_lab(keep: Callable[..., Kept]) -> None:
    """Closing the lab ends its processes; closing it twice does no harm."""
    kept = keep(["sleep", "120"])
    pid = running(kept.pid_file)

    for _ in range(2):
        kept.end()

    assert gone(pid)
    assert kept.pid is None


def test_a_kept_process_ends_when_the_lab_is_killed(home: Path) -> None:
    """kill -9 of the Python process leaves nothing behind."""
    lab = subprocess.Popen([sys.executable, "-c", _A_LAB, str(home)], env={**os.environ, "PYTHONPATH": os.getcwd()})
    pid = running(home / "run" / "sleeper.pid")

    lab.kill()
    lab.wait()

    assert until("its end", lambda: gone(pid), PATIENCE_S, "the process table")


def test_a_kept_process_ends_when_its_keeper_is_killed(keep: Callable[..., Kept]) -> None:
    """The kernel does what the keeper no longer can."""
    kept = keep(["sleep", "120"])
    pid = running(kept.pid_file)
    keeper = psutil.Process(pid).parent()
    assert str(KEEPER) in keeper.cmdline()

    keeper.kill()

    assert until("its end", lambda: gone(pid), PATIENCE_S, "the process table")


def test_a_process_that_must_not_be_missing_comes_back(keep: Callable[..., Kept]) -> None:
    """A killed TaskManager is replaced, by another process."""
    kept = keep(["sleep", "120"], restarts="always")
    first = running(kept.pid_file)

    os.kill(first, signal.SIGKILL)
    second = another(kept.pid_file, first)

    assert gone(first)
    assert not gone(second)
    kept.check()


def test_a_jobmanager_comes_back_when_it_was_killed_and_not_when_it_ended(
    keep: Callable[..., Kept], tmp_path: Path
) -> None:
    """Killed from outside is a story; ended by itself is an error that must show."""
    ready = tmp_path / "ready"
    kept = keep(["sh", "-c", f"trap 'exit 3' TERM; echo $$ > {ready}; while :; do sleep 0.1; done"], restarts="killed")
    first = running(kept.pid_file)

    os.kill(first, signal.SIGKILL)
    second = another(kept.pid_file, first)
    until("its trap", lambda: ready.exists() and ready.read_text().strip() == str(second), PATIENCE_S, "the shell")
    os.kill(second, signal.SIGTERM)

    assert kept.wait() == 3


def test_a_pid_file_of_an_earlier_boot_names_no_process(tmp_path: Path) -> None:
    """A number that another process has inherited is not taken for the lab's."""
    pid_file = tmp_path / "old.pid"
    pid_file.write_text(str(os.getpid()), encoding="ascii")
    before_we_began = psutil.Process().create_time() - 3600
    os.utime(pid_file, (before_we_began, before_we_began))

    found = pid_in(pid_file)

    assert found is None
    os.utime(pid_file, (time.time(), time.time()))
    assert pid_in(pid_file) == os.getpid()


def test_a_kept_process_has_nothing_of_a_spark_that_we_spoke_to(
    keep: Callable[..., Kept], monkeypatch: pytest.MonkeyPatch
) -> None:
    """PySpark leaves it in our environment, and a consumer would then look for a server instead of being a Spark."""
    for name in ("SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED"):
        monkeypatch.setenv(name, "1")

    kept = keep(["env"])

    assert kept.wait() == 0
    assert "SPARK_" not in kept.log.read_text()
