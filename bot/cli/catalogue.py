"""`waterline catalogue`: every failure mode, action and evidence task as Markdown, from what their modules declare."""

from collections.abc import Iterable, Iterator, Mapping

import spark_tasks
from bot import actions
from bot.actions._scan import scan as find_actions
from bot.bootstrap import failure_modes
from bot.diagnosis._scan import ModeModule
from bot.domain.action import Action
from bot.domain.deeds import UNDO
from bot.domain.diagnosis import Act, Mode, Remedy
from bot.domain.doubt import ACCUSERS
from bot.domain.evidence import Task
from bot.evidence import TaskModule, find_tasks

_ACT = {
    Act.CONTAIN: "first: the damage grows",
    Act.MAKE_READABLE: "then make the table readable",
    Act.RECOVER: "then bring table and job together",
    Act.REPAIR: "then mend rows and files",
    Act.WAIT: "wait and look again",
    Act.TELL: "only tell people",
    Act.NOTE: "worth knowing, asks for nothing",
}


def catalogue() -> None:
    """Print the evidence tasks and failure modes as Markdown; `docs/catalogue.md` holds it."""
    print(catalogue_text(), end="")  # noqa: T201 - Markdown for a file; a console would wrap it


def catalogue_text() -> str:
    """The whole document; ends with a newline."""
    tasks, modes = find_tasks(spark_tasks), failure_modes()
    return "\n".join(_lines(tasks, modes)) + "\n"


def _lines(tasks: Mapping[str, TaskModule], modes: Mapping[str, ModeModule]) -> Iterator[str]:
    yield "# Catalogue"
    yield ""
    yield "Written by `make reference` from what the modules declare of themselves."
    yield "How each failure mode was produced, and what the bot said of it, is in [matrix.md](matrix.md)."
    yield "Where one mode is told from another, *there* is the other and *here* the one of the heading."
    yield ""
    yield "## Failure modes"
    for module in modes.values():
        yield from _mode(module.mode)
    yield ""
    yield "## Actions"
    yield ""
    yield "What is proven on a branch is proven on `main` once more when `publish_repair` has published it."
    yield "Before a proof calls the table trusted, it also asks each task again whose newest answer accuses `main`"
    yield f"({_names(ACCUSERS)}), and `missing_positions` where the contract names a position."
    for action in (module.action for module in find_actions(actions).values()):
        yield from _action(action)
    yield ""
    yield "## Evidence tasks"
    for found in tasks.values():
        yield from _task(found.task)


def _mode(mode: Mode) -> Iterator[str]:
    yield ""
    yield f"### {mode.code}: {mode.title}"
    yield ""
    yield f"- Order: {_ACT[mode.act]}."
    for remedy in mode.remedies:
        yield f"- Remedy `{remedy.value}`: {remedy.words}."
    yield f"- Evidence: {_names(mode.needs) or 'none beside what Flink says'}."
    if mode.asks_for:
        yield f"- Where that leaves a doubt, also: {_names(mode.asks_for)}."
    for code, how in mode.neighbours.items():
        yield f"- Told from {code}: {how}"
    for alike in mode.false_positives:
        yield f"- Looks the same and is not: {alike}"


def _names(tasks: Iterable[str]) -> str:
    return ", ".join(f"`{task}`" for task in tasks)


def _action(action: Action) -> Iterator[str]:
    remedy = action.name.replace("_", "-")
    asked = [f"a diagnosis with the remedy `{remedy}`"] if remedy in set(Remedy) else []
    command = "undo" if action.name == UNDO else f"propose {action.name}"
    asked += [f"`/waterline {command}`"] if action.on_request else []
    yield ""
    yield f"### `{action.name}`"
    yield ""
    yield action.promise
    yield ""
    yield f"- Asked for by: {' or '.join(asked) or 'what came before it'}."
    yield f"- Evidence that must be there: {_names(action.needs) or 'none'}."
    proofs = "; ".join(f"{what} (`{task}`)" for task, what in action.proofs)
    yield f"- Proven by: {proofs or 'table and job themselves'}."
    if action.no_more_than_before:
        yield f"- On its branch no more than main had is enough of: {_names(action.no_more_than_before)}."
    if action.proofs_of_start:
        more = "; ".join(f"{what} (`{task}`)" for task, what in action.proofs_of_start)
        yield f"- Where it starts the job, also by: {more}, both against what was counted before."


def _task(task: Task) -> Iterator[str]:
    yield ""
    yield f"### `{task.name}`"
    yield ""
    yield task.question
    yield ""
    yield f"- Confirmed: {task.confirmed_means}."
    yield f"- Ruled out: {task.ruled_out_means}."
    yield f"- Needs: {', '.join(task.needs)}."
    yield f"- Cost: {task.cost}."
