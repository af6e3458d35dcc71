"""The whole bot over one folder and one local workspace: everything real but Flink's and Spark's processes.

It can be closed and started again on the same folder.
"""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import ExitStack, closing
from datetime import UTC, datetime, timedelta
from pathlib import Path

from slack_bolt.adapter.socket_mode import SocketModeHandler
from slack_sdk import WebClient

import spark_tasks
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import Store, open_store
from bot.adapters.lineage import OpenLineageFile
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap import assemble
from bot.evidence import Collector, find_tasks
from bot.incident.approval import ApprovalPolicy
from bot.incident.setup import TableSetup
from bot.observation.errors import CouldNotLook
from bot.observation.flink import JobRun
from bot.observation.ids import IncidentId, JobId
from bot.observation.readers import Consumer
from bot.ports import JobPorts
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.services import Services
from bot.slack.directory import SlackDirectory
from bot.slack.gateway import SlackGateway
from bot.slack.surface import SlackSurface
from tests.little_flink import JOB, LittleFlink
from tests.slack.looking import ArrowRunner
from tests.tables import CONTRACT, ORDERS

APPROVERS = ApprovalPolicy(groups=("S0APPROVE1",), expires_after=timedelta(minutes=30))
CONSUMERS = (
    Consumer(name="revenue_daily", channel="C0REVENUE2", owner="U0DANA0004"),
    Consumer(name="fraud_model", channel="C0FRAUDML3"),
)


class MovableClock:
    """The real time, moved on by the test."""

    def __init__(self) -> None:
        self._ahead = timedelta()

    def now(self) -> datetime:
        """See the port."""
        return datetime.now(UTC) + self._ahead

    def advances(self, by: timedelta) -> None:
        """So much time passes at once."""
        self._ahead += by


class Cluster(LittleFlink):
    """The little Flink, whose REST endpoint can be down, or hang."""

    is_down = False

    def __init__(self, folder: Path) -> None:
        super().__init__(folder)
        self.answers = threading.Event()
        """Cleared: whoever asks waits."""
        self.answers.set()

    def runs(self, job: str) -> tuple[JobRun, ...]:
        """See the port."""
        self._ask()
        return super().runs(job)

    def run(self, job_id: JobId) -> JobRun | None:
        """See the port."""
        self._ask()
        return super().run(job_id)

    def _ask(self) -> None:
        self.answers.wait()
        if self.is_down:
            raise CouldNotLook("Flink did not answer.", "Expected its REST API; the connection was refused.", "Look.")


class LittleBot:
    """One process of the bot, restartable."""

    looks_first = False
    """Whether it looks at what reads no rows of its own accord."""
    record_url = ""
    """Where its record is; empty: a file in the folder."""
    ping_s = 5.0
    """Between two pings. slack_sdk gives up a connection whose last pong is older than four of them, in whole seconds,
    and a click that is on its way then is lost, as in Slack: with one second that happened after a pause of four."""

    def __init__(self, folder: Path, api_url: str, tokens: tuple[str, str]) -> None:
        self.folder = folder
        self.clock = MovableClock()
        self.runner = ArrowRunner()
        self.flink = Cluster(folder)
        self.policy = APPROVERS
        self.policies: dict[str, ApprovalPolicy] = {}
        """Beside the default."""
        self.consumers: tuple[Consumer, ...] = CONSUMERS
        self._api_url = api_url
        self._bot_token, self._app_token = tokens
        self._closing = ExitStack()
        self.services: Services
        self.store: Store
        self.hang_up: Callable[[SocketModeHandler], None] = lambda socket: socket.close()

    @property
    def lineage(self) -> Path:
        """The file of OpenLineage events."""
        return self.folder / "lineage.jsonl"

    def start(self, change: Callable[[Store], Store] = lambda store: store) -> None:
        """Build everything on the folder, catch up, and connect. `change` may put something before the ports."""
        with ExitStack() as closing:
            store = self.store = change(open_store(self.record_url or f"sqlite:///{self.folder}/journal.db"))
            closing.callback(store.close)
            client = WebClient(self._bot_token, base_url=self._api_url)
            self.services = services = self._services(store, client)
            closing.callback(services.background.close)
            closing.callback(services.evidence.close)
            door = SlackGateway(client, store.inbox, store.outbox, services.clock, signing_secret=None)
            surface = SlackSurface(
                client,
                door=door,
                services=services,
                inbox=store.inbox,
                outbox=store.outbox,
                cursor=store.cursor,
                min_message_interval=timedelta(0),
            )
            surface.start()
            closing.callback(surface.close)
            web = WebClient(self._app_token, base_url=self._api_url)
            socket = SocketModeHandler(
                door.app, self._app_token, web_client=web, ping_interval=self.ping_s, receive_buffer_size=65536
            )
            closing.callback(self.hang_up, socket)
            socket.connect()
            self._closing = closing.pop_all()

    def close(self) -> None:
        """End this process; the folder stays."""
        self._closing.close()

    def restart(self) -> None:
        """Close and start again."""
        self.close()
        self.start()

    def _services(self, store: Store, client: WebClient) -> Services:
        setup = TableSetup(
            name=ORDERS,
            job=JOB,
            contract=CONTRACT,
            consumers=self.consumers,
            policies={"default": self.policy, **self.policies},
            next_update_minutes=30,
        )
        catalog = PyIcebergCatalog(
            "lake",
            {"type": "sql", "uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}/lake"},
            SystemClock(),
        )
        ports = JobPorts(self.flink, CheckpointFiles(None, str(self.flink.savepoints)))
        observer = Observer(
            catalog, {ORDERS: setup}, {JOB: ports}, OpenLineageFile(self.lineage, "lake"), FolderOfTable()
        )
        collector = Collector(find_tasks(spark_tasks), self.runner, self.clock)
        incidents = IncidentStore(store.journal, self.clock, observer.tables)
        directory = SlackDirectory(client)
        return assemble(
            incidents,
            observer,
            collector,
            directory,
            self.clock,
            store.presence.is_leader,
            look_first=self.looks_first,
        )


def as_time_goes_on(bot: LittleBot, holds: Callable[[], bool]) -> Callable[[], bool]:
    """Whether it holds; each look is a second later than the one before.

    What is put off is put off from the moment at which the bot says so, which nobody sees: a clock that was moved on
    once may have been moved before.
    """

    def look() -> bool:
        bot.clock.advances(timedelta(seconds=1))
        return holds()

    return look


def proposal_is_sent(bot: LittleBot) -> bool:
    """Whether the outbox is done with the newest proposal."""
    view = bot.services.store.get(IncidentId("wl-1")).current_proposal
    post = bot.store.outbox.find(f"wl-1/proposal/{view.proposal.id}") if view else None
    return post is not None and post.state == "sent"


def nothing_waits(bot: LittleBot) -> bool:
    """Whether every message was sent, so that the next one is the one that a fault hits."""
    with closing(sqlite3.connect(bot.folder / "journal.db")) as record:
        waiting = record.execute("SELECT count(*) FROM outbox WHERE state IN ('queued', 'sending')").fetchone()
    return waiting == (0,)
