"""One kept process of the lab: started at once, logged to a file, gone when the lab is gone.

What follows a dot in a process's name tells runs apart; they share one log.
"""

import os
import sys
from pathlib import Path
from uuid import uuid4

from bot.kept_process import KeptProcess, Restarts
from bot.lab.errors import LabError
from bot.pinned_jars import last_lines

_OF_OUR_SPARK = frozenset({"SPARK_REMOTE", "SPARK_LOCAL_REMOTE", "SPARK_CONNECT_MODE_ENABLED"})
"""PySpark leaves these behind in a process that spoke to a Spark; a child that inherits them would speak to it too."""
IMPORTS_US = {"PYTHONPATH": os.pathsep.join([str(Path(__file__).parents[2]), *sys.path[1:]])}
"""In the environment of a Python program of the lab's."""


class Kept(KeptProcess):
    def __init__(self, name: str, command: list[str], home: Path, env: dict[str, str], restarts: Restarts) -> None:
        self.name = name
        ours = {key: value for key, value in os.environ.items() if key not in _OF_OUR_SPARK}
        log, pid_file = home / "logs" / f"{name.partition('.')[0]}.log", home / "run" / f"{name}.pid"
        super().__init__(command, log, pid_file, ours | env, restarts=restarts, cwd=home)

    def check(self) -> None:
        """Raises LabError when the process has ended by itself."""
        if self.code is not None:
            raise LabError(
                f"The {self.name} ended by itself.",
                f"Expected it to run; it ended with code {self.code}, and its log ends:\n{last_lines(self.log)}\n",
                f"Read {self.log}.",
            )


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
        self.end()
        self._told.unlink(missing_ok=True)
