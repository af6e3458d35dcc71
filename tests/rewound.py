"""A damaged table with an approved rewind, and the executor over real parts; used by the crash tests."""

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.adapters.table_files import FolderOfTable
from bot.incident.approval import Approval, ApprovalPolicy
from bot.incident.effects import MoveTable, StartJob, StopJob
from bot.incident.entries import ExecutionStarted, IncidentOpened, ProposalApproved, ProposalMade
from bot.incident.proposal import (
    HeadDescends,
    Preview,
    Proposal,
    RestorePointIntact,
    RunIsCurrent,
    SnapshotPresent,
    TableIs,
)
from bot.incident.setup import TableSetup
from bot.observation.contract import TableContract
from bot.observation.ids import CheckpointId, IncidentId, JobId, ProposalId, SnapshotId, UserId
from bot.observation.table import TableState, Window
from bot.ports import JobPorts, Journal, PastRuns
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import Proposals
from tests.decisions import RUNBOOK
from tests.little_flink import JOB, LittleFlink
from tests.power_cut import PowerCut
from tests.restored import restored
from tests.tables import CONTRACT, ORDERS, OrdersTable, job, lake_in

ANA, BEN = UserId("U0ANA00001"), UserId("U0BEN00001")
GOOD_RUN, WRONG_RUN = job("a"), job("b")
PROPOSAL = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PWAB")


def opened_on(table: TableState) -> IncidentOpened:
    """An incident of all that the table lists."""
    assert table.head is not None
    return IncidentOpened(
        table=ORDERS, job=JOB, runbook=RUNBOOK, severity="sev2", channel="C0ORDERS01",
        window=Window(since=None, until=table.head), trusted=None,
        metadata_location=table.metadata_location, summary="",
    )  # fmt: skip


class Damaged:
    """Run A to checkpoint 5, stopped; run B restored from checkpoint 3 and committing 4, 5, 6 again."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.flink = LittleFlink(folder)
        self.catalog = PyIcebergCatalog("lake", lake_in(folder), SystemClock())
        self.checkpoints = CheckpointFiles(None, str(self.flink.savepoints))
        self.history: PastRuns | None = None

    @classmethod
    def made_in(cls, folder: Path) -> "Damaged":
        """Damage a new table in this folder."""
        restored("rewound", folder, _damage)
        return cls(folder)

    @property
    def good_savepoint(self) -> Path:
        """Where run A's last state is."""
        return self.flink.savepoints / f"savepoint-{GOOD_RUN[:6]}-{5:012x}"

    def proposal(self) -> Proposal:
        """The rewind to run A's last commit."""
        table = self.catalog.load(ORDERS)
        assert table.head is not None
        target = next(s for s in table.chain if s.job_id == GOOD_RUN)
        path = str(self.good_savepoint)
        stored = self.checkpoints.read(path)
        five = CheckpointId(5)
        assert stored.digest is not None
        return Proposal(
            id=PROPOSAL,
            action="roll_back_table_and_restore_job",
            title="Roll back table and job to checkpoint 5",
            table=ORDERS,
            because="F2: restored from an older savepoint.",
            code="F2",
            effects=(
                StopJob(job=JOB, job_id=WRONG_RUN),
                MoveTable(table=ORDERS, to=target.snapshot_id, keep_head_as="wl-1-left"),
                StartJob(job=JOB, path=path, checkpoint_id=five, on_top_of=target.snapshot_id),
            ),
            requirements=(
                TableIs(uuid=table.uuid),
                RunIsCurrent(job=JOB, job_id=WRONG_RUN),
                HeadDescends(head=table.head, job_id=WRONG_RUN),
                SnapshotPresent(snapshot_id=target.snapshot_id),
                RestorePointIntact(job=JOB, path=path, checkpoint_id=five, digest=stored.digest),
            ),
            preview=Preview(
                commits=3,
                files=3,
                rows=30,
                replayed_from=five,
                affected_runs=(),
                readers_known=True,
                sure="30 rows leave main.",
                sentences=(),
            ),
            evidence=(),
            undo="Go back to the tag.",
            policy=ApprovalPolicy(users=(BEN,), expires_after=timedelta(minutes=30)),
            proposed_by=ANA,
            proposed_at=datetime.now(UTC),
        )

    def proposed(self, store: IncidentStore) -> tuple[IncidentId, Proposal]:
        """Open an incident, and propose the rewind."""
        incident = store.open(opened_on(self.catalog.load(ORDERS)), by=ANA)
        proposal = self.proposal()
        store.write(incident.id, by=ANA, decide=lambda _i: [ProposalMade(step=None, proposal=proposal)])
        return incident.id, proposal

    def approved(self, store: IncidentStore) -> IncidentId:
        """And have it approved by Ben."""
        incident, proposal = self.proposed(store)
        approval = Approval(by=BEN, at=datetime.now(UTC), digest=proposal.digest)
        yes = ProposalApproved(proposal=proposal.id, approval=approval, complete=True)
        store.write(incident, by=BEN, decide=lambda _i: [yes])
        return incident

    def executions(self, store: IncidentStore) -> tuple[Executions, Proposals]:
        """The use cases over this world."""
        setup = TableSetup(
            name=ORDERS, job=JOB, contract=TableContract(key=CONTRACT.key), consumers=(),
            policies={"default": ApprovalPolicy(users=(BEN,))}, next_update_minutes=30,
        )  # fmt: skip
        observer = Observer(
            self.catalog,
            {ORDERS: setup},
            {JOB: JobPorts(self.flink, self.checkpoints, self.history)},
            reads=NoReads(),
            files=FolderOfTable(),
        )
        proposals = Proposals(store, observer, None, {}, SystemClock())  # type: ignore[arg-type]
        return Executions(store, observer, proposals, SystemClock()), proposals

    def target(self) -> SnapshotId:
        """Run A's last commit."""
        table = self.catalog.load(ORDERS)
        return next(s.snapshot_id for s in table.snapshots if s.job_id == GOOD_RUN and s.checkpoint_id == 5)


def _damage(folder: Path) -> None:
    OrdersTable(folder).close()
    flink = LittleFlink(folder)
    flink.submit(GOOD_RUN, at_checkpoint=0)
    flink.checkpoints(GOOD_RUN, 3)
    older = flink.savepoint(GOOD_RUN)
    flink.checkpoints(GOOD_RUN, 2)
    flink.stop(JOB, GOOD_RUN)
    flink.submit(WRONG_RUN, at_checkpoint=3, restored=older)
    flink.checkpoints(WRONG_RUN, 3)


def begins(store: IncidentStore, incident: IncidentId, proposal: Proposal) -> None:
    """The record tells that it was proposed, approved by Ben, and begun."""
    made = ProposalMade(step=None, proposal=proposal)
    approval = Approval(by=BEN, at=datetime.now(UTC), digest=proposal.digest)
    yes = ProposalApproved(proposal=proposal.id, approval=approval, complete=True)
    store.write(incident, by=BEN, decide=lambda _i: [made, yes, ExecutionStarted(proposal=proposal.id)])


class NoReads:
    """Nobody is observed."""

    def reads(self, table: object, since: datetime) -> tuple[()]:
        return ()

    def downstream(self, table: object, since: datetime) -> tuple[()]:
        return ()


class Nobody:
    """A directory without groups."""

    def members(self, groups: Iterable[str]) -> frozenset[UserId]:
        return frozenset()

    absent = members


def carry_out(folder: Path, cut_at: int | None) -> None:
    """Begin (if nobody has) and carry on, as the bot does at each start; `cut_at`: the process is killed right after
    this journal entry, or right before it where it is negative."""
    damaged = Damaged(folder)
    record = open_store(f"sqlite:///{folder}/journal.db")
    journal: Journal = record.journal if cut_at is None else PowerCut(record.journal, cut_at)  # type: ignore[assignment]
    store = IncidentStore(journal, SystemClock())
    incident = store.all()[0]
    executions, _proposals = damaged.executions(store)
    if incident.proposals[PROPOSAL].execution_started_at is None:
        executions.begin(incident.id, PROPOSAL, by=ANA)
    executions.carry_on(incident.id, PROPOSAL)
    record.close()


__all__ = ["Damaged", "JobId", "carry_out"]
