"""The command `lab up` on a real cluster: it ends well, and nothing outlives it."""

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from typer.testing import CliRunner

from bot.lab.commands import app
from bot.lab.errors import until
from bot.lab.home import Home

Up = Callable[[], tuple[subprocess.Popen[bytes], list[int]]]


@pytest.fixture
def up(tmp_path: Path) -> Iterator[Up]:
    """Runs `lab up`; answers with the command and the processes of the lab, once the job has committed."""
    commands = []

    def run() -> tuple[subprocess.Popen[bytes], list[int]]:
        program = "from bot.lab.commands import app; app()"
        arguments = ["up", "--home", str(tmp_path / "lab")]
        environment = {**os.environ, "PYTHONPATH": os.getcwd()}
        output = tmp_path / "output.txt"
        with output.open("wb") as told:
            command = subprocess.Popen(
                [sys.executable, "-c", program, *arguments], env=environment, stdout=told, stderr=told
            )
        commands.append(command)
        until("the lab", lambda: b"Ctrl-C" in output.read_bytes() or command.poll() or None, 120, str(output))
        return command, list(Home(tmp_path / "lab").state().pids.values())

    yield run
    for command in commands:
        command.kill()
        command.wait()


def all_gone(pids: list[int]) -> bool | None:
    """True once none of these processes lives."""
    return True if not any(map(psutil.pid_exists, pids)) else None


@pytest.mark.long
@pytest.mark.slow
@pytest.mark.timeout(300)
def test_up_leaves_nothing_behind_and_runs_again(up: Up) -> None:
    """Neither kill -9 nor Ctrl-C leaves a process, and a used home starts again."""
    killed, first_pids = up()
    assert not all_gone(first_pids)

    killed.kill()
    killed.wait()
    until("the end of the killed lab", lambda: all_gone(first_pids), 20, "the process table")
    stopped, second_pids = up()
    stopped.send_signal(signal.SIGINT)

    assert stopped.wait(30) == 0
    assert all_gone(second_pids)


def test_break_without_a_lab_says_how_to_start_one(tmp_path: Path) -> None:
    """The three parts of the error reach the terminal, and the exit code says that nothing was done."""
    command = [sys.executable, "-m", "bot.cli", "lab", "break", "task-manager-killed", "--home", str(tmp_path)]

    answer = subprocess.run(command, capture_output=True, text=True, check=False)

    assert answer.returncode == 1
    assert "Start one with `waterline lab up`" in answer.stderr
    assert "Traceback" not in answer.stderr


def test_stories_lists_all_of_them() -> None:
    """What can be broken can be found."""
    answer = CliRunner().invoke(app, ["stories"])

    assert answer.exit_code == 0
    assert "rolled-back-while-running" in answer.output
