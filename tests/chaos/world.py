"""One table, one Slack, one Flink, and one bot after the other, or several at once: what is killed, what goes on."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from random import Random
from typing import Any

import httpx

from bot.workspace import Workspace
from tests.little_flink import LittleFlink
from tests.rewound import GOOD_RUN
from tests.tables import OrdersTable

_ROOT = Path(__file__).parents[2]
_PATIENCE_S = 300.0


class Bots:
    """Starts bots, warm or cold, and kills them."""

    def __init__(self, log: Path) -> None:
        self._log = log.open("ab")
        command = [sys.executable, "-m", "tests.chaos.bot_process"]
        self._warm = subprocess.Popen(
            command, cwd=_ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log, text=True
        )
        assert self._warm.stdout.readline() == "ready\n"

    def start(self, line: str) -> int:
        """The process id of a new bot: a fork of one that has imported everything."""
        self._warm.stdin.write(line + "\n")
        self._warm.stdin.flush()
        return int(self._warm.stdout.readline())

    def start_cold(self, line: str) -> subprocess.Popen[bytes]:
        """A new bot as an operator starts it."""
        command = [sys.executable, "-m", "tests.chaos.bot_process", line]
        return subprocess.Popen(command, cwd=_ROOT, stdout=self._log, stderr=self._log)

    def close(self) -> None:
        """No more bots; what starts them has nothing to put in order."""
        self._warm.kill()
        self._warm.communicate()
        self._log.close()


class World:
    """Everything around the bots."""

    def __init__(self, folder: Path, slack: Workspace, flink: str, record: str, bots: Bots, together: int) -> None:
        """`together`: how many bots there are, from 1, of which one works and the others stand by."""
        self.folder = folder
        self.slack = slack
        self.record = record
        self.together = together
        self._flink = httpx.Client(base_url=flink, timeout=30, trust_env=False)
        self._bots = bots
        self._running: dict[int, subprocess.Popen[bytes] | None] = {}
        """Process id -> the process, where it was started cold."""
        self._line = json.dumps(
            {
                "folder": str(folder),
                "flink": flink,
                "slack": slack.api_url,
                "bot_token": slack.bot_token,
                "app_token": slack.app_token,
                "record": record,
            }
        )

    def asks_flink(self, path: str, **body: str) -> Any:
        """`hold`, `go`, or `break` with the `kind` of damage."""
        return self._flink.post(f"/{path}", json=body).raise_for_status().json()

    @property
    def missing(self) -> int:
        """How many bots are to be started."""
        return self.together - len(self._running)

    def starts(self, *, cold: bool = False) -> None:
        """A bot begins; it is not connected yet."""
        if cold:
            process = self._bots.start_cold(self._line)
            self._running[process.pid] = process
        else:
            self._running[self._bots.start(self._line)] = None

    def waits_until_connected(self) -> None:
        """Slack delivers to the one that works from now on."""
        deadline = time.monotonic() + _PATIENCE_S
        while self.slack.connected != 1:
            if time.monotonic() > deadline:
                raise Stuck(f"No bot was connected within {_PATIENCE_S:g} s of its start.")
            time.sleep(0.01)

    def kills(self, random: Random | None = None) -> None:
        """All of them, or one by chance, as a power cut does it; returns when Slack has noticed."""
        for pid in [random.choice(sorted(self._running))] if random and self._running else sorted(self._running):
            os.kill(pid, signal.SIGKILL)
            process = self._running.pop(pid)
            if process is not None:
                process.wait()
        deadline = time.monotonic() + _PATIENCE_S
        while self.slack.connected > min(1, len(self._running)):
            if time.monotonic() > deadline:
                raise Stuck("Slack still has a connection to a bot that was killed.")
            time.sleep(0.005)

    def close(self) -> None:
        """No bot, no Flink."""
        self.kills()
        self._flink.close()


class Stuck(Exception):
    """The experiment cannot go on; that is a finding."""


@contextmanager
def chaos_world(folder: Path, record: str, bots: Bots, together: int = 1) -> Iterator[World]:
    """A fresh one: run A has committed, and nothing is wrong yet."""
    with ExitStack() as stack:
        OrdersTable(folder).close()
        flink_before = LittleFlink(folder)
        flink_before.submit(GOOD_RUN, at_checkpoint=0)
        flink_before.checkpoints(GOOD_RUN, 5)
        (folder / "lineage.jsonl").touch()
        command = [sys.executable, "-m", "tests.chaos.flink_process", str(folder)]
        flink = stack.enter_context(subprocess.Popen(command, cwd=_ROOT, stdout=subprocess.PIPE, text=True))
        stack.callback(flink.kill)
        address = flink.stdout.readline().strip()
        slack = stack.enter_context(Workspace().serve())
        world = World(folder, slack, address, record, bots, together)
        stack.callback(world.close)
        yield world
