"""Moves an incident along its runbook: each step's outcome chooses the next, and says why."""

from collections.abc import Callable
from typing import cast, get_args

from bot.incident.entries import Body, NoteAdded, ResponderAssigned, SeverityChanged, StepDone, StepSkipped
from bot.incident.incident import Incident
from bot.incident.runbook import (
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    ReviewStep,
    Step,
)
from bot.observation.errors import NotYet, Refused
from bot.observation.ids import IncidentId, Severity, StepId, UserId
from bot.runbook.progress import Position, evidence_ahead, position
from bot.service.incident_store import IncidentStore, must_be_in_charge, must_be_open


def walk_of(incident: Incident) -> Position:
    """Where the incident is in its own copy of the runbook."""
    return position(incident.runbook, incident.outcomes)


def steps_ahead(incident: Incident) -> tuple[EvidenceStep, ...]:
    """The evidence that it comes to next, whatever each of it answers, and has no answer to."""
    ahead = evidence_ahead(incident.runbook, incident.outcomes)
    return tuple(step for step in ahead if step.id not in incident.outcomes)


def not_possible(store: IncidentStore, incident_id: IncidentId, step: StepId | None, why: Refused) -> None:
    """Nothing right can be proposed: the walk goes on to what people do by hand, with the reason. Where only something
    under way stands against it, the step stays."""
    if step is None or isinstance(why, NotYet):
        return
    done = StepDone(step=step, key=NOT_POSSIBLE, why=str(why))
    store.append_if(incident_id, [done], lambda now: now.is_open and walk_of(now).current == step)


class RunbookSteps:
    def __init__(self, store: IncidentStore, go_on: Callable[[IncidentId], None]) -> None:
        """`go_on` takes the steps that need nobody, soon; who clicked does not wait for it."""
        self._store = store
        self._go_on = go_on

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
        self._go_on(incident_id)

    def skip(self, incident_id: IncidentId, step_id: StepId, reason: str, *, by: UserId) -> None:
        """Pass over a step, with a reason. A step that needs approval cannot be skipped."""

        def decide(incident: Incident) -> list[Body]:
            step = _current(incident, step_id)
            if isinstance(step, ActionStep):
                raise Refused(
                    f"“{step.title}” cannot be skipped, because it needs approval.",
                    "",
                    "Propose it and let somebody reject it, or close the incident with a reason.",
                )
            if not reason.strip():
                raise Refused("Skipping a step needs a reason.", "", "Say in a sentence why it is not needed.")
            return [StepSkipped(step=step_id, key=key_when_skipped(step), reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)
        self._go_on(incident_id)

    def note(self, incident_id: IncidentId, text: str, *, by: UserId) -> None:
        if not text.strip():
            raise Refused("The note is empty.", "", "Write it after the command: /waterline note TEXT.")

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            return [NoteAdded(text=text.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def assign(self, incident_id: IncidentId, user: UserId, note: str = "", *, by: UserId) -> None:
        """Make `user` the responder; the note goes to them."""

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            return [] if incident.responder == user else [ResponderAssigned(user=user, note=note.strip())]

        self._store.write(incident_id, by=by, decide=decide)

    def change_severity(self, incident_id: IncidentId, to: str, reason: str, *, by: UserId) -> None:
        """Write it down with who and why. Proposals that are made already keep the approval policy that they were made
        with. Raises Refused without a reason, for whoever is not in charge, or where nothing changes."""
        if to not in get_args(Severity) or not reason.strip():
            raise Refused(
                "A severity change needs a name and a reason.",
                f"Expected one of {', '.join(get_args(Severity))} and a sentence; found “{to} {reason}”.",
                "Click “Change severity…” on the card.",
            )

        def decide(incident: Incident) -> list[Body]:
            must_be_open(incident)
            must_be_in_charge(incident, by, "change its severity")
            if incident.severity == to:
                raise Refused(f"{incident_id} is {to} already.", "", "Nothing was changed.")
            return [SeverityChanged(before=incident.severity, severity=cast(Severity, to), reason=reason.strip())]

        self._store.write(incident_id, by=by, decide=decide)


def current_step(incident: Incident) -> Step | None:
    """The step that the walk waits at; None at its end."""
    current = walk_of(incident).current
    return None if current is None else incident.runbook.step(current)


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
        now = f"the current step is “{step.title}”" if step else "the runbook is finished"
        raise Refused("This step is no longer the current one.", f"Now {now}.", "Use the newest card's buttons.")
    return step
