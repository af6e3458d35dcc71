"""A table, a job and a record in which a savepoint is planned, taken, and kept until its day."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import spark_tasks
from bot.actions import roll_back_table_and_restore_job, take_savepoint
from bot.actions._support.completing import completed
from bot.adapters.clock import SystemClock
from bot.adapters.spark import SparkEvidenceRunner
from bot.bootstrap import assemble
from bot.cli.options import NobodyThere
from bot.evidence import Collector, find_tasks
from bot.incident.action import Plan
from bot.incident.decisions import Approve
from bot.incident.entries import Body, ExecutionEnded, ExecutionStarted, IncidentClosed, ProposalMade
from bot.incident.execution import ProposalState
from bot.incident.proposal import Proposal
from bot.incident.savepoints import beside_the_authoritative
from bot.observation.ids import IncidentId, ProposalId
from bot.ports import Journal
from bot.service.incident_store import IncidentStore
from bot.service.proposals.approving import Approvals
from bot.service.proposals.proposing import Proposals
from bot.service.savepoints import Savepoints, SavepointTags
from bot.service.services import Services
from tests.actions.scene import Scene
from tests.rewound import ANA, BEN
from tests.tables import job

WEEK = timedelta(days=7)


class InTime:
    """A clock that is so far ahead."""

    def __init__(self, ahead: timedelta) -> None:
        self.ahead = ahead

    def now(self) -> datetime:
        return datetime.now(UTC) + self.ahead


class World:
    """A scene whose run has left a savepoint at 3, and goes on to 5; and the use cases over it."""

    def __init__(self, folder: Path) -> None:
        self.scene = Scene.made_in(folder)
        self.older = str(self.scene.flink.savepoint(job("a")))
        self.good = self.scene.snapshot("a", 3)
        self.scene.flink.checkpoints(job("a"), 2)
        self.looks_after(timedelta(0))

    def plans(
        self,
        *,
        until: timedelta = WEEK,
        reason: str = "New pricing.",
        code_before: str = "1.4",
    ) -> None:
        """Ana plans the change to code 1.5."""
        self.savepoints.plan(
            self.scene.incident, reason=reason, code_before=code_before, code_after="1.5",
            until=datetime.now(UTC) + until, by=ANA,
        )  # fmt: skip

    def savepoint(self, **known: object) -> tuple[Proposal, Plan]:
        """The proposal of the planned savepoint, and what it was made from."""
        plan = self.scene.plan().model_copy(update={"planned": self.scene.store.get(self.scene.incident).plan, **known})
        return take_savepoint.propose(plan), plan

    def savepoint_of_a_day_that_passed(self) -> Proposal:
        """Proposed nine minutes ago, with a plan whose day ended five minutes ago."""
        self.plans()
        planned, now = self.scene.store.get(self.scene.incident).plan, datetime.now(UTC)
        passed = planned.model_copy(update={"until": now - timedelta(minutes=5)})
        proposal, plan = self.savepoint(planned=passed, at=now - timedelta(minutes=9))
        return self.proposes(proposal, plan.model_copy(update={"at": now}))

    def takes_it(self) -> None:
        """The approved savepoint is taken."""
        proposal, plan = self.savepoint()
        assert self.scene.carries_out(proposal, plan).state is ProposalState.APPLIED

    def takes_a_newer_one(self, at: str = "file:///newer") -> None:
        """The record tells of one more that was kept for the job, at another path."""
        taken = self.scene.store.get(self.scene.incident).current_proposal
        newer = ProposalId("01JBQ5M7Z3T9K4X8V2N6R0PNEW")
        again = taken.proposal.model_copy(update={"id": newer})
        ends = [
            ended.model_copy(update={"proposal": newer, "result": {**ended.result, "savepoint": at}})
            for _index, ended in sorted(taken.done.items())
        ]
        made: list[Body] = [ProposalMade(step=None, proposal=again), ExecutionStarted(proposal=newer), *ends]
        made.append(ExecutionEnded(proposal=newer, outcome="applied", sentence="It was kept."))
        self.scene.store.write(self.scene.incident, by=ANA, decide=lambda _i: made)

    def proposes(self, proposal: Proposal, plan: Plan) -> Proposal:
        """Proposed, and nothing more."""
        made = completed(proposal, plan)
        self.scene.store.write(self.scene.incident, by=ANA, decide=lambda _i: [ProposalMade(step=None, proposal=made)])
        return made

    def proposes_the_rewind(self) -> Proposal:
        """Back to checkpoint 3, from the older savepoint."""
        plan = self.scene.plan(last_good=self.good, number=2)
        return self.proposes(roll_back_table_and_restore_job.propose(plan), plan)

    def beside(self, proposal: Proposal) -> Proposal:
        """As it is proposed, with what is said of the authoritative savepoint."""
        return beside_the_authoritative(proposal, self.scene.store.all(), self.scene.table, self.clock.now())

    def ben_approves(self, proposal: Proposal) -> None:
        """Ben says yes to what he was shown."""
        self.approvals.act(self.scene.incident, proposal.id, Approve(digest=proposal.digest), by=BEN)

    def closes(self) -> None:
        self.scene.store.write(self.scene.incident, by=ANA, decide=lambda _i: [IncidentClosed(reason="done")])

    def opens_another(self) -> IncidentId:
        """Somebody doubts the table."""
        return self.scene.store.open(self.scene.store.get(self.scene.incident).opened, by=BEN).id

    def looks_after(self, ahead: timedelta) -> None:
        """What is kept is looked at so long after now, also before anything is approved."""
        self.clock = InTime(ahead)
        self.savepoints = Savepoints(self.scene.store, self.scene.observer, self.clock)
        proposals = Proposals(self.scene.store, self.scene.observer, None, {}, SystemClock())  # type: ignore[arg-type]
        self.approvals = Approvals(self.scene.store, proposals, NobodyThere(), SystemClock())

    def tags(self, ahead: timedelta = WEEK + timedelta(hours=1), journal: Journal | None = None) -> SavepointTags:
        """Whoever takes tags away, so long after now."""
        store = IncidentStore(journal, SystemClock()) if journal else self.scene.store
        return SavepointTags(store, self.scene.catalog, InTime(ahead))

    def services(self, ahead: timedelta) -> Services:
        """Every use case over this world, so long after now."""
        clock = InTime(ahead)
        collector = Collector(find_tasks(spark_tasks), SparkEvidenceRunner({}, "sc://127.0.0.1:1"), clock)
        alone = self.scene.record.presence.is_leader
        return assemble(self.scene.store, self.scene.observer, collector, NobodyThere(), clock, alone, look_first=False)

    @property
    def tag(self) -> str | None:
        """The savepoint's tag on the table."""
        return next((ref.name for ref in self.scene.table.refs if ref.name.startswith("savepoint-")), None)
