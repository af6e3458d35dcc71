"""Moves an incident along its runbook: each step's outcome chooses the next, and says why."""

import threading
from collections import defaultdict
from collections.abc import Collection

from bot.domain.diagnosis import Diagnosis
from bot.domain.entries import Body, Diagnosed, NoteAdded, ResponderAssigned, StepDone, StepSkipped
from bot.domain.errors import Refused
from bot.domain.execution import ProposalState
from bot.domain.ids import IncidentId, StepId, UserId
from bot.domain.incident import EvidenceRun, Incident
from bot.domain.journal import WATERLINE
from bot.domain.runbook import (
    ASKED_FOR,
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    ReviewStep,
    Step,
)
from bot.runbook.walk import Walk, walk
from bot.service.diagnosing import Diagnostician
from bot.service.incident_store import IncidentStore, must_be_open


def walk_of(incident: Incident) -> Walk:
    """Where the incident stands in its own copy of the runbook."""
    return walk(incident.opened.runbook, incident.outcomes)


class Walker:
    """What people and evidence do to the walk."""

    def __init__(self, store: IncidentStore, diagnostician: Diagnostician, actions: Collection[str]) -> None:
        """`actions`: the names of those that can be proposed."""
        self._store = store
        self._diagnostician = diagnostician
        self._actions = frozenset(actions)
        self._lock = threading.Lock()
        self._diagnosing: defaultdict[IncidentId, threading.RLock] = defaultdict(threading.RLock)

    def evidence_answered(self, incident_id: IncidentId, run: EvidenceRun) -> None:
        """A step's evidence has its answer: the step is done, and what can follow by itself follows."""
        evidence = run.evidence
        if run.step is None or evidence is None:
            return
        step = run.step
        self._store.write(
            incident_id,
            by=WATERLINE,
            decide=lambda _i: [StepDone(step=step, key=evidence.verdict.value, why=evidence.headline)],
        )
        self.follow(incident_id)

    def follow(self, incident_id: IncidentId) -> None:
        """Take the steps that need nobody: a decision on the diagnosis. One diagnosis of an incident at a time."""
        with self._alone(incident_id):
            incident = self._store.get(incident_id)
            current = current_step(incident)
            if not isinstance(current, DecisionStep) or current.on == "choice" or not incident.is_open:
                return
            self._decide(incident_id, current)

    def _decide(self, incident_id: IncidentId, step: DecisionStep) -> None:
        """Diagnose, and take the step by it; not under a proposal whose execution began meanwhile."""
        key, why = outcome_of(self._diagnostician.diagnose(incident_id), step)

        def decide(incident: Incident) -> list[Body]:
            is_known = (known := incident.outcomes.get(step.id)) is not None and (known.key, known.why) == (key, why)
            return [] if is_known or _moving(incident) else [StepDone(step=step.id, key=key, why=why)]

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        self._store.write(incident_id, by=WATERLINE, decide=self._pass_over)

    def _pass_over(self, incident: Incident) -> list[Body]:
        """A step that proposes what the diagnosis asks for is done at once where there is no action for it."""
        current = current_step(incident)
        decisive = incident.diagnosis.decisive if incident.diagnosis else None
        if not isinstance(current, ActionStep) or current.action != ASKED_FOR or decisive is None:
            return []
        remedy = decisive[1].remedy
        why = f"Waterline has no button for “{remedy.words}”"
        known = remedy.value.replace("-", "_") in self._actions
        return [] if known else [StepDone(step=current.id, key=NOT_POSSIBLE, why=why)]

    def _alone(self, incident_id: IncidentId) -> threading.RLock:
        with self._lock:
            return self._diagnosing[incident_id]

    def diagnose_again(self, incident_id: IncidentId) -> None:
        """Diagnose now; the walk's diagnosis step is taken, or taken anew, if the walk has come to it.

        Who asks while a diagnosis is being made gets that one: a second, later one would take the step anew under a
        proposal that rests on the first. Raises Refused while a proposal is being carried out, for the world that
        would be diagnosed is half moved.
        """
        asked = self._store.get(incident_id).seq
        with self._alone(incident_id):
            incident = self._store.get(incident_id)
            must_be_open(incident)
            if not any(_is_decided_by(entry.body, incident) for entry in incident.entries[asked:]):
                _must_stand_still(incident)
                self._diagnose_anew(incident_id, incident)

    def _diagnose_anew(self, incident_id: IncidentId, incident: Incident) -> None:
        walk = walk_of(incident)
        reached = {passed.step for passed in walk.passed} | {walk.current}
        step = next(
            (
                s
                for s in incident.opened.runbook.steps
                if isinstance(s, DecisionStep) and s.on != "choice" and s.id in reached
            ),
            None,
        )
        if step is not None:
            self._decide(incident_id, step)
        else:
            self._diagnostician.diagnose(incident_id)

    def finish(self, incident_id: IncidentId, step: StepId, *, key: str, why: str, by: str) -> None:
        """Record a step's outcome; the same outcome twice is recorded once."""

        def decide(incident: Incident) -> list[Body]:
            known = incident.outcomes.get(step)
            if known is not None and known.key == key and known.why == why:
                return []
            return [StepDone(step=step, key=key, why=why)]

        self._store.write(incident_id, by=by, decide=decide)

    def choose(self, incident_id: IncidentId, step_id: StepId, key: str, *, by: UserId) -> None:
        """A person answers a decision or says that a manual step is done. Raises Refused when it is not its turn."""

        def decide(incident: Incident) -> list[Body]:
            step = _current(incident, step_id)
            if isinstance(step, DecisionStep):
                labels = {choice.key: choice.label for choice in step.choices}
                if key not in labels:
                    raise Refused("This answer is not one of the step's choices.", "", "Use the card's buttons.")
                return [StepDone(step=step_id, key=key, why=f"answered: {labels[key]}")]
            if isinstance(step, ManualStep):
                return [StepDone(step=step_id, key="done", why="done by hand")]
            raise Refused("This step is not answered by a person.", "", "Use the card's buttons.")

        self._store.write(incident_id, by=by, decide=decide)
        self.follow(incident_id)

    def skip(self, incident_id: IncidentId, step_id: StepId, reason: str, *, by: UserId) -> None:
        """Pass over a step, with a reason. A step that needs approval cannot be skipped."""

        def decide(incident: Incident) -> list[Body]:
            step = _current(incident, step_id)
            if isinstance(step, ActionStep):
                raise Refused(
                    f"“{step.title}” cannot be skipped: it needs approval.",
                    "",
                    "Propose it and have it rejected with a reason, or close the incident with one.",
                )
            if not reason.strip():
                raise Refused("A step is skipped only with a reason.", "", "Say in a sentence why it is not needed.")
            return [StepSkipped(step=step_id, key=key_when_skipped(step), reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)
        self.follow(incident_id)

    def note(self, incident_id: IncidentId, text: str, *, by: UserId) -> None:
        """Put a remark into the timeline."""
        if not text.strip():
            raise Refused("A note needs words.", "", "Write them after the command: /waterline note TEXT.")

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            return [NoteAdded(text=text.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def assign(self, incident_id: IncidentId, user: UserId, *, by: UserId) -> None:
        """Make `user` the responder."""

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            return [] if incident.responder == user else [ResponderAssigned(user=user)]

        self._store.write(incident_id, by=by, decide=decide)


def _is_decided_by(body: Body, incident: Incident) -> bool:
    """Whether this entry ends a diagnosis: a diagnosis that says the same again is not an entry of its own."""
    if isinstance(body, StepDone):
        step = incident.opened.runbook.step(body.step)
        return isinstance(step, DecisionStep) and step.on != "choice"
    return isinstance(body, Diagnosed)


def _moving(incident: Incident) -> bool:
    view = incident.current_proposal
    return view is not None and view.state is ProposalState.EXECUTING


def _must_stand_still(incident: Incident) -> None:
    if _moving(incident):
        raise Refused(
            "The proposal is being carried out.",
            "Table and job are between two states; a diagnosis of that says nothing.",
            "Its end and its proof appear in the proposal's thread.",
        )


def outcome_of(diagnosis: Diagnosis, step: DecisionStep) -> tuple[str, str]:
    """(outcome key, why) of a decision: code or remedy of the decisive match, or `no-match`."""
    if diagnosis.decisive is not None:
        mode, match = diagnosis.decisive
        return (
            (mode.code, match.headline) if step.on == "diagnosis" else (match.remedy, f"{mode.code}: {match.headline}")
        )
    missing = "; ".join(what for _mode, told in diagnosis.undecided for what in told.missing)
    return "no-match", diagnosis.nothing_matches + (f" Still missing: {missing}" if missing else "")


def current_step(incident: Incident) -> Step | None:
    """The step that the walk waits at; None at its end."""
    current = walk_of(incident).current
    return None if current is None else incident.opened.runbook.step(current)


def key_when_skipped(step: Step) -> str:
    """The outcome key that a skipped step counts as: what leads on when nothing was found out."""
    match step:
        case EvidenceStep():
            return "inconclusive"
        case DecisionStep():
            return "no-match" if step.on != "choice" else step.choices[-1].key
        case NoticeStep():
            return "sent"
        case ManualStep() | ReviewStep() | ActionStep():
            return "done"


def _current(incident: Incident, step_id: StepId) -> Step:
    must_be_open(incident)
    step = current_step(incident)
    if step is None or step.id != step_id:
        now = f"the walk is at “{step.title}”" if step else "the walk is at its end"
        raise Refused("This step is not the current one any more.", f"Now {now}.", "Use the newest card's buttons.")
    return step
