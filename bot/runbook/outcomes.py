"""How each kind of step can end: the keys that its branches may name, and how a sentence says them."""

from collections.abc import Iterable
from typing import assert_never

from bot.domain.evidence import Verdict
from bot.domain.remedy import Remedy
from bot.domain.runbook import (
    MENDED,
    NOT_POSSIBLE,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    ManualStep,
    NoticeStep,
    ReviewStep,
    Step,
    StepOutcome,
)

NO_MATCH = "no-match"
_VERDICTS = {
    Verdict.CONFIRMED.value: "was confirmed",
    Verdict.RULED_OUT.value: "was ruled out",
    Verdict.INCONCLUSIVE.value: "was inconclusive",
}
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
            return tuple(_VERDICTS)
        case DecisionStep(on="diagnosis"):
            return (*sorted(codes), NO_MATCH)
        case DecisionStep(on="remedy"):
            return (*(remedy.value for remedy in Remedy), MENDED, NO_MATCH)
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
    if outcome.key == MENDED:
        return f"{code} asks for nothing any more, and rows had been counted wrong before"
    return f"{code} asks to {Remedy(outcome.key).words if outcome.key in set(Remedy) else outcome.key}"


def because(step: Step, outcome: StepOutcome) -> str:
    """Why the walk took its branch, a clause without full stop: `the diagnosis is F2`."""
    if outcome.skipped:
        return (
            f"“{step.title}” was skipped: {outcome.why.rstrip('.')}" if outcome.why else f"“{step.title}” was skipped"
        )
    match step:
        case EvidenceStep():
            return f"“{step.title}” {_VERDICTS.get(outcome.key, f'answered {outcome.key}')}"
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
