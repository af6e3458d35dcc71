"""Keeps one process alive exactly as long as the one that started it: run as a program, never imported for its effects.

It holds a pipe from there. When the pipe ends, however the other one ended (`kill -9` as well), the keeper ends its
process; when the keeper is killed, the kernel does (PR_SET_PDEATHSIG, which follows the *thread* that started the
child: the reason why this is a program of one thread).

Usage: process_keeper.py PID_FILE never|killed|always SCRATCH NICENESS COMMAND…

The process id goes into PID_FILE. `killed`: a process that was killed from outside comes back, one that ends by itself
does not. SCRATCH is a folder that is removed when the pipe has ended; `-`: none.
The pipe may name a file before it ends: one that the process writes into SCRATCH as it ends is moved there.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys
from functools import partial
from pathlib import Path

PR_SET_PDEATHSIG = 1
GRACE_S = 4.0
WRITES_WITHIN_S = 180.0
"""Of a process that writes a file as it ends."""
RESTART_AFTER_S = 1.5
"""Long enough for Flink to see that a TaskManager was gone."""


def _below_the_keeper(niceness: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(niceness)


def _start(command: list[str], pid_file: str, niceness: int) -> subprocess.Popen[bytes]:
    child = subprocess.Popen(
        command, stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=partial(_below_the_keeper, niceness)
    )
    half = Path(pid_file).with_suffix(".new")
    half.write_text(str(child.pid), encoding="ascii")
    half.replace(pid_file)
    return child


def _has_ended(wake_up: int, timeout_s: float | None, said: bytearray) -> bool:
    """Waits for the pipe or a child to end; True when it was the pipe. Adds what the pipe said."""
    readable, _, _ = select.select([0, wake_up], [], [], timeout_s)
    if wake_up in readable:
        os.read(wake_up, 1024)
    if 0 not in readable:
        return False
    told = os.read(0, 4096)
    said += told
    return not told


def _end(child: subprocess.Popen[bytes], within_s: float) -> bool:
    """Whether it ended by itself."""
    child.terminate()
    try:
        child.wait(within_s)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()
    return child.returncode != -signal.SIGKILL


def _move(written: Path, to: Path) -> None:
    """Nobody ever sees half of it there."""
    half = to.with_suffix(f".{os.getpid()}")
    try:
        to.parent.mkdir(parents=True, exist_ok=True)
        shutil.move(written, half)
        half.replace(to)
    except OSError:
        half.unlink(missing_ok=True)


def main(pid_file: str, restarts: str, scratch: str, niceness: int, command: list[str]) -> int:
    """Keeps the command; returns its exit code, or 0 when the pipe ended first."""
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    wake_up, signalled = os.pipe()
    os.set_blocking(signalled, False)
    signal.set_wakeup_fd(signalled)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    said = bytearray()
    child = _start(command, pid_file, niceness)
    while not _has_ended(wake_up, None, said):
        code = child.poll()
        if code is None:
            continue
        if restarts == "never" or (restarts == "killed" and code != -signal.SIGKILL):
            return code
        if _has_ended(wake_up, RESTART_AFTER_S, said):
            return 0
        child = _start(command, pid_file, niceness)
    to = Path(os.fsdecode(bytes(said))) if said else None
    if _end(child, GRACE_S if to is None else WRITES_WITHIN_S) and to is not None:
        _move(Path(scratch, to.name), to)
    if scratch != "-":
        shutil.rmtree(scratch, ignore_errors=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4]), sys.argv[5:]))
