"""All use cases of one running Waterline, built by `bot.bootstrap` and handed to each surface."""

from collections.abc import Mapping
from dataclasses import dataclass

from bot.domain.evidence import Task
from bot.ports import Clock
from bot.service.approving import Approvals
from bot.service.background import Background
from bot.service.closing import Closing
from bot.service.courier import Posting
from bot.service.diagnosing import Diagnostician
from bot.service.diagnosis_desk import DiagnosisDesk
from bot.service.duties import Duties
from bot.service.evidence_desk import EvidenceDesk
from bot.service.examining import Examiner
from bot.service.executing import Executions
from bot.service.incident_store import IncidentStore
from bot.service.maintenance import Maintenance
from bot.service.observing import Observer
from bot.service.opening import Opening
from bot.service.promises import Promises
from bot.service.proposing import Proposals
from bot.service.record import Records
from bot.service.retrying import Retrying
from bot.service.reviewing import Reviews
from bot.service.savepoints import Savepoints
from bot.service.sightings import Sightings
from bot.service.telling import Answering, Telling
from bot.service.trust import TrustDesk
from bot.service.verifying import Verifier
from bot.service.walking import Walker
from bot.service.watching import Watch
from bot.service.waterline import Waterline


@dataclass(frozen=True)
class Services:
    clock: Clock
    store: IncidentStore
    observer: Observer
    opening: Opening
    desk: EvidenceDesk
    diagnostician: Diagnostician
    diagnoses: DiagnosisDesk
    examiner: Examiner
    walker: Walker
    proposals: Proposals
    approvals: Approvals
    executions: Executions
    verifier: Verifier
    telling: Telling
    answering: Answering
    posting: Posting
    retrying: Retrying
    trust: TrustDesk
    waterline: Waterline
    maintenance: Maintenance
    reviews: Reviews
    savepoints: Savepoints
    closing: Closing
    promises: Promises
    duties: Duties
    background: Background
    tasks: Mapping[str, Task]
    records: Records
    sightings: Sightings | None = None
    """What was seen without an incident; None where nothing is watched."""
    watch: Watch | None = None
