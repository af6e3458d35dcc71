"""All use cases of one running Waterline, built by `bot.bootstrap` and handed to each surface."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.observation.evidence import Task
from bot.ports import Clock
from bot.service.background import Background
from bot.service.closing import Closing
from bot.service.diagnosing import Diagnostician
from bot.service.diagnosis_service import DiagnosisService
from bot.service.evidence_service import EvidenceService
from bot.service.examining import Examiner
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from bot.service.notices.dispatcher import Deliveries
from bot.service.notices.notifying import Answering, Telling
from bot.service.observing import Observer
from bot.service.opening import Opening
from bot.service.proposals.approving import Approvals
from bot.service.proposals.executing import Executions
from bot.service.proposals.proposing import Proposals
from bot.service.reconciler import Reconciler
from bot.service.record import Records
from bot.service.reviewing import Reviews
from bot.service.runbook_steps import RunbookSteps
from bot.service.savepoints import Savepoints
from bot.service.trust import TrustService
from bot.service.watching.finding_store import FindingStore
from bot.service.watching.watch import Watch


@dataclass(frozen=True)
class Services:
    clock: Clock
    store: IncidentStore
    observer: Observer
    opening: Opening
    evidence: EvidenceService
    diagnostician: Diagnostician
    diagnoses: DiagnosisService
    examiner: Examiner
    runbook_steps: RunbookSteps
    proposals: Proposals
    approvals: Approvals
    executions: Executions
    telling: Telling
    answering: Answering
    deliveries: Deliveries
    trust: TrustService
    maintenance: Maintenance
    reviews: Reviews
    savepoints: Savepoints
    closing: Closing
    reconciler: Reconciler
    background: Background
    tasks: Mapping[str, Task]
    records: Records
    finding_store: FindingStore | None = None
    """What was seen without an incident; None where nothing is watched."""
    watch: Watch | None = None
