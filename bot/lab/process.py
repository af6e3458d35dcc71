"""One kept process of the lab: started at once, logged to a file, gone when the lab is gone.

What follows a dot in a process's name tells runs apart; they share one log.
"""

import contextlib
import os
import subprocess
import sys
from pathlib import Path
from typing import Literal
from uuid import uuid4

import psutil

from bot.lab.errors import LabError
from bot.pinned_jars import last_lines

_OF_OUR_SPARK = frozenset({"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED"})
"""PySpark leaves these behind in a process that spoke to a Spark; a child that inherits them would speak to it too."""
_PACKAGE_ROOT = Path(__file__).parents[2]
KEEPER = _PACKAGE_ROOT / "bot" / "process_keeper.py"
IMPORTS_US = {"PYTHONPATH": os.pathsep.join([str(_PACKAGE_ROOT), *sys.path[1:]])}
"""In the environment of a Python program of the lab's."""
Restarts = Literal["never", "killed", "always"]
"""When a process is started again: never, when it was killed from outside, or whenever it ends."""


class Kept:
    """A process that a keeper runs for us."""

    def __init__(self, name: str, command: list[str], home: Path, env: dict[str, str], restarts: Restarts) -> None:
        self.name = name
        self.log = home / "logs" / f"{name.partition('.')[0]}.log"
        self.pid_file = home / "run" / f"{name}.pid"
        self.pid_file.unlink(missing_ok=True)
        keeper = [sys.executable, "-E", "-S", str(KEEPER), str(self.pid_file), restarts, "-", "0"]
        with self.log.open("ab") as log:
            self._keeper = subprocess.Popen(
                keeper + command,
                stdin=subprocess.PIPE,
                stdout=log,
                stderr=log,
                env={key: value for key, value in os.environ.items() if key not in _OF_OUR_SPARK} | env,
                cwd=home,
                start_new_session=True,
            )

    @property
    def pid(self) -> int | None:
        """Of the process itself, not of its keeper; None until it runs."""
        return pid_in(self.pid_file)

    def check(self) -> None:
        """Raises LabError when the process has ended by itself."""
        code = self._keeper.poll()
        if code is not None:
            raise LabError(
                f"The {self.name} ended by itself.",
                f"Expected it to run; it ended with code {code}, and its log ends:\n{last_lines(self.log)}\n",
                f"Read {self.log}.",
            )

    def wait(self) -> int:
        """Waits for the process to end by itself; the answer is its exit code."""
        code = self._keeper.wait()
        self.ask_to_end()
        self.wait_for_end()
        return code

    def ask_to_end(self) -> None:
        """Closes the pipe; the keeper then ends the process. Does not wait."""
        if self._keeper.stdin and not self._keeper.stdin.closed:
            with contextlib.suppress(BrokenPipeError):
                self._keeper.stdin.close()

    def wait_for_end(self) -> None:
        """Waits until keeper and process are gone."""
        try:
            self._keeper.wait(10)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self.pid_file.unlink(missing_ok=True)


def program(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", module, *arguments]


class Telling(Kept):
    """A program of the lab that writes what it has to tell into a file: `MODULE HOME TOLD_FILE ARGUMENT…`."""

    def __init__(self, name: str, module: str, home: Path, *arguments: str) -> None:
        name = f"{name}.{uuid4().hex[:8]}"
        self._told = home / "scratch" / f"{name}.told"
        command = program(module, str(home), str(self._told), *arguments)
        super().__init__(name, command, home, IMPORTS_US, restarts="never")

    def told(self, failed: str) -> str:
        """What it wrote, when it has ended. Raises LabError, which begins with `failed`, with the end of its log."""
        if code := self.wait():
            raise LabError(
                failed,
                f"Expected it to end well; it ended with code {code}:\n{last_lines(self.log)}\n",
                f"Read {self.log} and the logs next to it.",
            )
        told = self._told.read_text(encoding="utf-8")
        self._told.unlink()
        return told

    def close(self) -> None:
        """Ends it when it still runs; safe to call twice."""
        self.ask_to_end()
        self.wait_for_end()
        self._told.unlink(missing_ok=True)


def pid_in(pid_file: Path) -> int | None:
    """The process id in a keeper's pid file, while that process lives.

    A process that began after the file was written has merely inherited the number.
    """
    try:
        pid = int(pid_file.read_text(encoding="ascii"))
        began = float(psutil.Process(pid).create_time())
        return pid if began <= pid_file.stat().st_mtime + 1 else None
    except (FileNotFoundError, psutil.NoSuchProcess):
        return None
