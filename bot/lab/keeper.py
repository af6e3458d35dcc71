"""Keeps one process alive exactly as long as the lab: run as a program, never imported for its effects.

It holds a pipe from the lab. When the pipe ends, however the lab ended (kill -9 as well), the keeper ends its
process. When the keeper itself is killed, the kernel ends the process (PR_SET_PDEATHSIG). The keeper has one
thread on purpose: that signal follows the *thread* that started the child.

Usage: keeper.py PID_FILE GRACE_SECONDS never|killed|always COMMAND…

`killed`: a process that was killed from outside comes back, one that ends by itself does not.
"""

import ctypes
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
RESTART_AFTER_S = 1.5
"""Long enough for Flink to see that a TaskManager was gone."""


def _die_with_the_keeper() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


def _start(command: list[str], pid_file: Path) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, preexec_fn=_die_with_the_keeper)
    half = pid_file.with_suffix(".new")
    half.write_text(str(child.pid), encoding="ascii")
    half.replace(pid_file)
    return child


def _lab_is_gone(wake_up: int, timeout_s: float | None) -> bool:
    """Waits for the lab's pipe to end, or for a child to end; True when it was the pipe."""
    readable, _, _ = select.select([0, wake_up], [], [], timeout_s)
    if wake_up in readable:
        os.read(wake_up, 1024)
    return 0 in readable and not os.read(0, 1024)


def _end(child: subprocess.Popen[bytes], grace_s: float) -> None:
    child.terminate()
    try:
        child.wait(grace_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


def main(arguments: list[str]) -> int:
    """Keeps the command; returns its exit code, or 0 when the lab ended first."""
    pid_file, grace_s, restarts, command = (
        Path(arguments[0]),
        float(arguments[1]),
        arguments[2],
        arguments[3:],
    )
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    wake_up, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = _start(command, pid_file)
    while not _lab_is_gone(wake_up, None):
        code = child.poll()
        if code is None:
            continue
        if restarts == "never" or (restarts == "killed" and code != -signal.SIGKILL):
            return code
        if _lab_is_gone(wake_up, RESTART_AFTER_S):
            return 0
        child = _start(command, pid_file)
    _end(child, grace_s)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
