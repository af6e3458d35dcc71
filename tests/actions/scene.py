"""A real table, a little Flink and a real record, on which actions are proposed, approved and carried out."""

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, closing
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pyarrow as pa
import pytest
from pyiceberg.table import Table

from bot.actions._effects import awaited, checks
from bot.actions._effects.handler import Pending
from bot.actions._support.completing import ActionModule, completed
from bot.actions._support.requirements import check_all
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.adapters.table_files import FolderOfTable
from bot.history.case import Case
from bot.history.restore import pairings
from bot.incident.action import Plan
from bot.incident.approval import Approval, ApprovalPolicy
from bot.incident.diagnosis import Matches, Mode, Remedy
from bot.incident.effects import StartJob
from bot.incident.entries import Check, NoteAdded, ProposalApproved, ProposalMade
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.proposal import Proposal
from bot.incident.setup import TableSetup
from bot.observation.errors import Refused
from bot.observation.findings import PairingFinding
from bot.observation.ids import IncidentId, JobId, ProposalId, SnapshotId, UserId
from bot.observation.table import TableState, Window
from bot.ports import JobPorts, Journal
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from bot.service.observing import Observer
from bot.service.proposals.choosing import past_of
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import Proposals
from tests.actions.plans import answering, plan_of
from tests.little_flink import JOB, LittleFlink, by_hand, live_positions, open_catalog
from tests.power_cut import PowerCut
from tests.restored import restored
from tests.rewound import ANA, BEN, NoReads, opened_on
from tests.tables import CONTRACT, ORDERS, OrdersTable, job, lake_in, rows

MODE = Mode(code="F0", name="told", title="as the test says", needs=(), false_positives=())


class Scene:
    """`sales.orders`, written by run a; everything outlives the process."""

    def __init__(self, folder: Path, journal: Journal | None = None) -> None:
        self.folder = folder
        self.flink = LittleFlink(folder)
        self.checkpoints = CheckpointFiles(None, str(self.flink.savepoints))
        self.catalog = PyIcebergCatalog("lake", lake_in(folder), SystemClock())
        self.record = open_store(f"sqlite:///{folder}/journal.db")
        self.store = IncidentStore(journal or self.record.journal, SystemClock())
        setup = TableSetup(
            name=ORDERS, job=JOB, contract=CONTRACT, consumers=(),
            policies={"default": ApprovalPolicy(users=(BEN,))}, next_update_minutes=30,
        )  # fmt: skip
        ports = {JOB: JobPorts(self.flink, self.checkpoints)}
        self.observer = Observer(self.catalog, {ORDERS: setup}, ports, reads=NoReads(), files=FolderOfTable())
        self.maintenance = Maintenance(self.store, self.catalog)

    @classmethod
    def made_in(cls, folder: Path, checkpoints: int = 3) -> "Scene":
        """A new table on which run a has committed so often."""

        def write(folder: Path) -> None:
            OrdersTable(folder).close()
            flink = LittleFlink(folder)
            flink.submit(job("a"), at_checkpoint=0)
            flink.checkpoints(job("a"), checkpoints)

        restored(f"run a to {checkpoints}", folder, write)
        scene = cls(folder)
        scene.store.open(opened_on(scene.table), by=ANA)
        return scene

    @property
    def table(self) -> TableState:
        """As the catalog tells it now."""
        return self.catalog.load(ORDERS)

    @property
    def incident(self) -> IncidentId:
        return self.store.all()[0].id

    @property
    def calls(self) -> list[str]:
        """What Flink was told to do: `stop`, `start`."""
        return [call.split()[0] for call in self.flink.calls]

    @property
    def notes(self) -> list[str]:
        """What was noted for people."""
        return [e.body.text for e in self.store.get(self.incident).entries if isinstance(e.body, NoteAdded)]

    @property
    def alive(self) -> list[JobId]:
        """Runs that are not at their end."""
        return [run.job_id for run in self.flink.runs(JOB) if not run.is_terminal]

    def snapshot(self, run: str, checkpoint: int) -> SnapshotId:
        """The listed commit of a run's checkpoint."""
        found = (s for s in self.table.snapshots if s.job_id == job(run) and s.checkpoint_id == checkpoint)
        return next(found).snapshot_id

    def positions(self) -> list[int]:
        """Every live source position, sorted."""
        return live_positions(self.folder)

    def by_hand(self) -> AbstractContextManager[Table]:
        """The table, for whoever changes or reads it past Waterline."""
        return by_hand(self.folder)

    def backfill_commits(self) -> None:
        """Another engine appends three rows."""
        self.commits(rows(range(900, 903)), {"engine-name": "spark", "spark.app.id": "local-17"})

    def commits(self, table: pa.Table, summary: dict[str, str]) -> None:
        """Somebody appends these rows to main."""
        with self.by_hand() as orders:
            orders.append(table, snapshot_properties=summary)

    def rolls_back(self, *, to: SnapshotId) -> None:
        """Somebody sets main back by hand."""
        with self.by_hand() as table:
            table.manage_snapshots().rollback_to_snapshot(to).commit()

    def expires(self, snapshots: Sequence[SnapshotId]) -> None:
        """As maintenance does it; data and metadata files stay."""
        with self.by_hand() as table:
            table.maintenance.expire_snapshots().by_ids(list(snapshots)).commit()

    def drops(self, table: str = ORDERS) -> None:
        """Its owner drops the table for good."""
        with closing(open_catalog(self.folder)) as catalog:
            catalog.drop_table(table)

    def sets(self, key: str, value: str) -> None:
        """A table property is set by hand."""
        with self.by_hand() as table, table.transaction() as change:
            change.set_properties({key: value})

    def plan(
        self,
        *,
        last_good: SnapshotId | None = None,
        wrong_run: JobId | None = None,
        undoes: ProposalId | None = None,
        number: int = 1,
    ) -> Plan:
        """What an action may know now, all restore points looked at."""
        observed = self.observer.observe(ORDERS)
        table = observed.table
        assert table.head is not None
        case = Case(
            observation=observed,
            window=Window(since=None, until=table.head),
            contract=CONTRACT,
            job_name=JOB,
            pairing=PairingFinding(pairings=pairings(observed.checkpoints.values, table, observed.jobs)),
        )
        match = Matches(
            headline="As the test says.", reasons=(), last_good=last_good, wrong_run=wrong_run,
            remedy=Remedy.NOTHING,
        )  # fmt: skip
        return plan_of(
            case,
            MODE,
            match,
            incident=self.incident,
            proposal=ProposalId(f"01JBQ5M7Z3T9K4X8V2N6R0P{number:03d}"),
            at=datetime.now(UTC),
            declaration=self.flink.declaration,
            undoes=past_of(self.store.get(self.incident), undoes, self.observer.jobs) if undoes else None,
        )

    def approved(self, proposal: Proposal, plan: Plan) -> Proposal:
        """Proposed with the freeze before it, if its requirements hold, and approved by Ben."""
        proposal = completed(proposal, plan)
        check_all(proposal.requirements, self.observer.clients.world(ORDERS))
        approval = Approval(by=BEN, at=datetime.now(UTC), digest=proposal.digest)
        made = ProposalMade(step=None, proposal=proposal)
        yes = ProposalApproved(proposal=proposal.id, approval=approval, complete=True)
        self.store.write(self.incident, by=ANA, decide=lambda _i: [made])
        self.store.write(self.incident, by=BEN, decide=lambda _i: [yes])
        return proposal

    @property
    def executions(self) -> Executions:
        """The use case over this world."""
        proposals = Proposals(self.store, self.observer, None, {}, SystemClock())  # type: ignore[arg-type]
        return Executions(self.store, self.observer, proposals, SystemClock())

    def proposing(self, action: ModuleType, propose: Callable[[Plan], Proposal], observer: Any = None) -> Proposals:
        """The use case with this one action, whose proposal is as the test says; no evidence is needed."""
        known = action.ACTION.model_copy(update={"needs": (), "on_request": True})
        modules = {known.name: ActionModule(action=known, propose=propose)}
        cases: Any = SimpleNamespace(case=lambda _incident, seen: answering(self.plan(), observation=seen).case)
        return Proposals(self.store, observer or self.observer, cases, modules, SystemClock())

    def carries_out(self, proposal: Proposal, plan: Plan) -> ProposalView:
        """From approval to the end of the execution."""
        done = self.approved(proposal, plan)
        self.executes(done.id)
        return self.view(done.id)

    def executes(self, proposal: ProposalId) -> None:
        """What is approved, to its end."""
        self.executions.begin(self.incident, proposal, by=ANA)
        self.executions.carry_on(self.incident, proposal)

    def restored_from_older(self) -> Plan:
        """Run b goes on from a's savepoint 3, and commits rows that a had committed; how to go back is known."""
        older = self.flink.savepoint(job("a"))
        self.flink.checkpoints(job("a"), 1)
        self.flink.stop(JOB, job("a"))
        self.flink.submit(job("b"), at_checkpoint=3, restored=older)
        self.flink.checkpoints(job("b"), 2)
        return self.plan(last_good=self.snapshot("a", 4), wrong_run=job("b"))

    def proposed(self, action: ModuleType, **about: Any) -> Proposal:
        """Proposed by this action, and approved. `about`: see `plan`."""
        plan = self.plan(**about)
        return self.approved(action.propose(plan), plan)

    def does(self, action: ModuleType, **about: Any) -> ProposalView:
        """And carried out."""
        made = self.proposed(action, **about)
        self.executes(made.id)
        return self.view(made.id)

    def view(self, proposal: ProposalId) -> ProposalView:
        """As the journal tells."""
        return self.store.get(self.incident).proposals[proposal]

    def checked(self, view: ProposalView) -> Sequence[Check]:
        """What the verification finds without evidence."""
        return checks(self.observer.clients, view)

    def awaited(self, view: ProposalView) -> Sequence[Pending]:
        """What the verification waits for."""
        return awaited(self.observer.clients, view)


def refusal(action: ModuleType, plan: Plan) -> Refused:
    """Why it is not proposed."""
    with pytest.raises(Refused) as refused:
        action.propose(plan)
    return refused.value


def savepoint_of(scene: Scene, run: str, checkpoint: int) -> Path:
    """Where the little Flink writes it."""
    return scene.flink.savepoints / f"savepoint-{job(run)[:6]}-{checkpoint:012x}"


def starts_from(proposal: Proposal) -> str:
    """The restore point of its one start."""
    return next(e.path for e in proposal.effects if isinstance(e, StartJob)).removeprefix("file:")


def carry_out(folder: Path, cut_at: int | None = None) -> None:
    """Begin the newest proposal (if nobody has) and carry on, as the bot does at each start; `cut_at`: the process is
    killed right after this journal entry, or right before it where it is negative."""
    record = open_store(f"sqlite:///{folder}/journal.db")
    journal: Journal = record.journal if cut_at is None else PowerCut(record.journal, cut_at)  # type: ignore[assignment]
    scene = Scene(folder, journal)
    view = scene.store.get(scene.incident).current_proposal
    assert view is not None
    if view.execution_started_at is None:
        scene.executions.begin(scene.incident, view.proposal.id, by=UserId(ANA))
    scene.executions.carry_on(scene.incident, view.proposal.id)
    record.close()
    scene.record.close()


__all__ = ["ProposalState", "Scene", "carry_out", "refusal"]
