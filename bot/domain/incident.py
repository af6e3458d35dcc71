"""An incident is a fold over its journal entries: state, audit trail and review are one table.

Where an incident is shown: a private one in its own channel only.

Which evidence a proposal cites, for whoever approves it.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from bot.domain.delivery_status import NoticeView as NoticeView
from bot.domain.diagnosis import Diagnosis, PlannedChange
from bot.domain.effects import StopFork
from bot.domain.entries import (
    EvidenceEnded,
    EvidenceRecorded,
    EvidenceRequested,
    Finding,
    FindingAssigned,
    FindingSettled,
    IncidentOpened,
    ReadersNoted,
    Verified,
    WaterlineMoved,
)
from bot.domain.errors import Refused, UnknownIncident
from bot.domain.evidence import Evidence, Task
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.findings import RecoveryDeadline, RecoveryExtentFinding
from bot.domain.ids import EvidenceId, IncidentId, JobId, ProposalId, Severity, SnapshotId, StepId, UserId
from bot.domain.journal import Entry
from bot.domain.notice import Notice
from bot.domain.notice_fold import HeldView
from bot.domain.proposal import Proposal
from bot.domain.runbook import Runbook, StepOutcome
from bot.domain.savepoint_entries import SavepointPlanned
from bot.domain.table import Window


@dataclass
class EvidenceRun:
    """One asked-for run of a task and how it went."""

    run: EvidenceId
    task: str
    step: StepId | None
    requested_at: datetime
    by: str
    is_first_look: bool = False
    branch: str | None = None
    """The branch of a rehearsal that is looked at; None: main."""
    evidence: Evidence | None = None
    ended: EvidenceEnded | None = None
    is_again: bool = False
    """Whether the engine ended under it and it was begun again by itself."""

    @property
    def is_running(self) -> bool:
        """Whether it was asked for and has neither answer nor end."""
        return self.evidence is None and self.ended is None


@dataclass
class Incident:
    """The present state of one incident; built only by `fold`."""

    id: IncidentId
    seq: int
    opened: IncidentOpened
    opened_by: str
    opened_at: datetime
    window: Window
    metadata_location: str
    runbook: Runbook
    """The one that is walked: as opened, or the one that people changed to."""
    entries: list[Entry] = field(default_factory=list)
    responder: UserId | None = None
    runs: dict[EvidenceId, EvidenceRun] = field(default_factory=dict)
    """In the order in which they were asked for."""
    is_stopped: bool = False
    """Whether the runbook's evidence waits until a person lets it run."""
    runs_before: frozenset[EvidenceId] = frozenset()
    """Runs from before a person let the evidence go on: their failures count no more."""
    diagnosis: Diagnosis | None = None
    deadline: RecoveryDeadline | None = None
    """As of the newest diagnosis."""
    diagnosis_asked: int | None = None
    """seq of the request that has no answer yet."""
    planned: dict[str, PlannedChange] = field(default_factory=dict)
    """Code of a mode -> what people have declared as its planned cause."""
    outcomes: dict[StepId, StepOutcome] = field(default_factory=dict)
    proposals: dict[ProposalId, ProposalView] = field(default_factory=dict)
    previews: dict[str, tuple[Notice, ...]] = field(default_factory=dict)
    """Name -> what was shown under it and is sent if its form is submitted."""
    previewed_at: dict[str, datetime] = field(default_factory=dict)
    """Name -> when its texts were made: what they promise counts from then."""
    held: dict[str, HeldView] = field(default_factory=dict)
    """Name of a preview -> its approval, where a policy asks for one."""
    notices: dict[str, NoticeView] = field(default_factory=dict)
    readers: ReadersNoted | None = None
    """Who was seen reading when consumers were told last."""
    late_runs: dict[str, frozenset[str]] = field(default_factory=dict)
    """Consumer -> its runs that were seen late, have read wrong rows, and were not named in any notice."""
    declined_runs: dict[str, frozenset[str]] = field(default_factory=dict)
    """Consumer -> runs of that kind for which a person has said that no correction is needed."""
    declined_at: dict[str, int] = field(default_factory=dict)
    """Consumer -> the newest entry by which a person has said that no correction is needed."""
    severity_now: Severity | None = None
    waterline: WaterlineMoved | None = None
    verified: Verified | None = None
    is_frozen: bool = False
    """Whether maintenance of the table waits for the end of this incident."""
    frozen_at: datetime | None = None
    """Since when it does."""
    frozen_until: datetime | None = None
    """When whoever froze it expects that it can go on; None: nobody said."""
    review: tuple[Finding, ...] | None = None
    snippet: str | None = None
    assigned: dict[tuple[str, str], FindingAssigned] = field(default_factory=dict)
    """(contract, term) -> who mends it until when, as people have said."""
    settled: dict[tuple[str, str], FindingSettled] = field(default_factory=dict)
    plan: SavepointPlanned | None = None
    """Of a planned savepoint, the newest."""
    releasing: set[ProposalId] = field(default_factory=set)
    """Whose savepoint's tag Waterline began to remove."""
    released: set[ProposalId] = field(default_factory=set)
    """Whose savepoint's tag is gone."""
    closed_at: datetime | None = None
    closed_by: str | None = None
    closed_reason: str | None = None

    def no_earlier(self, now: datetime) -> datetime:
        """`now` by somebody's clock, or the time of the newest entry if that is later: clocks of replicas differ, and
        what is in the record has happened."""
        return max(now, self.entries[-1].at)

    @property
    def is_open(self) -> bool:
        """Whether anything can still be asked of it."""
        return self.closed_at is None

    @property
    def severity(self) -> Severity:
        return self.severity_now or self.opened.severity

    @property
    def is_private(self) -> bool:
        """Whether only people in its channel may know of it."""
        return self.opened.private

    @property
    def trusted(self) -> SnapshotId | None:
        """The snapshot that consumers can rely on now: where the waterline stands, else where it opened."""
        return self.waterline.snapshot if self.waterline else self.opened.trusted

    @property
    def deadline_now(self) -> RecoveryDeadline | None:
        """As of the newest diagnosis; before any, of the evidence. None also once the table is proven."""
        extent = self.latest.get("recovery_extent")
        finding = extent.evidence.finding if extent is not None and extent.evidence is not None else None
        is_proven = self.waterline is not None and self.waterline.status == "trusted"
        if is_proven or self.diagnosis is not None or not isinstance(finding, RecoveryExtentFinding):
            return None if is_proven else self.deadline
        return finding.deadline

    @property
    def believed_good(self) -> SnapshotId | None:
        """The newest snapshot before the fault, as far as is known now: where the table came under review last, else
        where it opened. What was proven in between is none: it stands on the fault, or repairs it. None also where
        none was known at opening: nothing that is found later makes one good."""
        good, proven = self.opened.trusted, set[SnapshotId | None]()
        for entry in self.entries if good is not None else ():
            match entry.body:
                case WaterlineMoved(status="trusted", snapshot=snapshot):
                    proven.add(snapshot)
                case WaterlineMoved(snapshot=snapshot) if snapshot not in proven:
                    good = snapshot
        return good

    @property
    def latest(self) -> dict[str, EvidenceRun]:
        """Task name -> its newest answered run on main."""
        return {run.task: run for run in self.runs.values() if run.evidence is not None and run.branch is None}

    def latest_run_of(self, step: StepId) -> EvidenceRun | None:
        """The newest run asked for by a step, answered or not."""
        return next((run for run in reversed(self.runs.values()) if run.step == step), None)

    @property
    def kept_run(self) -> JobId | None:
        """The run that people chose to keep, of two that write: by the newest such proposal that was not turned down.
        Who chose it has proposed it."""
        for view in reversed(self.proposals.values()):
            if view.state not in {ProposalState.REJECTED, ProposalState.VETOED}:
                for effect in view.proposal.effects:
                    if isinstance(effect, StopFork):
                        return effect.keeps
        return None

    @property
    def current_proposal(self) -> ProposalView | None:
        """The newest proposal, whatever its state."""
        return next(reversed(self.proposals.values()), None)


def requested(run: EvidenceRequested, entry: Entry) -> EvidenceRun:
    return EvidenceRun(
        run=run.run, task=run.task, step=run.step, requested_at=entry.at, by=entry.by, is_first_look=run.first_look,
        branch=run.branch,
    )  # fmt: skip


def answered(run: EvidenceRun, body: EvidenceRecorded) -> None:
    run.evidence = body.evidence


def shown_in(incident: Incident, channel: str) -> bool:
    """Whether people in this channel may know of the incident; an empty one is a place of which nobody knows who
    reads it."""
    return not incident.is_private or incident.opened.channel == channel


def unknown(incident_id: IncidentId) -> UnknownIncident:
    """What is said of an incident that is not there, and of a private one elsewhere: the same."""
    return UnknownIncident(
        f"There is no incident {incident_id}.",
        "Expected the id of an incident, for example wl-1.",
        "/waterline status lists the open ones.",
    )


def already_open(incident: Incident) -> Refused:
    """A table has one open incident at a time. Of a private one neither id nor channel is told."""
    table = incident.opened.table
    if incident.is_private:
        return Refused(
            f"An incident is open on {table} already.",
            "It is private: only people in its channel can see it.",
            "If you work on this table, ask its owners to invite you.",
        )
    return Refused(
        f"Incident {incident.id} is open on {table} already.",
        f"It was opened at {incident.opened_at:%H:%M} UTC in <#{incident.opened.channel}>.",
        "Continue there.",
    )


def cited(proposal: Proposal, runs: Mapping[EvidenceId, EvidenceRun], tasks: Mapping[str, Task]) -> tuple[str, ...]:
    """`Restore points (confirmed)`, one an evidence, in the order in which it is cited; its id where it is not known,
    and its task's name where this version has none of that name."""
    return tuple(_one(each, runs.get(each), tasks) for each in proposal.evidence)


def _one(evidence: EvidenceId, run: EvidenceRun | None, tasks: Mapping[str, Task]) -> str:
    if run is None or run.evidence is None:
        return evidence
    title = tasks[run.task].title if run.task in tasks else run.task
    return f"{title} ({run.evidence.verdict.value.replace('-', ' ')})"
