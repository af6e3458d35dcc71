"""Where a walk through a runbook stands: a function of the steps' outcomes, so re-running a step just walks anew."""

from collections.abc import Mapping, Sequence

from bot.domain.ids import StepId
from bot.domain.record import Record
from bot.domain.runbook import END, NOT_POSSIBLE, DecisionStep, Runbook, Step, StepOutcome
from bot.runbook.outcomes import because


class Passed(Record):
    """One step that the walk went through."""

    step: StepId
    outcome: StepOutcome
    went_to: StepId
    """The next step, or `end`."""
    reason: str
    """One sentence: `Went to *Propose the rewind* because the diagnosis is F2.`"""


class Walk(Record):
    """The path so far. Everything in it follows from the runbook and the outcomes."""

    passed: tuple[Passed, ...]
    """In the order in which they were walked."""
    current: StepId | None
    """The step that waits for its outcome; None at the end."""
    stuck: str | None
    """Set when the current step has an outcome that leads nowhere: a sentence that says so."""
    ahead: tuple[StepId, ...]
    """Steps that can still be reached from the current one, without it, in file order."""
    left: tuple[StepId, ...]
    """Steps that have an outcome but are no longer on the path, in file order."""

    @property
    def reason(self) -> str | None:
        """Why the walk is where it is; None before the first step has ended."""
        return self.passed[-1].reason if self.passed else None

    @property
    def is_over(self) -> bool:
        """Whether nothing is left to do."""
        return self.current is None


def walk(runbook: Runbook, outcomes: Mapping[StepId, StepOutcome]) -> Walk:
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
        passed.append(
            Passed(step=step.id, outcome=outcome, went_to=target, reason=_sentence(steps, step, outcome, target))
        )
        current = target
    walked = {one.step for one in passed} | {current}
    ahead = _reachable(steps, current) - {current}
    return Walk(
        passed=tuple(passed),
        current=None if current == END else current,
        stuck=stuck,
        ahead=tuple(step.id for step in runbook.steps if step.id in ahead),
        left=tuple(step.id for step in runbook.steps if step.id in outcomes and step.id not in walked),
    )


def _is_outdated(outcome: StepOutcome, steps: Mapping[StepId, Step], passed: Sequence[Passed]) -> bool:
    """Whether it says that nothing can be proposed for a diagnosis that has been made anew since."""
    decided = (p.outcome.at for p in reversed(passed) if isinstance(steps[p.step], DecisionStep))
    newest = next(decided, None)
    return outcome.key == NOT_POSSIBLE and newest is not None and newest > outcome.at


def _sentence(steps: Mapping[StepId, Step], step: Step, outcome: StepOutcome, target: StepId) -> str:
    where = "Came to the end" if target == END else f"Went to “{steps[target].title}”"
    return f"{where} because {because(step, outcome)}."


def _reachable(steps: Mapping[StepId, Step], start: StepId) -> set[StepId]:
    todo, seen = [start], set[StepId]()
    while todo:
        step = steps.get(todo.pop())
        if step is not None and step.id not in seen:
            seen.add(step.id)
            todo += [*step.branches.values(), *([step.next] if step.next is not None else [])]
    return seen
