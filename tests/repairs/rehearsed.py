"""Approved repairs of a table that names one file twice, and the executor over real parts; for the power cuts."""

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path

from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.adapters.lineage import NoLineage
from bot.adapters.spark_repairs import SparkReplays, spark_catalog
from bot.adapters.spark_session import SparkConnection
from bot.adapters.table_files import FolderOfTable
from bot.incident.approval import Approval, ApprovalPolicy
from bot.incident.effects import DropBranch, Effect, MakeBranch, PublishBranch, StartJob, StopJob
from bot.incident.entries import Body, ProposalApproved, ProposalMade
from bot.incident.proposal import (
    HeadDescends,
    NobodyWrites,
    Preview,
    Proposal,
    RefIs,
    Requirement,
    RestorePointIntact,
    RunIsCurrent,
    TableIs,
)
from bot.incident.setup import TableSetup
from bot.observation.ids import CheckpointId, ProposalId
from bot.observation.table import TableState
from bot.ports import JobPorts, Journal
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import Proposals
from tests.little_flink import JOB, LittleFlink, live_positions
from tests.power_cut import PowerCut
from tests.repairs.taken_out import BRANCH, SPARK, rehearse, repair_named
from tests.rewound import ANA, BEN, opened_on
from tests.rewound import GOOD_RUN as RUN
from tests.tables import CONTRACT, ORDERS, OrdersTable, lake_in

PROPOSALS = {
    name: ProposalId(f"01JBQ5M7Z3T9K4X8V2N6R0P{number:03}")
    for number, name in enumerate(("rehearse", "publish", "give-up", "deduplicate", "replay"))
}
LEFT = "wl-1-left"


class Repaired:
    """Run A committed checkpoint 3 twice; ten rows a checkpoint."""

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.flink = LittleFlink(folder)
        lake = lake_in(folder)
        self.catalog = PyIcebergCatalog("lake", lake, SystemClock())
        self._spark = SparkConnection(os.environ[SPARK]) if name == "replay" else None
        self._replays = SparkReplays(self._spark, spark_catalog("lake", lake, {})) if self._spark else None
        self.checkpoints = CheckpointFiles(None, str(self.flink.savepoints))

    @classmethod
    def made_in(cls, folder: Path, name: str) -> "Repaired":
        """Damage a new table in this folder, as far as repair `name` needs it, and have the repair approved."""
        orders = OrdersTable(folder)
        made = cls(folder, name)
        made.flink.submit(RUN, at_checkpoint=0)
        made.flink.checkpoints(RUN, 3)
        orders.commits("a", 3, range(40, 50) if name == "replay" else range(20, 30))
        orders.close()
        if name in {"publish", "give-up"}:
            made.flink.stop(JOB, RUN)
            rehearse(made.catalog)
        record = open_store(f"sqlite:///{folder}/journal.db")
        made._approved(IncidentStore(record.journal, SystemClock()))
        record.close()
        return made

    def close(self) -> None:
        """Give the connections back."""
        self.catalog.close()
        if self._spark is not None:
            self._spark.close()

    @property
    def table(self) -> TableState:
        return self.catalog.load(ORDERS)

    def found(self) -> dict[str, object]:
        """What the world shows: rows of main and of the branch, calls of Flink, repairs made."""
        table = self.table
        repairs = [s for s in table.snapshots if s.is_repair]
        return {
            "main": live_positions(self.folder),
            "branch": live_positions(self.folder, table.ref(BRANCH)) if table.ref(BRANCH) else None,
            "calls": [call.split()[0] for call in self.flink.calls],
            "repairs": len(repairs),
            "left": table.ref(LEFT) is not None,
        }

    @property
    def expected(self) -> dict[str, object]:
        """What it has to show in the end, whatever came in between."""
        bad, good = sorted([*range(30), *range(20, 30)]), list(range(30))
        same = {"main": bad, "branch": None, "repairs": 1, "left": False}
        return {
            "rehearse": {**same, "branch": good, "calls": ["stop"]},
            "deduplicate": {**same, "branch": good, "calls": ["stop"]},
            "replay": {**same, "main": [*good, *range(40, 50)], "branch": list(range(50)), "calls": ["stop"]},
            "publish": {**same, "main": list(range(50)), "left": True, "calls": ["stop", "start"]},
            "give-up": {**same, "main": sorted([*bad, *range(30, 50)]), "calls": ["stop", "start"]},
        }[self.name]

    def proposal(self) -> Proposal:
        effects, requirements = self._parts()
        return Proposal(
            id=PROPOSALS[self.name],
            action="drop_duplicated_commit",
            title="Repair",
            table=ORDERS,
            because="F1: committed twice.",
            code="F1",
            effects=effects,
            requirements=requirements,
            preview=Preview(
                commits=0, files=1, rows=10, replayed_from=None, affected_runs=(), readers_known=True,
                sure="10 rows leave.", sentences=()
            ),
            evidence=(),
            undo="Go back.",
            policy=ApprovalPolicy(users=(BEN,), expires_after=timedelta(minutes=30)),
            proposed_by=ANA,
            proposed_at=datetime.now(UTC),
        )  # fmt: skip

    def executions(self, store: IncidentStore) -> Executions:
        """The use case over this world."""
        setup = TableSetup(
            name=ORDERS, job=JOB, contract=CONTRACT, consumers=(),
            policies={"default": ApprovalPolicy(users=(BEN,))}, next_update_minutes=30,
        )  # fmt: skip
        ports = {JOB: JobPorts(self.flink, self.checkpoints)}
        observer = Observer(self.catalog, {ORDERS: setup}, ports, NoLineage(), FolderOfTable(), self._replays)
        proposals = Proposals(store, observer, None, {}, SystemClock())  # type: ignore[arg-type]
        return Executions(store, observer, proposals, SystemClock())

    def _parts(self) -> tuple[tuple[Effect, ...], tuple[Requirement, ...]]:
        table = self.table
        head, at = table.head, table.ref(BRANCH)
        assert head is not None
        same = TableIs(uuid=table.uuid)
        path = self.flink.savepoints / f"savepoint-{RUN[:6]}-{3:012x}"
        three = CheckpointId(3)
        if self.name in {"rehearse", "deduplicate", "replay"}:
            change = repair_named(self.name, self.catalog, self.folder, head)
            stop = StopJob(job=JOB, job_id=RUN)
            return (stop, MakeBranch(table=ORDERS, branch=BRANCH), change), (
                same,
                RunIsCurrent(job=JOB, job_id=RUN),
                HeadDescends(head=head, job_id=RUN),
                RefIs(ref=BRANCH, snapshot_id=None),
            )
        assert at is not None
        digest = self.checkpoints.read(str(path)).digest
        assert digest is not None
        over = at if self.name == "publish" else head
        start = StartJob(job=JOB, path=str(path), checkpoint_id=three, on_top_of=over)
        requirements = (
            same,
            NobodyWrites(job=JOB),
            HeadDescends(head=head, job_id=None),
            RefIs(ref=BRANCH, snapshot_id=at),
            RestorePointIntact(job=JOB, path=str(path), checkpoint_id=three, digest=digest),
        )
        if self.name == "give-up":
            return (start, DropBranch(table=ORDERS, branch=BRANCH, head=at)), requirements
        publish = PublishBranch(table=ORDERS, branch=BRANCH, base=head, head=at, keep_head_as=LEFT, drop_branch=True)
        return (publish, start), requirements

    def _approved(self, store: IncidentStore) -> None:
        table, proposal = self.table, self.proposal()
        incident = store.open(opened_on(table), by=ANA)
        approval = Approval(by=BEN, at=datetime.now(UTC), digest=proposal.digest)
        bodies: list[Body] = [
            ProposalMade(step=None, proposal=proposal),
            ProposalApproved(proposal=proposal.id, approval=approval, complete=True),
        ]
        store.write(incident.id, by=BEN, decide=lambda _i: bodies)


def carry_out(folder: Path, name: str, cut_at: int | None) -> None:
    """Begin (if nobody has) and carry on, as the bot does at each start; `cut_at`: the process is killed right after
    this journal entry, or right before it where it is negative."""
    repaired = Repaired(folder, name)
    record = open_store(f"sqlite:///{folder}/journal.db")
    journal: Journal = record.journal if cut_at is None else PowerCut(record.journal, cut_at)  # type: ignore[assignment]
    store = IncidentStore(journal, SystemClock())
    incident = store.all()[0]
    executions = repaired.executions(store)
    if incident.proposals[PROPOSALS[name]].execution_started_at is None:
        executions.begin(incident.id, PROPOSALS[name], by=ANA)
    executions.carry_on(incident.id, PROPOSALS[name])
    record.close()
    repaired.close()
