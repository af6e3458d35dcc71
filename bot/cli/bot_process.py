"""`waterline serve` as a process of its own, as in a deployment, over a local workspace."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from bot.domain.errors import BadConfiguration
from bot.workspace import Workspace

HERE = "Waterline is here"
"""What the bot says once everything is built. It is connected before that."""


@dataclass(frozen=True)
class BotProcess:
    """One start of the bot."""

    process: subprocess.Popen[bytes]
    log: Path
    begins: int
    """Where its words begin in the log, which others have written before it."""

    def waits_until_here(self, limit_s: float = 60) -> None:
        """Return when it works. Raises BadConfiguration with the end of its log if it has ended, or at the limit."""
        deadline = time.monotonic() + limit_s
        while HERE not in (said := self._said()):
            if self.process.poll() is not None or time.monotonic() > deadline:
                tail = "\n".join(said.splitlines()[-5:])
                raise BadConfiguration("The bot did not start.", f"Its log ends with:\n{tail}", f"See {self.log}.")
            time.sleep(0.1)

    def _said(self) -> str:
        return self.log.read_bytes()[self.begins :].decode(errors="replace")


@contextmanager
def bot_process(config: Path, workspace: Workspace, log: Path) -> Iterator[BotProcess]:
    """It ends with the block."""
    environment = {
        **os.environ,
        "SLACK_BOT_TOKEN": workspace.bot_token,
        "SLACK_APP_TOKEN": workspace.app_token,
    }
    command = [sys.executable, "-m", "bot.cli", "serve", "--config", str(config)]
    with log.open("ab") as output:
        begins = output.tell()
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output)
        try:
            yield BotProcess(process, log, begins)
        finally:
            process.send_signal(signal.SIGTERM)
            try:
                process.wait(timeout=20)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
