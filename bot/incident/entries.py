"""What the journal can say: one record a kind, tagged, so that the stored record reads like a document."""

from typing import Annotated, Literal

from pydantic import Field

from bot.history.case import PlannedChange
from bot.incident.approval import Approval, Via, where
from bot.incident.diagnosis import Diagnosis
from bot.incident.effects import SavepointEntry as SavepointEntry
from bot.incident.effects import SavepointPlanned as SavepointPlanned
from bot.incident.effects import SavepointReleased as SavepointReleased
from bot.incident.effects import SavepointReleasing as SavepointReleasing
from bot.incident.notice import CorrectionDeclined as CorrectionDeclined
from bot.incident.notice import DeliveryDelayed as DeliveryDelayed
from bot.incident.notice import DeliveryTried as DeliveryTried
from bot.incident.notice import LateRunsSeen as LateRunsSeen
from bot.incident.notice import Notice, sending_key
from bot.incident.notice import NoticeAnswered as NoticeAnswered
from bot.incident.notice import NoticeEnded as NoticeEnded
from bot.incident.notice import NoticeEntry as NoticeEntry
from bot.incident.notice import NoticeQueued as NoticeQueued
from bot.incident.notice import NoticeRetried as NoticeRetried
from bot.incident.notice import NoticesHeld as NoticesHeld
from bot.incident.notice import ReadersNoted as ReadersNoted
from bot.incident.notice import SeverityChanged as SeverityChanged
from bot.incident.proposal import Proposal
from bot.incident.runbook import Runbook
from bot.observation.evidence import Evidence
from bot.observation.findings import Contract, RecoveryDeadline, Term
from bot.observation.ids import (
    CheckpointId,
    EvidenceId,
    JobId,
    ProposalId,
    Severity,
    SnapshotId,
    StepId,
    TableName,
    UserId,
)
from bot.observation.record import Record, Utc
from bot.observation.table import Window


class Finding(Term):
    owner: UserId | None = None
    """Who was to fix it when the review was opened; None: nobody has to."""
    due: Utc | None = None
    """Until when."""


class ReviewOpened(Record):
    kind: Literal["review-opened"] = "review-opened"
    findings: tuple[Finding, ...]
    snippet: str | None = None
    """YAML to add to the table's data contract; None: it has no file, or nothing is to be added."""


class FindingAssigned(Record):
    """Who fixes a term until when; the newest one counts."""

    kind: Literal["finding-assigned"] = "finding-assigned"
    contract: Contract
    term: str
    owner: UserId
    due: Utc


class FindingSettled(Record):
    """A term is fixed, or is accepted as it is, with what was done or why."""

    kind: Literal["finding-settled"] = "finding-settled"
    contract: Contract
    term: str
    how: Literal["fixed", "accepted"]
    reason: str


class ExecutionStarted(Record):
    """Unique per proposal in the database: the race of two executors is decided here."""

    kind: Literal["execution-started"] = "execution-started"
    proposal: ProposalId


class EffectStarted(Record):
    """Intent of one effect. `job_id` is the id that a job will be started under, chosen beforehand."""

    kind: Literal["effect-started"] = "effect-started"
    proposal: ProposalId
    index: int
    expected_head: SnapshotId | None = None
    job_id: JobId | None = None
    path: str | None = None
    """The restore point that was chosen right before acting."""
    checkpoint_id: CheckpointId | None = None
    """Of that restore point."""
    before: dict[str, SnapshotId] = {}
    """Tag that the effect is going to set or remove -> where it is; one that is not there is left out."""


class EffectEnded(Record):
    kind: Literal["effect-ended"] = "effect-ended"
    proposal: ProposalId
    index: int
    how: Literal["done", "refused", "unknown"]
    detail: str
    result: dict[str, str] = {}
    """What only the deed could tell: `savepoint`, `job_id`, `left`."""


class ExecutionEnded(Record):
    kind: Literal["execution-ended"] = "execution-ended"
    proposal: ProposalId
    outcome: Literal["applied", "refused", "unknown"]
    sentence: str


class VerificationRequested(Record):
    """Intent: a person asks for the proof anew, and is told what is there now. The next `Verified` answers it; until
    then it is owed, also after a restart."""

    kind: Literal["verification-requested"] = "verification-requested"
    proposal: ProposalId


class Check(Record):
    """One line of a verification: what was expected and what was found."""

    name: str
    passed: bool | None
    """None: could not look."""
    sentence: str
    was_before: bool = Field(default=False, exclude_if=lambda told: not told)
    """Whether it is passed though something was found, because main has that where the branch began, too: it stays to
    be mended."""


class Verified(Record):
    kind: Literal["verified"] = "verified"
    proposal: ProposalId
    passed: bool
    checks: tuple[Check, ...]
    evidence: tuple[EvidenceId, ...]
    head: SnapshotId
    """The newest snapshot that every proof has read, where it passed: what came after it is proven by nobody."""
    moves_waterline: Literal["trusted", "under-review", "no"] = "trusted"
    """What it says of the table if it passed; from the action's declaration, and nothing where a branch was proven."""
    branch: str | None = None
    """The branch of a rehearsal on which it was proven; `head` is of it. None: main."""

    @property
    def makes_trusted(self) -> bool:
        """Whether the table is trusted by it, at `head`: never where nothing was asked of the table's rows."""
        return self.passed and self.moves_waterline == "trusted" and self.branch is None and bool(self.evidence)


class ProposalApproved(Record):
    kind: Literal["proposal-approved"] = "proposal-approved"
    proposal: ProposalId
    approval: Approval
    complete: bool
    held_until: Utc | None = None
    """Set with the last approval where a veto may come: before then it cannot be carried out."""


class GlassBroken(Record):
    """One person approved alone, in an emergency. The channel mentions the owners; the review looks at it."""

    kind: Literal["glass-broken"] = "glass-broken"
    proposal: ProposalId
    approval: Approval
    reason: str
    owners: tuple[str, ...]


class VetoTimeEnded(Record):
    """Nobody stopped it while it was held: it can be carried out."""

    kind: Literal["veto-time-ended"] = "veto-time-ended"
    proposal: ProposalId


class ApprovalReminded(Record):
    """Nobody had decided, so people were asked again: the `number`-th time."""

    kind: Literal["approval-reminded"] = "approval-reminded"
    proposal: ProposalId
    number: int


class ProposalEnded(Record):
    """It can no longer be carried out: rejected or vetoed by a person, expired, or superseded by the world."""

    kind: Literal["proposal-ended"] = "proposal-ended"
    proposal: ProposalId
    how: Literal["rejected", "vetoed", "expired", "superseded"]
    reason: str
    via: Via | None = Field(default=None, exclude_if=lambda via: via is None)
    """Where a person decided it, as far as that is on record."""

    @property
    def where(self) -> str:
        """` in a terminal`, in words."""
        return where(self.via)


class OutcomeSettled(Record):
    """A person said whether a step of the execution happened, of which no source knew any more."""

    kind: Literal["outcome-settled"] = "outcome-settled"
    proposal: ProposalId
    index: int
    """Of the effect."""
    happened: bool
    """True: the execution goes on after it. False: it ends, and nothing is repeated."""
    reason: str
    by: UserId
    at: Utc
    via: Via = "slack"

    @property
    def where(self) -> str:
        """` in a terminal`, in words."""
        return where(self.via)


ApprovalEntry = ProposalApproved | GlassBroken | VetoTimeEnded | ApprovalReminded | ProposalEnded | OutcomeSettled
"""What tells how a proposal was decided."""


class PromiseReminded(Record):
    """The bot reminded of what is due. `moment` is when this reminder was owed, so it is given once."""

    kind: Literal["promise-reminded"] = "promise-reminded"
    what: Literal["next-update", "review", "unfreeze", "planned-end", "standing-job"]
    due: Utc
    moment: Utc
    people: tuple[UserId, ...]
    terms: tuple[str, ...] = ()
    """Of a review: the terms that are due."""


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


class RunbookChanged(Record):
    """The symptom was another one: the walk goes on in its runbook, with the evidence that both ask for."""

    kind: Literal["runbook-changed"] = "runbook-changed"
    runbook: Runbook


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


class EvidenceStopped(Record):
    """A person stops the evidence that the runbook runs by itself, or lets it go on: then what failed or was cancelled
    is run again, too."""

    kind: Literal["evidence-stopped"] = "evidence-stopped"
    stopped: bool


class Diagnosed(Record):
    kind: Literal["diagnosed"] = "diagnosed"
    diagnosis: Diagnosis
    sees_job_run: bool = Field(default=False, exclude_if=lambda told: not told)
    """Whether Flink showed a run of the table's job that was not at its end; False also where nobody noted it."""
    deadline: RecoveryDeadline | None = Field(default=None, exclude_if=lambda told: told is None)
    """Until when the table can be recovered, as of the same look; None: nothing is there that could go."""


class PlanDeclared(Record):
    """A person says that what a mode found was planned. The newest one for a mode counts."""

    kind: Literal["plan-declared"] = "plan-declared"
    planned: PlannedChange


class PlanWithdrawn(Record):
    kind: Literal["plan-withdrawn"] = "plan-withdrawn"
    code: str
    """Of the mode."""
    reason: str


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
    gone: str = ""
    """Of the approvers, who was deactivated or unknown in Slack then; sentences for people."""


class WaterlineMoved(Record):
    """The tag `waterline` and the property `waterline.status` were moved by one commit."""

    kind: Literal["waterline-moved"] = "waterline-moved"
    snapshot: SnapshotId | None
    """None: no snapshot is known to be good; the table is marked as under review, without a tag."""
    status: Literal["under-review", "trusted"]


class MaintenanceMarked(Record):
    """Expiry and orphan removal were stopped for the table, or allowed again, beside any proposal.

    `freezing` comes before the commit: whatever becomes of it, the unfreeze is owed from then on.
    """

    kind: Literal["maintenance-marked"] = "maintenance-marked"
    status: Literal["freezing", "frozen", "unfrozen"]
    sentence: str


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
    | EvidenceRunAgain | EvidenceStopped | RunbookChanged
    | DiagnosisEntry | Diagnosed | PlanDeclared | PlanWithdrawn
    | StepDone | StepSkipped | ProposalMade | ProposalApproved | GlassBroken
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
