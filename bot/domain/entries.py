"""What the journal can say: one record a kind, tagged, so that the stored record reads like a document.

What the journal says of a diagnosis that somebody asked for.
"""

from typing import Annotated, Literal

from pydantic import Field

from bot.domain.approval_entries import ApprovalEntry as ApprovalEntry
from bot.domain.approval_entries import ApprovalReminded as ApprovalReminded
from bot.domain.approval_entries import GlassBroken as GlassBroken
from bot.domain.approval_entries import OutcomeSettled as OutcomeSettled
from bot.domain.approval_entries import ProposalApproved as ProposalApproved
from bot.domain.approval_entries import ProposalEnded as ProposalEnded
from bot.domain.approval_entries import VetoTimeEnded as VetoTimeEnded
from bot.domain.diagnosis import Diagnosis
from bot.domain.evidence import Evidence
from bot.domain.execution_entries import Check as Check
from bot.domain.execution_entries import EffectEnded as EffectEnded
from bot.domain.execution_entries import EffectStarted as EffectStarted
from bot.domain.execution_entries import ExecutionEnded as ExecutionEnded
from bot.domain.execution_entries import ExecutionStarted as ExecutionStarted
from bot.domain.execution_entries import VerificationRequested as VerificationRequested
from bot.domain.execution_entries import Verified as Verified
from bot.domain.ids import EvidenceId, Severity, SnapshotId, StepId, TableName, UserId
from bot.domain.notice import Notice, sending_key
from bot.domain.notice_entries import CorrectionDeclined as CorrectionDeclined
from bot.domain.notice_entries import DeliveryDelayed as DeliveryDelayed
from bot.domain.notice_entries import DeliveryTried as DeliveryTried
from bot.domain.notice_entries import LateRunsSeen as LateRunsSeen
from bot.domain.notice_entries import NoticeAnswered as NoticeAnswered
from bot.domain.notice_entries import NoticeEnded as NoticeEnded
from bot.domain.notice_entries import NoticeEntry as NoticeEntry
from bot.domain.notice_entries import NoticeQueued as NoticeQueued
from bot.domain.notice_entries import NoticeRetried as NoticeRetried
from bot.domain.notice_entries import NoticesHeld as NoticesHeld
from bot.domain.notice_entries import ReadersNoted as ReadersNoted
from bot.domain.notice_entries import SeverityChanged as SeverityChanged
from bot.domain.promise_entries import PromiseReminded as PromiseReminded
from bot.domain.proposal import Proposal
from bot.domain.record import Record, Utc
from bot.domain.review_entries import Finding as Finding
from bot.domain.review_entries import FindingAssigned as FindingAssigned
from bot.domain.review_entries import FindingSettled as FindingSettled
from bot.domain.review_entries import ReviewOpened as ReviewOpened
from bot.domain.runbook import Runbook
from bot.domain.savepoint_entries import RestoreExplained as RestoreExplained
from bot.domain.savepoint_entries import SavepointEntry as SavepointEntry
from bot.domain.savepoint_entries import SavepointPlanned as SavepointPlanned
from bot.domain.savepoint_entries import SavepointReleased as SavepointReleased
from bot.domain.savepoint_entries import SavepointReleasing as SavepointReleasing
from bot.domain.table import Window


class DiagnosisRequested(Record):
    """Intent: the world is about to be looked at anew. Without an end after a restart it is looked at then."""

    kind: Literal["diagnosis-requested"] = "diagnosis-requested"


class DiagnosisEnded(Record):
    """The request has its answer; a new diagnosis is an entry of its own, before this one."""

    kind: Literal["diagnosis-ended"] = "diagnosis-ended"
    how: Literal["new", "same", "failed"]
    message: str = ""
    """Why it failed."""


DiagnosisEntry = DiagnosisRequested | DiagnosisEnded


class IncidentOpened(Record):
    """Always the first entry."""

    kind: Literal["incident-opened"] = "incident-opened"
    table: TableName
    job: str | None
    runbook: Runbook
    severity: Severity
    channel: str
    window: Window
    trusted: SnapshotId | None
    """The newest snapshot believed good when the incident opened; consumers are pinned to it."""
    metadata_location: str
    summary: str
    private: bool = False
    """Only people who were invited to its channel may know of it; nobody else is told unless a responder asks."""


class ResponderAssigned(Record):
    kind: Literal["responder-assigned"] = "responder-assigned"
    user: UserId
    note: str = ""
    """What whoever assigned them wants them to know."""


class NoteAdded(Record):
    kind: Literal["note-added"] = "note-added"
    text: str


class EvidenceRequested(Record):
    """Intent: a task is about to run. Without an end after a restart it is run again."""

    kind: Literal["evidence-requested"] = "evidence-requested"
    run: EvidenceId
    task: str
    step: StepId | None
    first_look: bool = False
    """Whether the bot asks of its own accord, before anybody does: told together in one message."""
    branch: str | None = None
    """The branch of a rehearsal that is looked at; None: main."""


class EvidenceRecorded(Record):
    kind: Literal["evidence-recorded"] = "evidence-recorded"
    run: EvidenceId
    evidence: Evidence


class EvidenceRunAgain(Record):
    """The engine ended under the run, which is begun again by itself; at most once a run."""

    kind: Literal["evidence-run-again"] = "evidence-run-again"
    run: EvidenceId
    message: str
    """How the engine ended."""


class EvidenceEnded(Record):
    """The run ended without an answer."""

    kind: Literal["evidence-ended"] = "evidence-ended"
    run: EvidenceId
    how: Literal["failed", "cancelled"]
    message: str


class Diagnosed(Record):
    kind: Literal["diagnosed"] = "diagnosed"
    diagnosis: Diagnosis
    sees_job_run: bool = Field(default=False, exclude_if=lambda told: not told)
    """Whether Flink showed a run of the table's job that was not at its end; False also where nobody noted it."""


class StepDone(Record):
    kind: Literal["step-done"] = "step-done"
    step: StepId
    key: str
    why: str


class StepSkipped(Record):
    kind: Literal["step-skipped"] = "step-skipped"
    step: StepId
    key: str
    reason: str


class ProposalMade(Record):
    kind: Literal["proposal-made"] = "proposal-made"
    step: StepId | None
    proposal: Proposal


class WaterlineMoved(Record):
    """The tag `waterline` and the property `waterline.status` were moved by one commit."""

    kind: Literal["waterline-moved"] = "waterline-moved"
    snapshot: SnapshotId | None
    """None: no snapshot is known to be good; the table is marked as under review, without a tag."""
    status: Literal["under-review", "trusted"]


class MaintenanceMarked(Record):
    """Expiry and orphan removal were stopped for the table, or allowed again, beside any proposal.

    `freezing` comes before the commit: whatever becomes of it, the thaw is owed from then on.
    `resuming`: a compaction that was paused could not be let go on; that is owed until `resumed`.
    """

    kind: Literal["maintenance-marked"] = "maintenance-marked"
    status: Literal["freezing", "frozen", "thawed", "resuming", "resumed"]
    sentence: str
    until: Utc | None = None
    """Of a freeze: when whoever asked for it expects that it can end; None: nobody said."""


class NoticesPreviewed(Record):
    """A person was shown what each consumer would be sent: exactly this is sent if they agree, by any replica."""

    kind: Literal["notices-previewed"] = "notices-previewed"
    name: str
    """Follows from the notices: the same preview has the same name."""
    notices: tuple[Notice, ...]


class IncidentClosed(Record):
    kind: Literal["incident-closed"] = "incident-closed"
    reason: str


Body = Annotated[
    IncidentOpened | ResponderAssigned | NoteAdded | EvidenceRequested | EvidenceRecorded | EvidenceEnded
    | EvidenceRunAgain
    | DiagnosisEntry | Diagnosed | StepDone | StepSkipped | ProposalMade | ProposalApproved | GlassBroken
    | VetoTimeEnded | ApprovalReminded | ProposalEnded | OutcomeSettled
    | ExecutionStarted | EffectStarted | EffectEnded | ExecutionEnded | VerificationRequested | Verified
    | WaterlineMoved
    | MaintenanceMarked
    | PromiseReminded
    | NoticesPreviewed | NoticeEntry | ReviewOpened | FindingAssigned
    | FindingSettled | SavepointEntry | IncidentClosed,
    Field(discriminator="kind"),
]  # fmt: skip


def once_key(incident_id: str, body: Body) -> str | None:
    """The key under which an entry may exist only once, ever; None where repeats are fine."""
    match body:
        case ExecutionStarted():
            return f"execution/{body.proposal}"
        case EvidenceRunAgain():
            return f"again/{body.run}"
        case NoticeQueued():
            return f"notice/{body.notice.key(incident_id)}"
        case DeliveryTried():
            return f"delivery/{sending_key(body.key, body.to)}/{body.number}"
        case NoticeRetried():
            return f"retry/{sending_key(body.key, body.to)}/{body.number}"
        case _:
            return None
