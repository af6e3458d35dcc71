"""What the bot owes an incident, by its record and the clock, and how it is done. Looked at after each change and at
start.

Every work may be called for at any time, any number of times: it looks whether it is done. None waits for another: a
catalog that is down must not keep a recovery from ending.
"""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from functools import partial

from bot.incident.diagnosis import Remedy
from bot.incident.doubt import doubted_since
from bot.incident.entries import Body, StepDone
from bot.incident.execution import AT_WORK, UNDECIDED, ProposalState
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import NO_ACTION
from bot.incident.promises import due_reminders
from bot.incident.setup import TableSetup
from bot.incident.waterline import due_waterline
from bot.observation.ids import IncidentId, ProposalId, TableName, UserId
from bot.ports import Clock
from bot.service.background import Background
from bot.service.diagnosis_service import DiagnosisService
from bot.service.evidence_service import EvidenceService
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from bot.service.notices.late_readers import LateReaders, may_be_read_late
from bot.service.notices.notifying import Telling
from bot.service.notices.policy import is_severity_update_due, is_warning_due
from bot.service.proposals.approving import Approvals, due_by_time
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import PUBLISH, Proposals, offered_before, proven_rehearsal
from bot.service.proposals.verifying import Verifier
from bot.service.savepoints import SavepointTags, expired_savepoints
from bot.service.waterline import Waterline


class Work(StrEnum):
    """What may be due; its words begin the note where it fails."""

    APPROVAL = "Reminding approvers and ending expired proposals"
    REMINDERS = "Sending reminders"
    UNFREEZE = "Resuming the table's maintenance"
    TAGS = "Removing the tag of an expired savepoint"
    LATE_READERS = "Checking lineage for late reader events"
    CHECK = "Checking what is proposed"
    MARK = "Marking the table"
    WARN = "Warning the consumers"
    SEVERITY = "Notifying consumers of the changed severity"
    EVIDENCE = "Running the requested evidence"
    RUNBOOK = "Checking the table and the job for the diagnosis"
    RECOVERY = "The recovery"
    PUBLISH = "Offering the repair for publication"


_OF_TIME = frozenset({Work.APPROVAL, Work.REMINDERS})
"""Looks at nothing but record and clock, so it is asked for every few seconds."""


def due(incident: Incident, setup: TableSetup | None, now: datetime) -> list[Work]:
    """What is owed at this moment. Pure. `setup`: the table's; None: it is configured no more, and nobody is told."""
    owed: dict[Work, object] = {
        Work.APPROVAL: due_by_time(incident, now),
        Work.REMINDERS: due_reminders(incident, setup, now),
        Work.UNFREEZE: incident.is_frozen and not incident.is_open,
        Work.TAGS: expired_savepoints(incident, now),
        Work.LATE_READERS: may_be_read_late(incident, now),
    }
    if incident.is_open:
        views, rehearsal = incident.proposals.values(), proven_rehearsal(incident)
        owed |= {
            Work.CHECK: any(view.state in UNDECIDED for view in views),
            Work.MARK: incident.waterline is None and doubted_since(incident) is not None,
            Work.WARN: setup is not None and is_warning_due(incident, setup, now),
            Work.SEVERITY: setup is not None and is_severity_update_due(incident, setup),
            Work.EVIDENCE: any(run.is_running for run in incident.runs.values()),
            Work.RUNBOOK: True,
            Work.RECOVERY: incident.waterline is not None or any(view.execution_started_at for view in views),
            Work.PUBLISH: rehearsal is not None and not offered_before(incident, rehearsal),
        }
    return [work for work, is_due in owed.items() if is_due]


@dataclass(eq=False)
class Reconciler:
    """Does in the background what is due."""

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
    _late_readers: LateReaders
    _setups: Mapping[TableName, TableSetup]
    _clock: Clock

    def __post_init__(self) -> None:
        self._does: dict[Work, Callable[[IncidentId], None]] = {
            Work.APPROVAL: self._approvals.expire_due,
            Work.REMINDERS: self._remind,
            Work.UNFREEZE: self._maintenance.unfreeze_closed,
            Work.TAGS: self._tags.release,
            Work.LATE_READERS: self._late_readers.look_in_turn,
            Work.CHECK: self._proposals.supersede_if_moved,
            Work.MARK: self._waterline.under_review,
            Work.WARN: partial(self._tell_if, "warning", Work.WARN),
            Work.SEVERITY: partial(self._tell_if, "update", Work.SEVERITY),
            Work.EVIDENCE: self._resume_evidence,
            Work.RUNBOOK: self._look_and_go_on,
            Work.RECOVERY: self._recover,
            Work.PUBLISH: self._offer_publication,
        }

    def reconcile(self, incident_id: IncidentId) -> None:
        """All that is due of it now."""
        self._submit(self._store.get(incident_id))

    def reconcile_due(self) -> None:
        """What time alone has made due."""
        for incident in self._store.all():
            self._submit(incident, _OF_TIME)

    def reconcile_all(self) -> None:
        """At start and now and then: also of closed incidents."""
        for incident in self._store.all():
            self._submit(incident)

    def _submit(self, incident: Incident, among: Collection[Work] = tuple(Work)) -> None:
        for work in due(incident, self._setups.get(incident.opened.table), self._clock.now()):
            if work in among:
                self._begin(incident.id, work)

    def _begin(self, incident_id: IncidentId, work: Work) -> None:
        self._background.submit(incident_id, work, partial(self._do, work, incident_id))

    def _do(self, work: Work, incident_id: IncidentId) -> None:
        """Unless it has been done since it was asked for."""
        if self._owes(work, self._store.get(incident_id)):
            self._does[work](incident_id)

    def _owes(self, work: Work, incident: Incident) -> bool:
        return work in due(incident, self._setups.get(incident.opened.table), self._clock.now())

    def walk_on(self, incident_id: IncidentId) -> None:
        """A step has ended, or a diagnosis is asked for, or evidence may go on."""
        self._background.submit(incident_id, Work.RUNBOOK, partial(self._go_on_with_runbook, incident_id))

    def _go_on_with_runbook(self, incident_id: IncidentId) -> None:
        """What the runbook asks for and no person has to do: the diagnosis that is owed, and its evidence."""
        self._diagnoses.diagnose_due(incident_id)
        self._evidence.run_due(incident_id)

    def _look_and_go_on(self, incident_id: IncidentId) -> None:
        """The same after a first look, which is taken once. An execution in a terminal takes none: it asks for nothing
        but what it has begun."""
        incident = self._store.get(incident_id)
        if not incident.is_stopped and not any(run.is_first_look for run in incident.runs.values()):
            self._evidence.look_first(incident_id)
        self._go_on_with_runbook(incident_id)

    def recover(self, incident_id: IncidentId, then: Callable[[], None]) -> None:
        """Soon carry on what was begun and prove it, and nothing else that is owed; `then` says that it was looked."""

        def do() -> None:
            try:
                self._recover(incident_id)
            finally:
                then()

        self._background.submit(incident_id, Work.RECOVERY, do)

    def verify_again(self, incident_id: IncidentId, proposal_id: ProposalId, *, by: UserId) -> None:
        """A responder asks for the proof anew; it is owed from now on. Raises Refused."""
        self._verifier.request(incident_id, proposal_id, by=by)
        self._begin(incident_id, Work.RECOVERY)

    def _remind(self, incident_id: IncidentId) -> None:
        """Once across replicas, late rather than never: the journal takes each reminder once."""

        def decide(now: Incident) -> list[Body]:
            return due_reminders(now, self._setups.get(now.opened.table), self._clock.now())

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _tell_if(self, kind: str, work: Work, incident_id: IncidentId) -> None:
        """Looked at once more after rendering: that takes seconds, and a person or another replica may be first."""
        preview, is_owed = self._telling.preview(incident_id, kind), partial(self._owes, work)
        self._telling.send(incident_id, preview, by=WATERLINE, step=None, if_still=is_owed)

    def _resume_evidence(self, incident_id: IncidentId) -> None:
        for run in list(self._store.get(incident_id).runs.values()):
            if run.is_running:
                self._evidence.resume(incident_id, run.run)

    def _recover(self, incident_id: IncidentId) -> None:
        """All of a recovery, which alone moves the mark. Also put back what somebody took off the table: beside a
        recovery that would put back what it is just taking away. And tell whether a request has landed late."""
        self._execute_and_prove(incident_id)
        self._executions.look_back(incident_id)
        self._waterline.keep(incident_id)

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

    def _offer_publication(self, incident_id: IncidentId) -> None:
        """A repair that is proven on its branch is proposed for publication by itself, once: the job stands still."""
        view = proven_rehearsal(self._store.get(incident_id))
        if view is not None:
            self._proposals.propose(incident_id, PUBLISH, step=view.step, by=view.proposal.proposed_by)

    def _trust_the_healthy(self, incident_id: IncidentId) -> None:
        """Consumers were told that nothing is wrong: then the mark says so, too."""
        incident = self._store.get(incident_id)
        told = any(view.notice.kind == NO_ACTION for view in incident.notices.values())
        decisive = incident.diagnosis.decisive if incident.diagnosis else None
        if not told or decisive is None or incident.waterline is None or incident.waterline.status == "trusted":
            return
        _mode, match = decisive
        if match.remedy is Remedy.NOTHING and match.last_good is not None and due_waterline(incident) is None:
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
