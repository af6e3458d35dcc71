"""The watch over any table, catalog and Flink, without Slack: what it tells is rendered as Slack would get it."""

import json
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

import spark_tasks
from bot.adapters.journal_sql.store import Store, open_store
from bot.bootstrap import failure_modes
from bot.evidence import Collector, find_tasks
from bot.incident.approval import ApprovalPolicy, People
from bot.incident.entries import IncidentOpened
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.ids import IncidentId
from bot.observation.table import Window
from bot.ports import CheckpointStore, EvidenceRunner, FlinkJobs, JobPorts, ReadEvents, TableCatalog, TableFiles
from bot.service.examining import Examiner
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.watching.check import TableMonitor, WatchTerms
from bot.service.watching.finding_store import FindingStore, post_key
from bot.service.watching.watch import Watch
from bot.slack.blocks.watch import finding_message
from bot.slack.limits import fit
from tests.decisions import ANA, CHANNEL, RUNBOOK
from tests.tables import ORDERS
from tests.web.scene import StandingClock

JOB = "orders-to-iceberg"
TERMS = WatchTerms(grace_period=timedelta(minutes=2))


@dataclass(frozen=True)
class World:
    """The ports that the watch looks through."""

    catalog: TableCatalog
    flink: FlinkJobs
    checkpoints: CheckpointStore
    files: TableFiles
    reads: ReadEvents
    runner: EvidenceRunner


@dataclass(frozen=True)
class Told:
    """One finding that was put into the outbox."""

    code: str
    text: str
    """Its blocks, as JSON."""
    buttons: tuple[str, ...]
    subject: str


class Watched:
    """`looks(3)` are three looks, ten seconds apart; `told` is what came of all of them."""

    table = ORDERS

    def __init__(self, folder: Path, world: World, clock: StandingClock, contract: TableContract) -> None:
        self.clock = clock
        self.store: Store = open_store(f"sqlite:///{folder}/journal.db")
        self.incidents = IncidentStore(self.store.journal, clock)
        policy = ApprovalPolicy(users=("U0BEN00001",))
        setup = TableSetup(
            name=ORDERS, job=JOB, contract=contract, consumers=(), policies={"default": policy}, next_update_minutes=30
        )
        ports = JobPorts(world.flink, world.checkpoints)
        self.observer = Observer(world.catalog, {ORDERS: setup}, {JOB: ports}, world.reads, world.files)
        modes = failure_modes()
        self.examiner = Examiner(self.observer, Collector(find_tasks(spark_tasks), world.runner, clock), modes)
        self.finding_store = FindingStore(
            self.store.watched, self.store.outbox, self.incidents, clock, {ORDERS: "C0ORDERS01"}
        )
        monitor = TableMonitor(self.observer, self.examiner, modes, clock, TERMS)
        alone = self.store.presence.is_leader
        self.watch = Watch(monitor, self.finding_store, self.incidents, clock, alone, TERMS, (ORDERS,))

    def looks(self, times: int = 2, apart: timedelta = timedelta(seconds=10)) -> None:
        """The watch looks so often; its clock goes on in between."""
        for number in range(times):
            if number:
                self.clock.at += apart
            self.watch.look(ORDERS)

    def opens_incident(self, *, is_planned: bool = False) -> IncidentId:
        """Ana opens one on the table, with a runbook that says nothing of its freshness."""
        state = self.observer.table(ORDERS)
        assert state.head is not None
        opened = IncidentOpened(
            table=ORDERS,
            job=JOB,
            runbook=RUNBOOK.model_copy(update={"is_planned": is_planned}),
            severity="sev2",
            channel=CHANNEL,
            window=Window(since=None, until=state.head),
            trusted=state.head,
            metadata_location=state.metadata_location,
            summary="Revenue is too high.",
        )
        return self.incidents.open(opened, by=ANA).id

    @property
    def seen(self) -> tuple[str, ...]:
        """Codes of every finding that was kept, told or not."""
        return tuple(each.finding.code for each in self.finding_store.memory(ORDERS).reported.values())

    @property
    def told(self) -> tuple[Told, ...]:
        """Every finding whose message is in the outbox, the first first."""
        return tuple(
            self._told(each)
            for each in self.finding_store.memory(ORDERS).reported
            if self.store.outbox.find(post_key(each)) is not None
        )

    def _told(self, finding: str) -> Told:
        status = self.finding_store.status(finding)
        _text, blocks = finding_message(status, People())
        shown = fit(blocks)
        buttons = [part["text"]["text"] for block in shown if block["type"] == "actions" for part in block["elements"]]
        found = status.reported.finding
        return Told(found.code, json.dumps(shown, ensure_ascii=False), tuple(buttons), found.subject)

    def close(self) -> None:
        """End it; what belongs to the world stays."""
        self.watch.close()
        self.store.close()
