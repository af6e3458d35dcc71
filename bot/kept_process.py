"""A process that ends with us, however we end; and ports of this machine."""

import contextlib
import os
import random
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

import psutil

from bot.pinned_jars import MachineError

KEEPER = Path(__file__).with_name("process_keeper.py")
Restarts = Literal["never", "killed", "always"]
"""When a process is started again: never, when it was killed from outside, or whenever it ends."""
_PORTS = range(15_000, 32_768)


class KeptProcess:
    """Run by a keeper, which is the program `process_keeper.py`. Started at once."""

    def __init__(
        self,
        command: list[str],
        log: Path,
        pid_file: Path,
        env: Mapping[str, str],
        *,
        restarts: Restarts = "never",
        scratch: Path | None = None,
        niceness: int = 0,
        cwd: Path | None = None,
    ) -> None:
        """`env`: its whole environment. `scratch`: a folder that is removed when it has ended."""
        self.log, self.pid_file = log, pid_file
        pid_file.unlink(missing_ok=True)
        keeper = [sys.executable, "-E", "-S", str(KEEPER), str(pid_file), restarts, str(scratch or "-"), str(niceness)]
        with log.open("ab") as told:
            self._keeper = subprocess.Popen(
                keeper + command,
                stdin=subprocess.PIPE,
                stdout=told,
                stderr=told,
                env=env,
                cwd=cwd,
                start_new_session=True,
            )

    @property
    def pid(self) -> int | None:
        """Of the process itself, not of its keeper; None until it runs."""
        return pid_in(self.pid_file)

    @property
    def code(self) -> int | None:
        """With which it has ended by itself; None while it runs."""
        return self._keeper.poll()

    def ends_with_file(self, path: Path) -> None:
        """What it writes under this name into its scratch folder as it ends is moved to `path`. For this it gets
        time once it is asked to end."""
        assert self._keeper.stdin is not None
        with contextlib.suppress(BrokenPipeError):
            self._keeper.stdin.write(os.fsencode(path))

    def wait(self) -> int:
        """Until it ends by itself; the answer is its exit code."""
        code = self._keeper.wait()
        self.end()
        return code

    def ask_to_end(self) -> None:
        """Closes the pipe; the keeper then ends the process. Does not wait. Safe to repeat."""
        if self._keeper.stdin is not None:
            with contextlib.suppress(BrokenPipeError):
                self._keeper.stdin.close()

    def end(self) -> None:
        """The same, and waits until keeper and process are gone."""
        self.ask_to_end()
        try:
            self._keeper.wait(10)
        except subprocess.TimeoutExpired:
            self._keeper.kill()
            self._keeper.wait()
        self.pid_file.unlink(missing_ok=True)


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


def free_ports(count: int) -> list[int]:
    """Loopback ports that were free a moment ago, all different. Raises MachineError.

    The system gives none of these to outgoing connections (Linux: those from 32,768 on). From there, one that a JVM
    takes seconds to bind is now and then gone by then: even who asks it whether it listens may connect to itself.
    """
    with contextlib.ExitStack() as held:
        found: list[int] = []
        for port in random.sample(_PORTS, 100 * count):
            each = held.enter_context(socket.socket())
            with contextlib.suppress(OSError):
                each.bind(("127.0.0.1", port))
                found.append(port)
            if len(found) == count:
                return found
    raise MachineError(
        "No port is free.",
        f"Expected {count} among {100 * count} drawn from {_PORTS.start} to {_PORTS.stop - 1}; found {len(found)}.",
        "Stop what listens on these ports.",
    )


def listens(host: str, port: int, timeout_s: float = 1.0) -> bool:
    """Whether something accepts connections there."""
    try:
        socket.create_connection((host, port), timeout=timeout_s).close()
    except OSError:
        return False
    return True
