"""An incident is a fold over its journal entries: state, audit trail and review are one table.

`fold` is the only place that knows what each kind of entry does to the state.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import assert_never

from bot.history.case import PlannedChange
from bot.incident import entries as e
from bot.incident.delivery import HeldView, apply_notice
from bot.incident.delivery import NoticeView as NoticeView
from bot.incident.diagnosis import Diagnosis
from bot.incident.effects import SavepointPlanned, StopFork
from bot.incident.entries import (
    EvidenceEnded,
    Finding,
    FindingAssigned,
    FindingSettled,
    IncidentOpened,
    ReadersNoted,
    Verified,
    WaterlineMoved,
)
from bot.incident.execution import UNFINISHED, ProposalState, ProposalView
from bot.incident.journal import Entry
from bot.incident.notice import Notice
from bot.incident.proposal import Proposal
from bot.incident.runbook import Runbook, StepOutcome
from bot.observation.errors import Refused, UnknownIncident
from bot.observation.evidence import Evidence, Task
from bot.observation.findings import RecoveryDeadline, RecoveryExtentFinding
from bot.observation.ids import EvidenceId, IncidentId, JobId, ProposalId, Severity, SnapshotId, StepId, UserId
from bot.observation.table import Window


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
    def unfinished(self) -> ProposalView | None:
        """The proposal that is undecided, or under way; None: there is none."""
        return next((view for view in self.proposals.values() if view.state in UNFINISHED), None)

    def proposal(self, proposal: ProposalId) -> ProposalView:
        """Raises Refused where it has none of this id."""
        if proposal not in self.proposals:
            raise Refused("This proposal is not part of the incident.", "", "Look at the newest message.")
        return self.proposals[proposal]

    @property
    def current_proposal(self) -> ProposalView | None:
        """The newest proposal, whatever its state."""
        return next(reversed(self.proposals.values()), None)


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
    """`Restore points (OK)`, one an evidence, in the order in which it is cited; its id where it is not known,
    and its task's name where this version has none of that name."""
    return tuple(_one(each, runs.get(each), tasks) for each in proposal.evidence)


def _one(evidence: EvidenceId, run: EvidenceRun | None, tasks: Mapping[str, Task]) -> str:
    if run is None or run.evidence is None:
        return evidence
    task = tasks.get(run.task)
    return f"{task.title} ({task.word(run.evidence.verdict)})" if task is not None else run.task


def fold(entries: Iterable[Entry]) -> Incident:
    """The incident that these entries tell, by rising seq. ValueError if the first is not its opening."""
    incident: Incident | None = None
    for entry in entries:
        if incident is None:
            incident = _open(entry)
        else:
            _apply(incident, entry)
        incident.seq = entry.seq
        incident.entries.append(entry)
    if incident is None:
        raise ValueError("an incident has at least its opening entry")
    return incident


def _open(entry: Entry) -> Incident:
    if entry.body.kind != "incident-opened":
        raise ValueError(f"entry {entry.seq} of {entry.incident_id} is not an opening")
    return Incident(
        id=entry.incident_id,
        seq=entry.seq,
        opened=entry.body,
        opened_by=entry.by,
        opened_at=entry.at,
        window=entry.body.window,
        metadata_location=entry.body.metadata_location,
        runbook=entry.body.runbook,
    )


def _apply(incident: Incident, entry: Entry) -> None:  # noqa: C901 - one case a kind, nothing nested
    body = entry.body
    if isinstance(body, e.NoticeEntry):
        apply_notice(incident, entry, body)
        return
    match body:
        case e.IncidentOpened():
            raise ValueError(f"{entry.incident_id} is opened twice")
        case e.ResponderAssigned():
            incident.responder = body.user
        case e.NoteAdded() | e.PromiseReminded():
            pass
        case e.EvidenceRequested():
            incident.runs[body.run] = EvidenceRun(
                body.run, body.task, body.step, entry.at, entry.by, is_first_look=body.first_look, branch=body.branch
            )
        case e.EvidenceRecorded():
            incident.runs[body.run].evidence = body.evidence
        case e.EvidenceEnded():
            incident.runs[body.run].ended = body
        case e.EvidenceRunAgain():
            incident.runs[body.run].is_again = True
        case e.EvidenceStopped():
            incident.is_stopped = body.stopped
            incident.runs_before = incident.runs_before if body.stopped else frozenset(incident.runs)
        case e.RunbookChanged():
            incident.runbook = body.runbook
            asked = {step.id for step in body.runbook.steps if step.kind == "evidence"}
            incident.outcomes = {step: outcome for step, outcome in incident.outcomes.items() if step in asked}
        case e.DiagnosisRequested():
            incident.diagnosis_asked = entry.seq
        case e.DiagnosisEnded():
            incident.diagnosis_asked = None
        case e.Diagnosed():
            incident.diagnosis, incident.deadline = body.diagnosis, body.deadline
        case e.PlanDeclared():
            incident.planned[body.planned.code] = body.planned
        case e.PlanWithdrawn():
            incident.planned.pop(body.code, None)
        case e.StepDone():
            incident.outcomes[body.step] = StepOutcome(key=body.key, why=body.why, by=entry.by, at=entry.at)
        case e.StepSkipped():
            incident.outcomes[body.step] = StepOutcome(
                key=body.key, why=body.reason, by=entry.by, at=entry.at, skipped=True
            )
        case e.WaterlineMoved():
            incident.waterline = body
            if body.status != "trusted":
                incident.late_runs.clear()  # they are told anew what to do once it is proven again
        case e.MaintenanceMarked():
            _freeze(incident, entry, is_frozen=body.status != "unfrozen")
        case e.NoticesPreviewed():
            incident.previews[body.name] = body.notices
            incident.previewed_at[body.name] = entry.at
        case e.ReviewOpened():
            incident.review, incident.snippet = body.findings, body.snippet
        case e.FindingAssigned():
            incident.assigned[body.contract, body.term] = body
            incident.settled.pop((body.contract, body.term), None)
        case e.FindingSettled():
            incident.settled[body.contract, body.term] = body
        case e.SavepointPlanned():
            incident.plan = body
        case e.SavepointReleasing():
            incident.releasing.add(body.proposal)
        case e.SavepointReleased():
            incident.released.add(body.proposal)
        case e.IncidentClosed():
            incident.closed_at, incident.closed_by = entry.at, entry.by
            incident.closed_reason = body.reason
        case _:
            _apply_proposal(incident, entry, body)


def _apply_proposal(
    incident: Incident,
    entry: Entry,
    body: e.ProposalMade
    | e.ApprovalEntry
    | e.ExecutionStarted
    | e.EffectStarted
    | e.EffectEnded
    | e.ExecutionEnded
    | e.VerificationRequested
    | e.Verified,
) -> None:
    if isinstance(body, e.ProposalMade):
        incident.proposals[body.proposal.id] = ProposalView(proposal=body.proposal, step=body.step, gone=body.gone)
        return
    view = incident.proposals[body.proposal]
    match body:
        case e.ExecutionStarted():
            view.state = ProposalState.EXECUTING
            view.execution_started_at, view.executed_by = entry.at, entry.by
        case e.EffectStarted():
            _begun(view, body)
        case e.EffectEnded():
            view.done[body.index] = body
            if body.how == "done" and view.state is ProposalState.UNKNOWN:
                view.state, view.result = ProposalState.EXECUTING, None  # what was not known is known by now
            if body.how == "done" and view.proposal.effects[body.index].kind == "freeze-maintenance":
                _freeze(incident, entry, is_frozen=True)
        case e.ExecutionEnded():
            view.state = ProposalState(body.outcome)
            view.result = body
        case e.VerificationRequested() | e.Verified():
            _proven(incident, view, body)
        case _:
            _decided(view, entry, body)


def _proven(incident: Incident, view: ProposalView, body: e.VerificationRequested | e.Verified) -> None:
    view.is_proof_asked = isinstance(body, e.VerificationRequested)
    if isinstance(body, e.Verified):
        view.verified = body
        incident.verified = incident.verified if body.branch else body


def _begun(view: ProposalView, body: e.EffectStarted) -> None:
    """Of one that is begun anew it was known that it had not happened: nobody has to settle it while it is carried
    out."""
    view.started[body.index] = body
    view.intents[body.index] = view.intents.get(body.index, 0) + 1
    if view.state is ProposalState.UNKNOWN:
        view.state, view.result = ProposalState.EXECUTING, None
        view.done.pop(body.index, None)


def _decided(view: ProposalView, entry: Entry, body: e.ApprovalEntry) -> None:
    match body:
        case e.ProposalApproved():
            view.approvals.append(body.approval)
            if body.complete:
                view.held_until = body.held_until
                view.state = ProposalState.HELD if body.held_until else ProposalState.APPROVED
        case e.GlassBroken():
            view.glass, view.state, view.held_until = body, ProposalState.APPROVED, None
            if all(given.by != body.approval.by for given in view.approvals):
                view.approvals.append(body.approval)
        case e.VetoTimeEnded():
            view.state = ProposalState.APPROVED
        case e.ApprovalReminded():
            view.reminders, view.reminded_at = body.number, entry.at
        case e.OutcomeSettled():
            _settled(view, body)
        case e.ProposalEnded():
            view.state = ProposalState(body.how)
            view.ended, view.ended_by, view.ended_at = body, entry.by, entry.at
        case _:
            assert_never(body)


def _settled(view: ProposalView, body: e.OutcomeSettled) -> None:
    """It goes on after a step that happened. Of one that did not it stays unknown to the bot, who saw neither."""
    said = f"A person settled that it {'happened' if body.happened else 'did not happen'}: {body.reason}"
    view.settled.append(body)
    view.done[body.index] = e.EffectEnded(
        proposal=body.proposal, index=body.index, how="done" if body.happened else "unknown", detail=said
    )
    view.state = ProposalState.EXECUTING if body.happened else ProposalState.REFUSED


def _freeze(incident: Incident, entry: Entry, *, is_frozen: bool) -> None:
    """A second freeze goes on from the first."""
    incident.is_frozen = is_frozen
    incident.frozen_at = (incident.frozen_at or entry.at) if is_frozen else None
