"""The whole bot with its watch, whose looks are asked for by the test."""

from dataclasses import replace
from datetime import timedelta

from slack_sdk import WebClient

from bot.adapters.journal_sql.store import Store
from bot.bootstrap import failure_modes
from bot.incident.approval import People
from bot.service.services import Services
from bot.service.trust import TrustService
from bot.service.watching.check import TableMonitor, WatchTerms
from bot.service.watching.finding_store import FindingStore, WatchFindings
from bot.service.watching.watch import Watch
from bot.workspace.people import default_cast
from tests.little_flink import open_catalog
from tests.slack.little_bot import LittleBot
from tests.tables import ORDERS, job

ONCALL_CHANNEL = next(channel.id for channel in default_cast().channels if channel.name == "orders-oncall")
TERMS = WatchTerms(grace_period=timedelta(minutes=2))


class WatchingBot(LittleBot):
    """`looks()` is one look of the watch at the table, and `looks_twice()` what confirms a finding."""

    @property
    def watch(self) -> Watch:
        assert self.services.watch is not None
        return self.services.watch

    @property
    def finding_store(self) -> FindingStore:
        """What it has seen."""
        assert self.services.finding_store is not None
        return self.services.finding_store

    def looks(self, times: int = 1) -> None:
        """The watch looks; the clock goes on by half a minute each time."""
        for _ in range(times):
            self.clock.advances(timedelta(seconds=30))
            self.watch.look(ORDERS)

    def commits(self, run: str = "a", count: int = 1) -> None:
        """The run completes and commits checkpoints."""
        self.flink.checkpoints(job(run), count)

    def is_restored_from_an_older_savepoint(self) -> None:
        """Run A is stopped, and run B started from the savepoint before."""
        older = self.flink.savepoint(job("a"))
        self.commits(count=2)
        self.flink.stop("orders-to-iceberg", job("a"))
        self.flink.submit(job("b"), at_checkpoint=5, restored=older)
        self.commits("b", 3)

    def rolls_back(self, commits: int) -> None:
        """Somebody moves main back by so many commits while the job runs."""
        catalog = open_catalog(self.folder)
        table = catalog.load_table(ORDERS)
        for _ in range(commits):
            parent = table.current_snapshot().parent_snapshot_id
            table.manage_snapshots().rollback_to_snapshot(parent).commit()
            table.refresh()
        catalog.close()

    def others_delete(self, *orders: int) -> None:
        """Somebody else takes these orders off the table, one commit each."""
        catalog = open_catalog(self.folder)
        for each in orders:
            catalog.load_table(ORDERS).delete(f"order_id = {each}", snapshot_properties={"engine-name": "spark"})
        catalog.close()

    def _services(self, store: Store, client: WebClient) -> Services:
        services = super()._services(store, client)
        oncall = People(groups=("S0APPROVE1",))
        finding_store = FindingStore(
            store.watched, store.outbox, services.store, self.clock, {ORDERS: ONCALL_CHANNEL}, oncall
        )
        monitor = TableMonitor(services.observer, services.examiner, failure_modes(), self.clock, TERMS)
        alone = store.presence.is_leader
        watch = Watch(monitor, finding_store, services.store, self.clock, alone, TERMS, (ORDERS,))
        findings = WatchFindings(store.watched, [ORDERS])
        trust = TrustService(services.store, services.observer, self.clock, findings=findings)
        return replace(services, finding_store=finding_store, watch=watch, trust=trust)
