"""Everything that is wrong with a runbook, against what the application knows; each problem with `file:line`."""

from collections.abc import Iterator, Mapping

from bot.incident.runbook import (
    ASKED_FOR,
    END,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    NoticeStep,
    Problem,
    ReviewStep,
    Step,
)
from bot.observation.ids import StepId
from bot.runbook.parse import Parsed, Parts, read
from bot.runbook.progress import possible_outcomes, targets
from bot.runbook.source import Problems


class Vocabulary(Parts):
    actions: frozenset[str]
    notices: frozenset[str]
    codes: frozenset[str]
    """Diagnosis codes, without `no-match`."""


def lint(text: str, file: str, known: Vocabulary) -> tuple[Problem, ...]:
    """All problems by file and rising line; empty for a runbook that can be relied on. Never raises."""
    problems = Problems()
    parsed = read(text, file, known, problems)
    if parsed is not None:
        look = _Look(parsed, known, problems)
        look.names()
        # What follows reads the graph: with steps that could not be read it would only repeat their problems.
        if not problems.found:
            look.outcomes()
            look.reached()
            look.verified()
    return problems.in_order


class _Look:
    def __init__(self, parsed: Parsed, known: Vocabulary, problems: Problems) -> None:
        self._runbook, self._places = parsed.runbook, parsed.places
        self._steps = {step.id: step for step in parsed.runbook.steps}
        self._known, self._problems = known, problems

    def _add(self, step: Step, expected: str, found: str, do: str) -> None:
        self._problems.add(self._places[step.id], expected, found, do)

    def names(self) -> None:
        for step in self._runbook.steps:
            match step:
                case EvidenceStep():
                    self._is_known(step.task, frozenset(self._known.tasks), "a task", step)
                case ActionStep():
                    self._is_known(step.action, self._known.actions | {ASKED_FOR}, "an action", step)
                case NoticeStep():
                    self._is_known(step.notice, self._known.notices, "a notice", step)
                case _:
                    pass

    def _is_known(self, name: str, names: frozenset[str], what: str, step: Step) -> None:
        if name not in names:
            listed = ", ".join(sorted(names)) or "none at all"
            self._add(step, f"{what} that exists ({listed})", f"`{name}`", f"Name one of them, or add {what}")

    def outcomes(self) -> None:
        """Each step says where every one of its outcomes leads, and names no other."""
        for step in self._runbook.steps:
            possible = possible_outcomes(step, self._known.codes)
            for key in step.branches:
                if key not in possible:
                    self._add(
                        step, f"a branch for one of {', '.join(possible)}", f"`{key}`", "Correct or remove the branch"
                    )
            missing = [key for key in possible if key not in step.branches]
            if step.next is None and missing:
                self._add(step, f"a branch for {', '.join(missing)}, or `next`", "neither", "Say where it leads then")
            if isinstance(step, DecisionStep) and step.on != "choice" and "no-match" not in step.branches:
                self._add(step, "a branch `no-match`", "none", "Say what to do when no failure mode fits")
            if isinstance(step, DecisionStep) and step.on == "choice" and len(step.choices) < 2:
                self._add(step, "two choices or more", "one", "Add a choice, or make it a manual step")

    def reached(self) -> None:
        """No step is dead, and there is a review."""
        first, last = self._runbook.steps[0], self._runbook.steps[-1]
        reached = set(downstream(first.id, self._steps))
        for step in self._runbook.steps:
            if step.id not in reached:
                self._add(step, "a branch or `next` that leads here", "none", "Lead to the step or remove it")
        if not any(isinstance(step, ReviewStep) for step in self._runbook.steps):
            self._add(last, "a step of kind review", "none", "End the incident with its review")

    def verified(self) -> None:
        """After an action was applied, no path ends or tells consumers before evidence has looked again."""
        for step in self._runbook.steps:
            applied = step.branches.get("applied", step.next) if isinstance(step, ActionStep) else None
            for follower in downstream(applied, self._steps, through_evidence=False) if applied is not None else ():
                if follower == END or isinstance(self._steps.get(follower), NoticeStep):
                    where = "the end" if follower == END else f"the notice `{follower}`"
                    self._add(
                        step, "an evidence step after `applied`", f"a way to {where} without one", "Look again first"
                    )
                    break


def downstream(start: StepId, steps: Mapping[StepId, Step], *, through_evidence: bool = True) -> Iterator[StepId]:
    """`start` and all that can follow it; without `through_evidence` a path stops at its first evidence step."""
    todo, seen = [start], {start}
    while todo:
        step_id = todo.pop()
        yield step_id
        step = steps.get(step_id)
        if step is None or (isinstance(step, EvidenceStep) and not through_evidence):
            continue
        new = [target for target in targets(step) if target not in seen]
        seen.update(new)
        todo.extend(new)
