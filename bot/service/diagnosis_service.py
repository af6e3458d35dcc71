"""Takes the steps that need nobody, and answers who asked for a diagnosis: in the background, one at a time."""

from collections.abc import Collection

from bot.history.case import PlannedChange
from bot.incident.diagnosis import Diagnosis, Matches, Mode, Remedy
from bot.incident.doubt import mended_by_others
from bot.incident.entries import (
    Body,
    Diagnosed,
    DiagnosisEnded,
    DiagnosisRequested,
    PlanDeclared,
    PlanWithdrawn,
    StepDone,
    StepSkipped,
)
from bot.incident.execution import ProposalState
from bot.incident.incident import Incident
from bot.incident.journal import WATERLINE
from bot.incident.notice import NO_ACTION
from bot.incident.runbook import ASKED_FOR, FIXED_ELSEWHERE, NOT_POSSIBLE, ActionStep, DecisionStep, NoticeStep
from bot.observation.errors import CouldNotKeep, Refused, WaterlineError
from bot.observation.ids import IncidentId, UserId
from bot.service.diagnosing import Diagnostician
from bot.service.incident_store import IncidentStore, must_be_open
from bot.service.proposals.choosing import action_of, asked_for
from bot.service.runbook_steps import current_step, walk_of


class DiagnosisService:
    """A look at the world takes seconds: nobody who clicks waits for it."""

    def __init__(self, store: IncidentStore, diagnostician: Diagnostician, actions: Collection[str]) -> None:
        """`actions`: the names of those that can be proposed."""
        self._store = store
        self._diagnostician = diagnostician
        self._actions = frozenset(actions)

    def request(self, incident_id: IncidentId, *, by: UserId) -> None:
        """Ask for a diagnosis; returns at once. Who asks while one is owed gets that one.

        Raises Refused while a proposal is being carried out, for the world that would be diagnosed is half moved.
        """

        self._store.write(incident_id, by=by, decide=_request)

    def may_be_planned(self, incident_id: IncidentId, code: str) -> tuple[str, ...]:
        """As what people can declare planned what this mode has found. Raises Refused where it matches no more."""
        return _found(self._store.get(incident_id), code)[0].planned_as

    def declare_planned(self, incident_id: IncidentId, code: str, what: str, reason: str, *, by: UserId) -> None:
        """Write down that what this mode has found was planned, and ask for a diagnosis that takes it into account;
        returns at once. The same once more changes nothing. Raises Refused as `may_be_planned` and `request` do, and
        without a reason."""

        def decide(incident: Incident) -> list[Body]:
            request = _request(incident)
            mode, match = _found(incident, code)
            if what not in mode.planned_as or not reason.strip():
                raise Refused("A plan needs a kind and a reason.", "", "Click “This was planned…” and fill both in.")
            planned = PlannedChange(
                code=code,
                what=what,
                reason=reason.strip(),
                by=by,
                run=match.wrong_run,
                last_good=match.last_good,
                newest_wrong=match.newest_wrong,
                commits=match.rows,
            )
            is_known = incident.planned.get(code) == planned
            return [] if is_known else [PlanDeclared(planned=planned), *request]

        self._store.write(incident_id, by=by, decide=decide)

    def withdraw_plan(self, incident_id: IncidentId, code: str, reason: str, *, by: UserId) -> None:
        """Write down that it was not planned, and ask for a diagnosis; returns at once. Raises Refused as `request`
        does, without a reason, and where nothing is declared."""

        def decide(incident: Incident) -> list[Body]:
            request = _request(incident)
            if code not in incident.planned or not reason.strip():
                raise Refused(f"No plan for {code} was withdrawn.", "", "A declared plan and a reason are needed.")
            return [PlanWithdrawn(code=code, reason=reason.strip()), *request]

        self._store.write(incident_id, by=by, decide=decide)

    def diagnose_due(self, incident_id: IncidentId) -> None:
        """Whatever is owed: a diagnosis that was asked for, and the steps of the walk that need nobody. Called by one
        thread at a time for an incident.

        Raises CouldNotLook when the walk's own decision could not look; who asked is told by an entry.
        """
        while (incident := self._store.get(incident_id)).is_open and incident.diagnosis_asked is not None:
            self._answer(incident_id, incident, incident.diagnosis_asked)
        step = _owed(incident)
        if step is not None:
            self._decide(incident_id, step, again=True)
        self._store.write(incident_id, by=WATERLINE, decide=self._pass_over)

    def _answer(self, incident_id: IncidentId, incident: Incident, asked: int) -> None:
        """Diagnose, unless that was done since: a second diagnosis that ends later would take the step anew, under a
        proposal that rests on the first."""
        end = DiagnosisEnded(how="same")
        try:
            if not any(_is_decided_by(entry.body, incident) for entry in incident.entries[asked:]):
                _must_stand_still(incident)
                self._diagnose_anew(incident_id, incident)
        except CouldNotKeep:
            raise  # it is owed, and done when it can be noted
        except WaterlineError as error:
            end = DiagnosisEnded(how="failed", message=str(error))

        def decide(now: Incident) -> list[Body]:
            is_new = end.how == "same" and any(isinstance(entry.body, Diagnosed) for entry in now.entries[asked:])
            ended = DiagnosisEnded(how="new") if is_new else end
            return [ended] if now.is_open and now.diagnosis_asked == asked else []

        self._store.write(incident_id, by=WATERLINE, decide=decide)

    def _diagnose_anew(self, incident_id: IncidentId, incident: Incident) -> None:
        """The walk's diagnosis step is taken, or taken anew, if the walk has come to it."""
        walk = walk_of(incident)
        reached = {passed.step for passed in walk.passed} | {walk.current}
        steps = incident.runbook.steps
        step = next((s for s in steps if isinstance(s, DecisionStep) and s.on != "choice" and s.id in reached), None)
        if step is not None:
            self._decide(incident_id, step, again=False)
        else:
            self._diagnostician.diagnose(incident_id)

    def _decide(self, incident_id: IncidentId, step: DecisionStep, *, again: bool) -> None:
        """Diagnose, and take the step by it; not under a proposal whose execution began meanwhile. `again`: the walk
        has come to the step, so its outcome is said even if it was the same the last time."""
        diagnosis = self._diagnostician.diagnose(incident_id)

        def decide(incident: Incident) -> list[Body]:
            key, why = outcome_of(diagnosis, step, incident)
            known = incident.outcomes.get(step.id)
            is_known = not again and known is not None and (known.key, known.why) == (key, why)
            return (
                []
                if is_known or _moving(incident) or not incident.is_open or (again and incident.is_stopped)
                else [StepDone(step=step.id, key=key, why=why)]
            )

        self._store.write(incident_id, by=WATERLINE, decide=decide)
        self._store.write(incident_id, by=WATERLINE, decide=self._pass_over)

    def _pass_over(self, incident: Incident) -> list[Body]:
        """A step that proposes what the diagnosis asks for is done at once where there is no action for it."""
        current = current_step(incident)
        match = asked_for(incident.diagnosis, self._actions) if incident.diagnosis else None
        if not incident.is_open or not isinstance(current, ActionStep) or current.action != ASKED_FOR or match is None:
            return []
        why = f"Waterline has no action for “{match.remedy.words}”"
        is_known = action_of(match.remedy) in self._actions
        return [] if is_known else [StepDone(step=current.id, key=NOT_POSSIBLE, why=why)]


def _request(incident: Incident) -> list[Body]:
    must_be_open(incident)
    _must_stand_still(incident)
    return [] if incident.diagnosis_asked is not None else [DiagnosisRequested()]


def _found(incident: Incident, code: str) -> tuple[Mode, Matches]:
    must_be_open(incident)
    matches = incident.diagnosis.matches if incident.diagnosis is not None else ()
    for mode, match in matches:
        if mode.code == code and mode.planned_as:
            return mode, match
    raise Refused(f"The newest diagnosis does not find {code}.", "", "Look at the newest diagnosis in the thread.")


def outcome_of(diagnosis: Diagnosis, step: DecisionStep, incident: Incident) -> tuple[str, str]:
    """(outcome key, why) of a decision: code or remedy of the decisive match, `fixed-elsewhere`, or `no-match`."""
    if diagnosis.decisive is not None:
        mode, match = diagnosis.decisive
        if step.on == "diagnosis":
            return mode.code, match.headline
        is_fixed = match.remedy is Remedy.NOTHING and _would_spare(step, incident) and mended_by_others(incident)
        return FIXED_ELSEWHERE if is_fixed else match.remedy, f"{mode.code}: {match.headline}"
    missing = "; ".join(what for _mode, told in diagnosis.undecided for what in told.missing)
    return "no-match", diagnosis.nothing_matches + (f" Still missing: {missing}" if missing else "")


def _would_spare(step: DecisionStep, incident: Incident) -> bool:
    """Whether the step has consumers told that nothing was wrong where nothing is asked for, and leads on without."""
    target = step.branches.get(Remedy.NOTHING, step.next)
    leads_on = step.branches.get(FIXED_ELSEWHERE, step.next) is not None
    notices = {each.id: each.notice for each in incident.runbook.steps if isinstance(each, NoticeStep)}
    return leads_on and target in notices and notices[target] == NO_ACTION


def _owed(incident: Incident) -> DecisionStep | None:
    """The decision on a diagnosis that the walk has come to and that was not taken since: whoever ended the step
    before it may have been killed right after."""
    current = current_step(incident)
    if (
        not incident.is_open
        or incident.is_stopped
        or not isinstance(current, DecisionStep)
        or current.on == "choice"
        or _moving(incident)
    ):
        return None
    ended = (entry.body.step for entry in reversed(incident.entries) if isinstance(entry.body, StepDone | StepSkipped))
    is_taken = current.id in incident.outcomes and next(ended, None) == current.id
    return None if is_taken else current


def _is_decided_by(body: Body, incident: Incident) -> bool:
    """Whether this entry ends a diagnosis: a diagnosis that says the same again is not an entry of its own."""
    if isinstance(body, StepDone):
        decisions = (s.id for s in incident.runbook.steps if isinstance(s, DecisionStep) and s.on != "choice")
        return body.step in decisions
    return isinstance(body, Diagnosed)


def _moving(incident: Incident) -> bool:
    view = incident.current_proposal
    return view is not None and view.state is ProposalState.EXECUTING


def _must_stand_still(incident: Incident) -> None:
    if _moving(incident):
        raise Refused(
            "The proposal is running.",
            "The table and the job are changing, so a diagnosis now would be meaningless.",
            "Wait for the result in the proposal's thread.",
        )
