"""The walk's graph: every target exists and lies further down, so that each walk ends."""

from collections.abc import Sequence

from bot.domain.ids import StepId
from bot.domain.runbook import END, Step
from bot.runbook.problem import Problems


def targets(step: Step) -> tuple[StepId, ...]:
    """Where the walk can go from a step, each once."""
    return tuple(dict.fromkeys([*step.branches.values(), *([step.next] if step.next is not None else [])]))


def check_graph(steps: Sequence[Step], problems: Problems) -> None:
    """Note every id that is taken and every target that does not exist or lies above."""
    place: dict[StepId, int] = {}
    for index, step in enumerate(steps):
        if step.id in place:
            first = steps[place[step.id]].line
            problems.add(step.line, "an id of its own", f"`{step.id}`, taken in line {first}", "Rename it")
        place.setdefault(step.id, index)
    for index, step in enumerate(steps):
        for target in targets(step):
            if target == END:
                continue
            if target not in place:
                problems.add(step.line, "a step that exists, or `end`", f"`{target}`", "Correct the target")
            elif place[target] <= index:
                problems.add(
                    step.line,
                    "a step further down, for a walk has no loops",
                    f"`{target}`, which is not",
                    "Go on with a later step; a responder can re-run an earlier one at any time",
                )
