"""An incident over real parts: table, catalog, Spark's evidence, journal and services; a small Flink beside them."""

from datetime import timedelta
from pathlib import Path
from typing import Any

import spark_tasks
from bot.adapters.checkpoint_files import CheckpointFiles
from bot.adapters.clock import SystemClock
from bot.adapters.iceberg import PyIcebergCatalog
from bot.adapters.journal_sql.store import open_store
from bot.adapters.lineage import NoLineage
from bot.adapters.spark import SparkEvidenceRunner
from bot.adapters.spark_repairs import SparkReplays, spark_catalog
from bot.adapters.table_files import FolderOfTable
from bot.bootstrap import assemble
from bot.evidence import Collector, find_tasks
from bot.incident.approval import ApprovalPolicy
from bot.incident.asked import typed_proposal
from bot.incident.decisions import Approve
from bot.incident.diagnosis import Diagnosis, Matches, Mode, ModeResult, Remedy
from bot.incident.entries import Body, Diagnosed, Verified
from bot.incident.execution import ProposalState, ProposalView
from bot.incident.journal import WATERLINE
from bot.incident.setup import TableSetup
from bot.observation.findings import DuplicateCommitsFinding
from bot.observation.ids import ProposalId, SnapshotId, UserId
from bot.observation.table import TableState
from bot.ports import JobPorts, KafkaBroker
from bot.service.incident_store import IncidentStore
from bot.service.observing import Observer
from tests.little_flink import JOB, LittleFlink
from tests.rewound import Nobody
from tests.tables import CONTRACT, ORDERS, OrdersTable, job, lake_in

ANA, BEN = UserId("U0ANA00001"), UserId("U0BEN00001")
RUN = job("a")


class RepairScene:
    """Run A writes `sales.orders`, ten rows a checkpoint, and something goes wrong; Ana proposes, Ben approves."""

    def __init__(
        self, folder: Path, runner: SparkEvidenceRunner, *, kafka: KafkaBroker | None = None, **setup: Any
    ) -> None:
        self.folder = folder
        self.orders = OrdersTable(folder)
        self.flink = LittleFlink(folder)
        self.flink.submit(RUN, at_checkpoint=0)
        lake = lake_in(folder)
        self.catalog = PyIcebergCatalog("lake", lake, SystemClock())
        policy = ApprovalPolicy(users=(BEN,), expires_after=timedelta(minutes=30), different_teams=1)
        told = TableSetup(
            name=ORDERS,
            job=JOB,
            contract=setup.pop("contract", CONTRACT),
            consumers=setup.pop("consumers", ()),
            policies={"default": policy},
            next_update_minutes=30,
            warn_after_minutes=600,
            **setup,
        )
        self.ports = JobPorts(self.flink, CheckpointFiles(None, str(self.flink.savepoints)), kafka=kafka)
        replays = SparkReplays(runner.connection, spark_catalog("lake", lake, {}))
        self.observer = Observer(
            self.catalog,
            {ORDERS: told},
            {JOB: self.ports},
            NoLineage(),
            FolderOfTable(self.catalog.storage),
            replays,
        )
        self.record = open_store(f"sqlite:///{folder}/journal.db")
        self.store = IncidentStore(self.record.journal, SystemClock(), self.observer.tables)
        self.services = assemble(
            self.store,
            self.observer,
            Collector(find_tasks(spark_tasks), runner, SystemClock()),
            Nobody(),
            SystemClock(),
            self.record.presence.is_leader,
            look_first=False,
        )
        self.incident: Any = None

    def close(self) -> None:
        self.services.background.close()
        self.services.evidence.close()
        self.record.close()
        self.catalog.close()
        self.orders.close()

    def opens(self, *evidence: str, since: SnapshotId | None = None, remedy: str | None = None) -> None:
        """Ana opens an incident of the commits after `since`, has this evidence collected, and diagnoses; or somebody
        has diagnosed what asks for `remedy`."""
        self.incident = self.services.opening.open(
            table=ORDERS, runbook="duplicate-rows", severity="sev2", channel="C0ORDERS01", summary="", by=ANA,
            since=None if since is None else str(since),
        )  # fmt: skip
        for task in evidence:
            self.services.evidence.run_now(self.incident, task)
        if remedy is None:
            self.services.diagnostician.diagnose(self.incident)
        else:
            self._write(Diagnosed(diagnosis=_asking(Remedy(remedy), self._repeating())))

    def _repeating(self) -> tuple[SnapshotId, ...]:
        run = self.store.get(self.incident).latest.get("duplicate_commits")
        finding = run.evidence.finding if run is not None and run.evidence is not None else None
        return tuple(each.again for each in finding.repeated) if isinstance(finding, DuplicateCommitsFinding) else ()

    def _write(self, *bodies: Body) -> None:
        self.store.write(self.incident, by=WATERLINE, decide=lambda _i: list(bodies))

    def proposes(self, action: str, typed: str = "") -> ProposalView:
        """Ana proposes it, with what she typed behind its name."""
        bounds = typed_proposal(f"{action} {typed}").bounds
        made = self.services.proposals.propose(self.incident, action, step=None, by=ANA, bounds=bounds)
        return self.view(made)

    def undoes(self) -> ProposalView:
        """Ana proposes to undo what was done last."""
        return self.view(self.services.proposals.undo(self.incident, None, "", by=ANA))

    def carries_out(self, view: ProposalView) -> ProposalView:
        """Ben approves what is shown, and executes it to its end."""
        proposal = view.proposal
        self.services.approvals.act(self.incident, proposal.id, Approve(digest=proposal.digest), by=BEN)
        self.services.executions.begin(self.incident, proposal.id, by=BEN)
        self.services.executions.carry_on(self.incident, proposal.id)
        return self.view(proposal.id)

    def proves(self, view: ProposalView) -> Verified:
        """The verification of what was carried out."""
        assert view.state is ProposalState.APPLIED, view.result
        proof = self.services.reconciler._verifier.verify(self.incident, view.proposal.id)
        assert proof is not None
        return proof

    def view(self, proposal: ProposalId) -> ProposalView:
        """The proposal as it stands."""
        return self.store.get(self.incident).proposals[proposal]

    @property
    def table(self) -> TableState:
        return self.catalog.load(ORDERS)

    @property
    def alive(self) -> list[str]:
        """Runs that are not at their end."""
        return [run.job_id for run in self.flink.runs(JOB) if not run.is_terminal]

    def sink_comes_back_under_another_uid(self, owing: range) -> None:
        """Run A wrote these positions for checkpoint 4 and stopped without committing them; run B goes on with 5."""
        self.flink.checkpoints(RUN, 3)
        older = self.flink.savepoint(RUN)
        self.flink.stop(JOB, RUN)
        self.orders.leaves_manifest("a", 4, {"00000-0-leak-00001.parquet": owing})
        self.flink.submit(job("b"), at_checkpoint=5, restored=older)
        first = owing.stop
        summary = {"flink.operator-id": "0" * 31 + "b"}
        self.orders.commits("b", 5, range(first, first + 10), summary=summary)

    def diagnosed_anew(self, *evidence: str) -> list[str]:
        """The codes of what is to be acted on, after this evidence was collected once more."""
        for task in evidence:
            self.services.evidence.run_now(self.incident, task)
        return [mode.code for mode, _ in self.services.diagnostician.diagnose(self.incident).to_act_on]

    def commits_again(self, checkpoint: int) -> SnapshotId:
        """The catalog's answer to a commit was lost, and the sink committed its files once more."""
        first = (checkpoint - 1) * 10
        return self.orders.commits("a", checkpoint, range(first, first + 10))


def _asking(remedy: Remedy, repeating: tuple[SnapshotId, ...]) -> Diagnosis:
    mode = Mode(code="F0", name="told", title="told by the test", needs=(), false_positives=())
    match = Matches(
        headline="The test says so.", reasons=(), remedy=remedy,
        repeating=repeating,
    )  # fmt: skip
    return Diagnosis(results=(ModeResult(mode=mode, examined=match),))
