"""Keeps one Spark server alive exactly as long as the bot: run as a program, never imported for its effects.

It holds a pipe from the bot. When the pipe ends, however the bot ended (`kill -9` as well), the keeper ends
the server; when the keeper is killed, the kernel does (PR_SET_PDEATHSIG, which follows the *thread* that
started the child: the reason why this is a program of one thread and not a thread of the bot).

Usage: spark_keeper.py FOLDER COMMAND…   Writes the server's process id to stdout, one line; removes FOLDER,
the server's scratch, when the bot is gone.
"""

import ctypes
import os
import select
import shutil
import signal
import subprocess
import sys

PR_SET_PDEATHSIG = 1
GRACE_S = 4.0
YIELDS = 10
"""Niceness of the server: evidence may take a little longer, a click is acknowledged at once. Without it a task on
every core made clicks wait several times as long as on an idle machine (`make bench`)."""


def _below_the_bot() -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    os.nice(YIELDS)


def main(folder: str, command: list[str]) -> int:
    """Runs the command until it ends (then its exit code) or until stdin ends (then 0)."""
    for ignored in (signal.SIGINT, signal.SIGHUP):
        signal.signal(ignored, signal.SIG_IGN)
    woken, wake = os.pipe()
    os.set_blocking(wake, False)
    signal.set_wakeup_fd(wake)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr, preexec_fn=_below_the_bot)
    os.write(1, f"{child.pid}\n".encode("ascii"))
    while child.poll() is None:
        readable, _, _ = select.select([0, woken], [], [])
        if woken in readable:
            os.read(woken, 1024)
        if 0 in readable and not os.read(0, 1024):
            _end(child)
            shutil.rmtree(folder, ignore_errors=True)
            return 0
    return child.returncode


def _end(child: subprocess.Popen[bytes]) -> None:
    child.terminate()
    try:
        child.wait(GRACE_S)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
