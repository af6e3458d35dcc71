"""Entries -> incident. The only place that knows what each kind of entry does to the state."""

from collections.abc import Iterable
from typing import assert_never

from bot.domain import entries as e
from bot.domain.execution import ProposalState, ProposalView
from bot.domain.incident import Incident, answered, requested
from bot.domain.journal import Entry
from bot.domain.notice_fold import apply_notice
from bot.domain.runbook import StepOutcome


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
            incident.runs[body.run] = requested(body, entry)
        case e.EvidenceRecorded():
            answered(incident.runs[body.run], body)
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
            _mark_maintenance(incident, entry, body)
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


def _mark_maintenance(incident: Incident, entry: Entry, mark: e.MaintenanceMarked) -> None:
    match mark.status:
        case "freezing" | "frozen":
            _freeze(incident, entry, is_frozen=True)
            incident.frozen_until = mark.until or incident.frozen_until
        case "unfrozen":
            _freeze(incident, entry, is_frozen=False)
        case _:
            assert_never(mark.status)


def _freeze(incident: Incident, entry: Entry, *, is_frozen: bool) -> None:
    """A second freeze goes on from the first."""
    incident.is_frozen = is_frozen
    incident.frozen_at = (incident.frozen_at or entry.at) if is_frozen else None
    incident.frozen_until = incident.frozen_until if is_frozen else None
