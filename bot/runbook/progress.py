"""Where an incident is in its runbook: a function of the steps' outcomes, so a step that runs again starts anew there.

Also how each kind of step can end: the keys that its branches may name, and how a sentence says them.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import assert_never

from bot.incident.diagnosis import Remedy
from bot.incident.runbook import (
    END,
    FIXED_ELSEWHERE,
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    ReviewStep,
    Runbook,
    Step,
    StepOutcome,
)
from bot.observation.evidence import Verdict
from bot.observation.ids import StepId
from bot.observation.record import Record

NO_MATCH = "no-match"
_PROPOSAL = {
    "applied": "the proposal was applied",
    "refused": "the proposal was refused",
    "unknown": "nobody knows yet whether the proposal was applied",
    "rejected": "the proposal was rejected",
    "expired": "the proposal expired",
    "superseded": "the proposal was superseded",
    NOT_POSSIBLE: "no proposal can be made",
}


def possible_outcomes(step: Step, codes: Iterable[str]) -> tuple[str, ...]:
    """Every key that can occur. A skipped step ends with one of them too: the one that claims least."""
    match step:
        case EvidenceStep():
            return tuple(Verdict)
        case DecisionStep(on="diagnosis"):
            return (*sorted(codes), NO_MATCH)
        case DecisionStep(on="remedy"):
            return (*(remedy.value for remedy in Remedy), FIXED_ELSEWHERE, NO_MATCH)
        case DecisionStep():
            return tuple(choice.key for choice in step.choices)
        case ActionStep():
            return tuple(_PROPOSAL)
        case ManualStep() | ReviewStep():
            return ("done",)
        case NoticeStep():
            return ("sent",)
        case _:
            assert_never(step)


def _asked_for(outcome: StepOutcome) -> str:
    """`why` begins with the code; a key of which this version knows no remedy is said as it is."""
    code = outcome.why.partition(":")[0]
    if outcome.key == Remedy.NOTHING:
        return f"{code} asks for nothing"
    if outcome.key == FIXED_ELSEWHERE:
        return f"{code} asks for nothing any more, and rows had been counted wrong before"
    return f"{code} asks to {Remedy(outcome.key).words if outcome.key in set(Remedy) else outcome.key}"


def because(step: Step, outcome: StepOutcome) -> str:
    """Why the incident took its branch, a clause without full stop: `the diagnosis is F2`."""
    if outcome.skipped:
        return (
            f"“{step.title}” was skipped: {outcome.why.rstrip('.')}" if outcome.why else f"“{step.title}” was skipped"
        )
    match step:
        case EvidenceStep():
            first = outcome.why.partition(". ")[0].rstrip(".")
            return f"“{step.title}” says: {first}" if first else f"“{step.title}” was answered"
        case DecisionStep(on="diagnosis"):
            return "no failure mode fits" if outcome.key == NO_MATCH else f"the diagnosis is {outcome.key}"
        case DecisionStep(on="remedy"):
            return "no failure mode fits" if outcome.key == NO_MATCH else _asked_for(outcome)
        case DecisionStep():
            label = next((c.label for c in step.choices if c.key == outcome.key), outcome.key)
            return f"the answer was “{label}”"
        case ActionStep() if outcome.key == NOT_POSSIBLE and outcome.why:
            return f"no proposal can be made: {outcome.why.rstrip('.')}"
        case ActionStep():
            return _PROPOSAL.get(outcome.key, f"the proposal is {outcome.key}")
        case ManualStep() | ReviewStep():
            return f"“{step.title}” is done"
        case NoticeStep():
            return f"“{step.title}” was sent"
        case _:
            assert_never(step)


class Passed(Record):
    step: StepId
    outcome: StepOutcome
    reason: str
    """One sentence: `Went to “Propose the rollback” because the diagnosis is F2.`"""


class Position(Record):
    """The path so far. Everything in it follows from the runbook and the outcomes."""

    passed: tuple[Passed, ...]
    """In the order in which they were taken."""
    current: StepId | None
    """The step that waits for its outcome; None at the end."""
    stuck: str | None
    """Set when the current step has an outcome that leads nowhere: a sentence that says so."""

    @property
    def reason(self) -> str | None:
        """Why the incident is where it is; None before the first step has ended."""
        return self.passed[-1].reason if self.passed else None


def position(runbook: Runbook, outcomes: Mapping[StepId, StepOutcome]) -> Position:
    """Follow the outcomes from the first step to the first one without, or to the end."""
    steps = {step.id: step for step in runbook.steps}
    passed: list[Passed] = []
    current, stuck = runbook.steps[0].id, None
    while current != END and current in outcomes:
        step, outcome = steps[current], outcomes[current]
        if _is_outdated(outcome, steps, passed):
            break
        target = step.branches.get(outcome.key, step.next)
        if target is None:
            stuck = f"“{step.title}” ended with `{outcome.key}`, and the runbook does not say where to go from there."
            break
        where = "Came to the end" if target == END else f"Went to “{steps[target].title}”"
        reason = f"{where} because {because(step, outcome)}."
        passed.append(Passed(step=step.id, outcome=outcome, reason=reason))
        current = target
    return Position(passed=tuple(passed), current=None if current == END else current, stuck=stuck)


def evidence_ahead(runbook: Runbook, outcomes: Mapping[StepId, StepOutcome]) -> tuple[EvidenceStep, ...]:
    """Evidence steps that the walk comes to, whatever those before them answer; also the answered ones among them."""
    ahead: list[EvidenceStep] = []
    at = position(runbook, outcomes).current
    while at is not None and at != END:
        step = runbook.step(at)
        if not isinstance(step, EvidenceStep):
            break
        ahead.append(step)
        following = targets(step)
        at = following[0] if len(following) == 1 else None
    return tuple(ahead)


def _is_outdated(outcome: StepOutcome, steps: Mapping[StepId, Step], passed: Sequence[Passed]) -> bool:
    """Whether it says that nothing can be proposed for a diagnosis that has been made anew since."""
    decided = (p.outcome.at for p in reversed(passed) if isinstance(steps[p.step], DecisionStep))
    newest = next(decided, None)
    return outcome.key == NOT_POSSIBLE and newest is not None and newest > outcome.at


def targets(step: Step) -> tuple[StepId, ...]:
    """Where an incident can go from a step, each once."""
    return tuple(dict.fromkeys([*step.branches.values(), *([step.next] if step.next is not None else [])]))
