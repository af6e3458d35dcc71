"""The bot as a process to be killed: real Bolt, journal, catalog and Flink client; evidence without Spark.

`python -m tests.chaos.bot_process` imports everything once and then starts a bot for each line on its input (a fork,
so that a thousand kills take minutes); it says the process id. With a line as its argument it is one bot, started cold.
"""

import json
import os
import signal
import sys
import threading
from datetime import timedelta
from pathlib import Path

import spark_tasks
from bot import bootstrap
from bot.adapters.clock import SystemClock
from bot.adapters.flink_rest import FlinkRest
from bot.adapters.flink_starting import JarStart
from bot.adapters.journal_sql import Store
from bot.adapters.scheduler import SchedulerTimers
from bot.bootstrap.content import CONTENT
from bot.evidence import find_tasks
from bot.settings import JarStartSettings
from tests.chaos.flink_process import JAR
from tests.chaos.parent import end_with_parent
from tests.slack.little_bot import LittleBot

_SETTLE_EVERY_S = 2.0


class RestCluster(FlinkRest):
    """The real client; its savepoints lie in the folder."""

    def __init__(self, folder: Path, url: str) -> None:
        super().__init__(
            url, starter=JarStart(url, JarStartSettings(kind="jar", jar_id=JAR)), poll_every=timedelta(milliseconds=50)
        )
        self.savepoints = folder / "savepoints"


def works_in_its_turn(store: Store) -> Store:
    """As `serve`: where another bot works on the record, this one stands by before it takes anything."""
    assert store.presence.take_over(threading.Event().wait)
    return store


def live(line: str) -> None:
    """Be a bot until killed. `line` is JSON: folder, flink, slack, bot_token, app_token, record."""
    end_with_parent()
    told = json.loads(line)
    folder = Path(told["folder"])
    bot = LittleBot(folder, told["slack"], (told["bot_token"], told["app_token"]))
    bot.flink = RestCluster(folder, told["flink"])  # type: ignore[assignment]
    bot.record_url = told["record"]
    bot.looks_first = True  # as it is delivered: no step of the walk asks which commits and files came twice
    bot.ping_s = 0.2  # sockets are dropped often here
    bot.start(works_in_its_turn)
    timers = SchedulerTimers(SystemClock())
    timers.start()
    timers.every("settle", _SETTLE_EVERY_S, bot.services.reconciler.reconcile_all)
    threading.Event().wait()


def start_many() -> None:
    """One bot a line, each a fork of this process, which itself never does anything else."""
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    _read_what_does_not_change()
    print("ready", flush=True)  # noqa: T201
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.dup2(sys.stderr.fileno(), sys.stdout.fileno())  # what it says is no process id
            live(line)
        print(child, flush=True)  # noqa: T201


def _read_what_does_not_change() -> None:
    """Tasks, failure modes and actions are imported; runbooks, which take half of a start, are parsed once for all."""
    tasks = {name: found.task for name, found in find_tasks(spark_tasks).items()}
    bootstrap.failure_modes()
    bootstrap.find_actions(bootstrap.actions)
    parsed = bootstrap.read_all(CONTENT / "runbooks", tasks)
    bootstrap.read_all = lambda _folder, _tasks: parsed
    assert threading.active_count() == 1, "a fork would lose the other threads, and keep their locks"


if __name__ == "__main__":
    start_many() if len(sys.argv) == 1 else live(sys.argv[1])
