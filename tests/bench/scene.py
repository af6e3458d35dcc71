"""The scene of a measurement: a damaged table, recorded Flink pages, one Spark, a workspace, the bot as a process."""

import json
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from datetime import UTC, datetime
from pathlib import Path

from bot.adapters.spark_server import EmbeddedSpark, SparkServer
from bot.cli.demo import BotProcess, bot_process, write_config
from bot.lab.home import LabState
from bot.slack.directory import SCOPES
from bot.workspace import Workspace
from tests.adapters.flink_wire import Wire, body, flink_wire, tell_run
from tests.tables import ORDERS, OrdersTable

CHANNEL = "orders-oncall"
PACE = "0"
_PAGES = "flink_rest_2_1"
_GOOD, _WRONG = "c96e2d5636258d5b7ce82ccbd3d3ff3a", "5457e33a5fd04345a210b16d93164afe"
"""The runs of the recorded pages: the second was restored from checkpoint 9."""
_ROWS = 2_000


def eventually(holds: Callable[[], bool], limit_s: float) -> None:
    """Wait until something holds. Raises TimeoutError."""
    deadline = time.monotonic() + limit_s
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"What was awaited did not come within {limit_s:.0f} s.")
        time.sleep(0.02)


class Scene:
    """One bot that serves one workspace."""

    def __init__(self, folder: Path, workspace: Workspace, config: Path, bot: BotProcess) -> None:
        self.bot = bot
        self.workspace = workspace
        self.config = config
        self._record = folder / "bot" / "journal.db"

    def waits_until_idle(self, limit_s: float = 30) -> None:
        """Return when every stored delivery was worked on and every message was sent."""
        waiting = "SELECT count(*) FROM inbox WHERE state <> 'done'"
        unsent = "SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending')"
        eventually(lambda: self.asks(waiting) + self.asks(unsent) + self.evidence_running == 0, limit_s)

    @property
    def evidence_running(self) -> int:
        """How many runs were asked for and have no answer yet."""
        kinds = "sum(kind = 'evidence-requested') - sum(kind IN ('evidence-recorded', 'evidence-ended'))"
        return self.asks(f"SELECT coalesce({kinds}, 0) FROM journal")  # noqa: S608 - no one's input

    def asks(self, question: str) -> int:
        """One number of the bot's record, read beside it."""
        with closing(sqlite3.connect(self._record)) as connection:
            found: int = connection.execute(question).fetchone()[0]
        return found


@contextmanager
def scene(folder: Path) -> Iterator[Scene]:
    """Everything up, Spark warm, the bot connected."""
    _damage(folder)
    spark = SparkServer(EmbeddedSpark())
    try:
        with flink_wire() as wire, Workspace(scopes=frozenset(SCOPES)).serve() as workspace:
            _tell_runs(wire)
            config = write_config(folder, _state(folder, wire, spark.url), workspace.api_url, workspace.world.cast)
            config.write_text(config.read_text().replace("min_message_interval: 0.1", f"min_message_interval: {PACE}"))
            with bot_process(config, workspace, folder / "bot.log") as bot:
                bot.waits_until_here()
                eventually(lambda: "spark is warm" in (folder / "bot.log").read_text(), 60)
                yield Scene(folder, workspace, config, bot)
    finally:
        spark.stop()


def _damage(folder: Path) -> None:
    orders = OrdersTable(folder)
    for checkpoint in range(1, 13):
        orders.commits(_GOOD, checkpoint, range((checkpoint - 1) * _ROWS, checkpoint * _ROWS))
    for checkpoint in range(10, 15):
        orders.commits(_WRONG, checkpoint, range((checkpoint - 1) * _ROWS, checkpoint * _ROWS))
    orders.close()
    for name in ("checkpoints", "savepoints"):
        (folder / name).mkdir()
    (folder / "events.jsonl").touch()


def _tell_runs(wire: Wire) -> None:
    wire.says("GET /jobs/overview", body(_PAGES, "jobs_overview"))
    tell_run(wire, _PAGES, _WRONG, exceptions="exceptions", checkpoints="checkpoints")
    for key in [key for key in wire.answers if _WRONG in key]:
        page = json.dumps(wire.answers[key][0]).replace(_WRONG, _GOOD)
        wire.says(key.replace(_WRONG, _GOOD), json.loads(page))


def _state(folder: Path, wire: Wire, spark: str) -> LabState:
    return LabState(
        home=folder,
        sink="v2",
        started_at=datetime.now(UTC),
        catalog_name="lake",
        catalog_properties={
            "type": "sql",
            "uri": f"sqlite:///{folder}/catalog.db",
            "warehouse": f"file://{folder}/lake",
        },
        engine_properties={},
        warehouse=f"file://{folder}/lake",
        table=ORDERS,
        flink_url=wire.url,
        gateway_url=wire.url,
        spark_remote=spark,
        checkpoint_dir=(folder / "checkpoints").as_uri(),
        savepoint_dir=(folder / "savepoints").as_uri(),
        lineage_path=folder / "events.jsonl",
        job_name="orders-to-iceberg",
        code_version="bench",
        start_statements=("INSERT INTO orders SELECT 1",),
        session_properties={},
        pids={},
    )
