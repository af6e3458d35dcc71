"""A real table and a real record, as they stand through an incident: `scene.opens()`, `.verifies()`, `.closes()`."""

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path

from ruamel.yaml import YAML

from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import Store, open_store
from bot.adapters.lineage import NoLineage
from bot.adapters.table_files import FolderOfTable
from bot.incident.approval import ApprovalPolicy
from bot.incident.diagnosis import Diagnosis, Matches, ModeResult, Remedy
from bot.incident.entries import Diagnosed, IncidentClosed, IncidentOpened, ProposalMade
from bot.incident.setup import TableSetup, Team, TeamMember
from bot.incident.trust import Trust
from bot.observation.findings import RecoveryDeadline
from bot.observation.ids import IncidentId, SnapshotId, TableName, UserId
from bot.observation.readers import Consumer
from bot.observation.table import Window
from bot.ports import TableCatalog, TableChange
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.restoring import RestoreService
from bot.service.trust import TrustService
from bot.service.waterline import Waterline
from tests.decisions import ANA, BEN, CHANNEL, F2, RUNBOOK, rewind
from tests.tables import CONTRACT, ORDERS, OrdersTable, job

REFUNDS = TableName("sales.refunds")
"""Watched, and not in the catalog."""
TEAM = Team(name="Orders", members=(TeamMember(name="Dana <b>Weiss</b>", role="Owner", slack=UserId("U0DANA0004")),))


class StandingClock:
    """Moves only when it is told to."""

    def __init__(self) -> None:
        self.at = datetime(2026, 11, 3, 9, 0, tzinfo=UTC)

    def now(self) -> datetime:
        return self.at


class Scene:
    """`sales.orders`: run A committed checkpoints 1 to 3, then run B 2 and 3 again."""

    again = (("b", 2), ("b", 3))
    """(Run, checkpoint) of the commits that bring the rows of checkpoints 2 and 3 once more."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.clock = StandingClock()
        self.orders = OrdersTable(folder)
        self.commits = [self.orders.commits("a", n, range(n * 10, n * 10 + 10)) for n in (1, 2, 3)]
        rows = (range(20, 30), range(30, 40))
        self.commits += [self.orders.commits(*made, brought) for made, brought in zip(self.again, rows, strict=True)]
        self.good = self.commits[2]
        self.store: Store = open_store(self.journal_url)
        self.incidents = IncidentStore(self.store.journal, self.clock)
        self.catalog = PyIcebergCatalog("lake", self.catalog_properties, self.clock)
        self.id = IncidentId("")

    @property
    def journal_url(self) -> str:
        """Where the record is."""
        return f"sqlite:///{self.folder}/journal.db"

    @property
    def catalog_properties(self) -> dict[str, str]:
        """As a configuration says them."""
        return {"type": "sql", "uri": f"sqlite:///{self.folder}/catalog.db", "warehouse": f"file://{self.folder}/lake"}

    def configured(self, *tables: TableName, channel: str | None = None, **sections: object) -> Path:
        """The file that a deployment would have of it: these tables, and further sections."""
        table = {"contract": {"key": ["order_id"]}, "policies": {"default": {"users": ["U0BEN00002"]}}}
        told = table if channel is None else {**table, "channel": channel}
        content = {
            "home": str(self.folder / "home"),
            "journal": {"url": self.journal_url},
            "catalog": {"name": "lake", "properties": self.catalog_properties},
            "tables": {str(each): told for each in tables or (ORDERS,)},
            **sections,
        }
        path = self.folder / "waterline.yaml"
        with path.open("w", encoding="utf-8") as file:
            YAML().dump(content, file)
        return path

    def desk(
        self,
        catalog: TableCatalog | None = None,
        *,
        patience: timedelta = timedelta(seconds=10),
        deadlines: Callable[[TableName], RecoveryDeadline | None] = lambda _table: None,
    ) -> TrustService:
        """One that keeps nothing between two questions."""
        setups = {name: _setup(name) for name in (ORDERS, REFUNDS)}
        observer = Observer(catalog or self.catalog, setups, {}, NoLineage(), FolderOfTable())
        return TrustService(
            self.incidents, observer, self.clock, patience=patience, keep=timedelta(0), deadlines=deadlines
        )

    def restores(self) -> RestoreService:
        """Of tables whose configuration names no job."""
        setups = {name: _setup(name) for name in (ORDERS, REFUNDS)}
        return RestoreService(Observer(self.catalog, setups, {}, NoLineage(), FolderOfTable()), self.clock)

    @property
    def trust(self) -> Trust:
        """Of the orders, now."""
        return self.desk().trust(ORDERS)

    def opens(self, *, private: bool = False, mark: bool = True, by: str = ANA) -> "Scene":
        """Ana opens an incident; run A's last commit is believed good."""
        state = self.orders.state()
        assert state.head is not None
        opened = IncidentOpened(
            table=ORDERS,
            job="orders-to-iceberg",
            runbook=RUNBOOK,
            severity="sev2",
            channel=CHANNEL,
            window=Window(since=self.good, until=state.head),
            trusted=self.good,
            metadata_location=state.metadata_location,
            summary="Revenue is <b>too high</b> since 09:00.",
            private=private,
        )
        self._later()
        self.id = self.incidents.open(opened, by=by).id
        if mark:
            self._waterline.under_review(self.id)
        return self

    def diagnoses(self, deadline: RecoveryDeadline | None = None) -> "Scene":
        match = Matches(
            headline="run bbbbbb was started from an older savepoint and wrote checkpoints 2 and 3 again.",
            reasons=("Checkpoint 2 was committed twice.",),
            rows=(self.commits[-1],),
            last_good=self.good,
            wrong_run=job("b"),
            remedy=Remedy.ROLL_BACK_TABLE_AND_RESTORE_JOB,
        )
        found = Diagnosis(results=(ModeResult(mode=F2, examined=match),))
        return self._says(Diagnosed(diagnosis=found, deadline=deadline))

    def proposes(self) -> "Scene":
        """Ana proposes the rewind."""
        return self._says(ProposalMade(step=None, proposal=rewind(self.clock.now())))

    def verifies(self) -> "Scene":
        """The table is rewound to the good commit, goes on, and is proven at its head."""
        self.orders.rolls_back_to(self.good)
        self.orders.commits("c", 4, range(40, 50))
        self._later()
        self._waterline.trusted(self.id, self.orders.head)
        return self

    def closes(self) -> "Scene":
        return self._says(IncidentClosed(reason="done"))

    def marks(self, properties: Mapping[str, str] | None = None, tag: SnapshotId | None = None) -> None:
        """Somebody else changes what the table says of itself."""
        uuid = self.orders.state().uuid
        tags = {"waterline": tag} if tag is not None else {}
        change = TableChange(
            expected_uuid=uuid, expected_head=None, set_tags=tags, set_properties=dict(properties or {})
        )
        self.catalog.commit(ORDERS, change)

    def close(self) -> None:
        self.store.close()
        self.catalog.close()
        self.orders.close()

    @property
    def _waterline(self) -> Waterline:
        return Waterline(self.incidents, self.catalog, self.clock)

    def _says(self, *bodies: Diagnosed | ProposalMade | IncidentClosed) -> "Scene":
        self._later()
        self.incidents.write(self.id, by=ANA, decide=lambda _now: bodies)
        return self

    def _later(self) -> None:
        self.clock.at += timedelta(minutes=1)


def _setup(name: TableName) -> TableSetup:
    return TableSetup(
        name=name,
        job=None,
        contract=CONTRACT,
        consumers=(Consumer(name="revenue_daily", channel="C0REVENUE2", owner="U0DANA0004"),),
        policies={"default": ApprovalPolicy(users=(BEN,))},
        next_update_minutes=30,
        team=TEAM if name == ORDERS else None,
    )
