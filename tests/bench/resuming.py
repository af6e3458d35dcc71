"""How soon the bot is back after `kill -9`."""

import statistics
import time

from bot.cli.demo import bot_process
from tests.bench.scene import CHANNEL, Scene
from tests.bench.waiting import eventually

_ROUNDS = 3


def resumes(it: Scene) -> tuple[float, float]:
    """Medians in seconds from its start: until Slack's deliveries are acknowledged, until a command is answered."""
    process, taken, answered = it.bot.process, [], []
    for _ in range(_ROUNDS):
        process.kill()
        process.wait()
        eventually(lambda: it.workspace.connected == 0, 10)
        began = time.monotonic()
        with bot_process(it.config, it.workspace, it.bot.log) as bot:
            process = bot.process
            eventually(lambda: it.workspace.connected > 0, 60)
            taken.append(time.monotonic() - began)
            _asks(it)
            answered.append(time.monotonic() - began)
            process.kill()
    return statistics.median(taken), statistics.median(answered)


def _asks(it: Scene) -> None:
    ana = it.workspace.person("ana")
    known = len([message for message in ana.messages(CHANNEL) if message.is_ephemeral])
    ana.types("/waterline help", CHANNEL)
    eventually(lambda: len([message for message in ana.messages(CHANNEL) if message.is_ephemeral]) > known, 60)
