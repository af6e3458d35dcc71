"""What the bot owes an incident in its present state. Looked at after each change and at start.

Every duty may be called at any time, any number of times: it looks whether it is done. None waits for another:
a catalog that is down must not keep a recovery from ending.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from bot.incident.diagnosis import Remedy
from bot.incident.doubt import doubted_since
from bot.incident.entries import Body, StepDone
from bot.incident.execution import AT_WORK, ProposalState
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import NO_ACTION
from bot.incident.waterline import owed_waterline
from bot.observation.ids import IncidentId, ProposalId, UserId
from bot.service.background import Background
from bot.service.diagnosis_service import DiagnosisService
from bot.service.evidence_service import EvidenceService
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from bot.service.notices.late_readers import LateReaders
from bot.service.notices.notifying import Telling
from bot.service.notices.promises import PROMISED, Promises
from bot.service.proposals.approving import Approvals
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import PUBLISH, Proposals, offered_before, proven_rehearsal
from bot.service.proposals.verifying import Verifier
from bot.service.savepoints import SavepointTags
from bot.service.waterline import Waterline

_RECOVERY = "The recovery"
_TAGS = "Removing the tag of an expired savepoint"
_UNFREEZE = "Resuming the table's maintenance"
_RUNBOOK = "Checking the table and the job for the diagnosis"
_LATE_READERS = "Checking lineage for late reader events"
_APPROVAL = "Reminding approvers and ending expired proposals"


@dataclass(eq=False)
class Reconciler:
    """Finds what is owed and does it in the background."""

    _store: IncidentStore
    _background: Background
    _evidence: EvidenceService
    _diagnoses: DiagnosisService
    _proposals: Proposals
    _approvals: Approvals
    _executions: Executions
    _verifier: Verifier
    _waterline: Waterline
    _maintenance: Maintenance
    _telling: Telling
    _tags: SavepointTags
    _promises: Promises
    _late_readers: LateReaders

    def __post_init__(self) -> None:
        self._by_time: dict[str, Approvals | Promises] = {
            _APPROVAL: self._approvals,
            PROMISED: self._promises,
        }
        self._duties: dict[str, Callable[[IncidentId], None]] = {
            "Checking what is proposed": self._proposals.supersede_if_moved,
            "Marking the table": self._mark_table,
            "Warning the consumers": partial(self._tell_if, "warning", self._telling.owes_warning),
            "Notifying consumers of the changed severity": partial(
                self._tell_if, "update", self._telling.owes_severity
            ),
            "Running the requested evidence": self._resume_evidence,
            "Taking a first look": self._look_first,
            _RUNBOOK: self._go_on_with_runbook,
            _RECOVERY: self._execute_and_prove,
            "Offering the repair for publication": self._offer_publication,
        }

    def settle(self, incident_id: IncidentId) -> None:
        self._background.submit(incident_id, _UNFREEZE, partial(self._maintenance.settle, incident_id))
        for what, do in self._duties.items():
            self._background.submit(incident_id, what, partial(do, incident_id))

    def settle_due(self) -> None:
        """What time alone has made due, by the record: no look at the world, so it can be asked every few seconds."""
        for incident in self._store.all():
            for what, part in self._by_time.items():
                if part.due(incident):
                    self._background.submit(incident.id, what, partial(part.settle, incident.id))

    def settle_all(self) -> None:
        """At start and now and then: every open incident, and what closed ones have left for a day."""
        self.settle_due()
        for incident in self._store.all():
            if incident.is_open:
                self.settle(incident.id)
                self._background.submit(incident.id, _RECOVERY, partial(self._recover_and_keep, incident.id))
            elif self._maintenance.is_owed(incident):
                self._background.submit(incident.id, _UNFREEZE, partial(self._maintenance.settle, incident.id))
            if self._tags.are_due(incident):
                self._background.submit(incident.id, _TAGS, partial(self._tags.release, incident.id))
            if self._late_readers.is_due(incident):
                self._background.submit(incident.id, _LATE_READERS, partial(self._late_readers.look, incident.id))

    def walk_on(self, incident_id: IncidentId) -> None:
        """A step has ended, or a diagnosis is asked for, or evidence may go on."""
        self._background.submit(incident_id, _RUNBOOK, partial(self._go_on_with_runbook, incident_id))

    def _go_on_with_runbook(self, incident_id: IncidentId) -> None:
        """What the runbook asks for and no person has to do: its evidence, and the diagnosis after that."""
        self._diagnoses.settle(incident_id)
        self._evidence.run_due(incident_id)

    def recover(self, incident_id: IncidentId, then: Callable[[], None]) -> None:
        """Soon carry on what was begun and prove it, and nothing else that is owed; `then` says that it was looked."""

        def do() -> None:
            try:
                self._execute_and_prove(incident_id)
            finally:
                then()

        self._background.submit(incident_id, _RECOVERY, do)

    def verify_again(self, incident_id: IncidentId, proposal_id: ProposalId, *, by: UserId) -> None:
        """A responder asks for the proof anew; it is owed from now on. Raises Refused."""
        self._verifier.request(incident_id, proposal_id, by=by)
        self._background.submit(incident_id, _RECOVERY, partial(self._execute_and_prove, incident_id))

    def _mark_table(self, incident_id: IncidentId) -> None:
        incident = self._store.get(incident_id)
        if incident.waterline is None and doubted_since(incident) is not None:
            self._waterline.under_review(incident_id)

    def _tell_if(self, kind: str, is_owed: Callable[[Incident], bool], incident_id: IncidentId) -> None:
        """Looked at before and after rendering: that takes seconds, and a person or another replica may be first."""
        if is_owed(self._store.get(incident_id)):
            preview = self._telling.preview(incident_id, kind)
            self._telling.send(incident_id, preview, by=WATERLINE, step=None, if_still=is_owed)

    def _resume_evidence(self, incident_id: IncidentId) -> None:
        for run in list(self._store.get(incident_id).runs.values()):
            if run.is_running:
                self._evidence.resume(incident_id, run.run)

    def _look_first(self, incident_id: IncidentId) -> None:
        """Once, at opening: a diagnosis looks again by itself. What reads rows comes after it."""
        incident = self._store.get(incident_id)
        if not incident.is_stopped and not any(run.is_first_look for run in incident.runs.values()):
            self._evidence.look_first(incident_id)
            self.walk_on(incident_id)

    def _execute_and_prove(self, incident_id: IncidentId) -> None:
        """Carry on what was begun, prove it, let the walk go on. The waterline goes back before `main` moves, and
        forward after the proof: last, so that a catalog that is away keeps no recovery from ending."""
        for view in self._store.get(incident_id).proposals.values():
            if view.state in AT_WORK:
                self._waterline.follow(incident_id, only_back=True)  # it has begun for certain: it is in the record
                self._executions.carry_on(incident_id, view.proposal.id)
        for view in self._store.get(incident_id).proposals.values():
            if view.state is ProposalState.APPLIED and (view.verified is None or view.is_proof_asked):
                self._verifier.verify(incident_id, view.proposal.id, is_asked=view.is_proof_asked)
        incident = self._store.get(incident_id)
        for view in incident.proposals.values():
            proof = view.verified
            if view.state is ProposalState.APPLIED and proof is not None and proof.passed and proof.branch is None:
                self._end_step(incident_id, view.proposal.id)
        self._waterline.follow(incident_id)
        self._trust_the_healthy(incident_id)

    def _recover_and_keep(self, incident_id: IncidentId) -> None:
        """Now and then also what somebody took off the table. In the turn of a recovery, which alone moves the mark:
        beside one it would put back what the recovery is just taking away. And whether a request has landed late."""
        self._execute_and_prove(incident_id)
        self._executions.look_back(incident_id)
        self._waterline.keep(incident_id)

    def _offer_publication(self, incident_id: IncidentId) -> None:
        """A repair that is proven on its branch is proposed for publication by itself, once: the job stands still."""
        incident = self._store.get(incident_id)
        view = proven_rehearsal(incident)
        if view is not None and not offered_before(incident, view):
            self._proposals.propose(incident_id, PUBLISH, step=view.step, by=view.proposal.proposed_by)

    def _trust_the_healthy(self, incident_id: IncidentId) -> None:
        """Consumers were told that nothing is wrong: then the mark says so, too."""
        incident = self._store.get(incident_id)
        told = any(view.notice.kind == NO_ACTION for view in incident.notices.values())
        decisive = incident.diagnosis.decisive if incident.diagnosis else None
        if not told or decisive is None or incident.waterline is None or incident.waterline.status == "trusted":
            return
        _mode, match = decisive
        if match.remedy is Remedy.NOTHING and match.last_good is not None and owed_waterline(incident) is None:
            self._waterline.trusted(incident_id, match.last_good)

    def _end_step(self, incident_id: IncidentId, proposal_id: ProposalId) -> None:
        """The proposal's step is done once its recovery is proven; anything else leaves it to be proposed anew."""
        view = self._store.get(incident_id).proposals[proposal_id]
        if view.step is None:
            return
        step = view.step

        def decide(incident: Incident) -> list[Body]:
            known = incident.outcomes.get(step)
            if known is not None and known.at >= view.proposal.proposed_at:
                return []
            return [StepDone(step=step, key=view.state.value, why="done and verified on the new head")]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        self.walk_on(incident_id)
