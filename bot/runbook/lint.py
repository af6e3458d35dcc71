"""Everything that is wrong with a runbook, against what the application knows; each problem with `file:line`."""

from collections.abc import Iterator, Mapping

from bot.domain.file_problem import Problem
from bot.domain.ids import StepId
from bot.domain.record import Record
from bot.domain.runbook import (
    ASKED_FOR,
    END,
    ActionStep,
    DecisionStep,
    EvidenceStep,
    NoticeStep,
    ReviewStep,
    Runbook,
    Step,
)
from bot.runbook._graph import targets
from bot.runbook.outcomes import possible_outcomes
from bot.runbook.parse import read
from bot.runbook.problem import Problems


class Vocabulary(Record):
    """The names that runbooks may use."""

    tasks: frozenset[str]
    actions: frozenset[str]
    notices: frozenset[str]
    codes: frozenset[str]
    """Diagnosis codes, without `no-match`."""


def lint(text: str, file: str, known: Vocabulary) -> tuple[Problem, ...]:
    """All problems by rising line; empty for a runbook that can be relied on. Never raises."""
    problems = Problems(file)
    runbook = read(text, problems)
    if runbook is not None:
        _names(runbook, known, problems)
        # What follows reads the graph: with steps that could not be read it would only repeat their problems.
        if not problems.found:
            steps = {step.id: step for step in runbook.steps}
            _outcomes(runbook, known, problems)
            _reached(runbook, steps, problems)
            _verified(runbook, steps, problems)
    return tuple(sorted(problems.found, key=lambda p: (p.line, p.message)))


def _names(runbook: Runbook, known: Vocabulary, problems: Problems) -> None:
    for step in runbook.steps:
        match step:
            case EvidenceStep():
                _is_known(step.task, known.tasks, "a task", step, problems)
            case ActionStep():
                _is_known(step.action, known.actions | {ASKED_FOR}, "an action", step, problems)
            case NoticeStep():
                _is_known(step.notice, known.notices, "a notice", step, problems)
            case _:
                pass


def _is_known(name: str, names: frozenset[str], what: str, step: Step, problems: Problems) -> None:
    if name not in names:
        listed = ", ".join(sorted(names)) or "none at all"
        problems.add(step.line, f"{what} that exists ({listed})", f"`{name}`", f"Name one of them, or add {what}")


def _outcomes(runbook: Runbook, known: Vocabulary, problems: Problems) -> None:
    for step in runbook.steps:
        possible = possible_outcomes(step, known.codes)
        for key in step.branches:
            if key not in possible:
                listed = ", ".join(possible)
                problems.add(step.line, f"a branch for one of {listed}", f"`{key}`", "Correct or remove the branch")
        missing = [key for key in possible if key not in step.branches]
        if step.next is None and missing:
            problems.add(
                step.line, f"a branch for {', '.join(missing)}, or `next`", "neither", "Say where the walk goes then"
            )
        if isinstance(step, DecisionStep) and step.on in {"diagnosis", "remedy"} and "no-match" not in step.branches:
            problems.add(step.line, "a branch `no-match`", "none", "Say what to do when no failure mode fits")
        if isinstance(step, DecisionStep) and step.on == "choice" and len(step.choices) < 2:
            problems.add(step.line, "two choices or more", "one", "Add a choice, or make it a manual step")


def _reached(runbook: Runbook, steps: Mapping[StepId, Step], problems: Problems) -> None:
    reached = set(_downstream(runbook.steps[0].id, steps))
    for step in runbook.steps:
        if step.id not in reached:
            problems.add(step.line, "a branch or `next` that leads here", "none", "Lead to the step or remove it")
    if not any(isinstance(step, ReviewStep) for step in runbook.steps):
        problems.add(runbook.steps[-1].line, "a step of kind review", "none", "End the incident with its review")


def _downstream(start: StepId, steps: Mapping[StepId, Step], *, through_evidence: bool = True) -> Iterator[StepId]:
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


def _verified(runbook: Runbook, steps: Mapping[StepId, Step], problems: Problems) -> None:
    """After an action was applied, no path ends or tells consumers before evidence has looked again."""
    for step in runbook.steps:
        applied = step.branches.get("applied", step.next) if isinstance(step, ActionStep) else None
        if applied is None:
            continue
        for follower in _downstream(applied, steps, through_evidence=False):
            if follower == END or isinstance(steps.get(follower), NoticeStep):
                where = "the end" if follower == END else f"the notice `{follower}`"
                problems.add(
                    step.line, "an evidence step after `applied`", f"a way to {where} without one", "Look again first"
                )
                break
