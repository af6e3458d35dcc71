"""Collects evidence: runs a task and turns its answer into a record that a stranger can check.

Finds the evidence tasks: one module of `spark_tasks/` each.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from opentelemetry import trace

from bot.incident.hidden_values import kept
from bot.observation.contract import TableContract
from bot.observation.errors import BadConfiguration, EvidenceFailed, Refused, WaterlineError
from bot.observation.evidence import Answer, Ask, Evidence, Progress, Task, Verdict, runs_in
from bot.observation.ids import EvidenceId
from bot.observation.looked import NotSeen
from bot.ports import Clock, EvidenceRunner

_FORM = 'TASK = Task(name="<the module\'s name>", …) and def answer(spark: SparkSession, ask: Ask) -> Answer'


@dataclass(frozen=True)
class TaskModule:
    """One task as found: what it declares, and what answers."""

    task: Task
    answer: Callable[[Any, Ask], Answer]
    """Takes a Spark Connect session; untyped here because this floor knows no Spark."""


def find_tasks(package: ModuleType) -> Mapping[str, TaskModule]:
    """Every task of the package by name; modules that begin with `_` are support.

    Raises BadConfiguration that says what to write.
    """
    found: dict[str, TaskModule] = {}
    for info in sorted(pkgutil.iter_modules(package.__path__), key=lambda each: each.name):
        if info.name.startswith("_"):
            continue
        module = import_module(f"{package.__name__}.{info.name}")
        one = _task_of(module, info.name)
        if one.task.name in found:
            raise BadConfiguration(
                f"Two evidence tasks are called {one.task.name}.",
                f"Expected each name once; {module.__name__} has it too.",
                "Name each TASK after its module.",
            )
        found[one.task.name] = one
    return MappingProxyType(found)


def _task_of(module: ModuleType, name: str) -> TaskModule:
    task, answer = getattr(module, "TASK", None), getattr(module, "answer", None)
    if not isinstance(task, Task) or not callable(answer):
        raise BadConfiguration(
            f"{module.__name__} is not an evidence task.",
            f"Expected {_FORM}; found TASK {type(task).__name__} and answer {type(answer).__name__}.",
            "Write both, or begin the file's name with an underscore if it is support.",
        )
    if task.name != name:
        raise BadConfiguration(
            f"{module.__name__} declares the evidence task {task.name!r}.",
            f"Expected the module's own name, {name!r}, so that a runbook's author finds the file.",
            f'Write name="{name}" in its TASK, or rename the file to {task.name}.py.',
        )
    if not task.question.endswith("?"):
        raise BadConfiguration(
            f"The evidence task {name} asks no question.",
            f"Expected one sentence that ends in a question mark; found {task.question!r}.",
            "Say in TASK.question what a responder would ask.",
        )
    return TaskModule(task=task, answer=answer)


_tracer = trace.get_tracer("waterline")
MAX_ROWS = 20
_HOPELESS = "Report it: this is a fault of the task, not of the table."


def _unheard(_progress: Progress) -> None:
    """For callers who only want the answer."""


class Collector:
    """All evidence tasks, and the runner that they run on."""

    def __init__(self, modules: Mapping[str, TaskModule], runner: EvidenceRunner, clock: Clock) -> None:
        self._tasks = {name: module.task for name, module in modules.items()}
        self._runner = runner
        self._clock = clock

    @property
    def tasks(self) -> Mapping[str, Task]:
        return self._tasks

    def task(self, name: str) -> Task:
        """One task's declaration. Raises Refused, naming those that exist, when there is none."""
        if name not in self._tasks:
            raise Refused(
                f"There is no evidence task {name}.", f"There are: {', '.join(self._tasks)}.", "Choose one of these."
            )
        return self._tasks[name]

    def collect(
        self, name: str, ask: Ask, *, run: EvidenceId, on_progress: Callable[[Progress], None] = _unheard
    ) -> Evidence:
        """Run the task now and wait. Raises Refused (unknown), EvidenceFailed, EvidenceCancelled."""
        task = self.task(name)
        told = {"waterline.run": run, "waterline.table": ask.observation.table.name}
        with _tracer.start_as_current_span(f"evidence {name}", attributes=told) as span:
            evidence = self._collect(task, ask, run, on_progress)
            span.set_attributes({"waterline.verdict": evidence.verdict, "waterline.bytes_read": evidence.bytes_read})
            return evidence

    def _collect(self, task: Task, ask: Ask, run: EvidenceId, on_progress: Callable[[Progress], None]) -> Evidence:
        began = self._clock.now()
        try:
            answer, bytes_read = self._runner.run(task, ask, tag=tag_of(run), on_progress=on_progress)
        except WaterlineError as error:
            error.veil(ask.contract.veiled)
            raise
        check_answer(task, ask, answer)
        answer = veiled(answer, ask.contract)
        table = ask.observation.table
        return Evidence(
            **dict(answer),
            id=run,
            task=task.name,
            task_version=task.version,
            question=task.question,
            metadata_location=table.metadata_location,
            head=table.head,
            window=ask.window,
            oldest=table.chain[-1].snapshot_id if table.chain else None,
            at=began,
            took_ms=round((self._clock.now() - began).total_seconds() * 1000),
            bytes_read=bytes_read,
            branch=ask.branch,
            runs=runs_in(ask.observation) if task.reads == "nothing" else None,
        )

    def cancel(self, run: EvidenceId) -> bool:
        """Interrupt a run; False if it does not run here."""
        return self._runner.cancel(tag_of(run))

    def warm(self) -> None:
        """Start Spark now. Raises EvidenceFailed."""
        self._runner.warm()


def tag_of(run: EvidenceId) -> str:
    """The name under which Spark knows this run; found again in Spark's own pages."""
    return f"waterline-{run}"


def veiled(answer: Answer, contract: TableContract) -> Answer:
    """The same answer; no path that people read in it shows the value of a hidden column that partitions the table,
    and its finding has only those of its values that are acted on."""
    if not contract.redacted:
        return answer
    return answer.model_copy(
        update={
            "headline": contract.veiled(answer.headline),
            "finding": None if answer.finding is None else kept(answer.finding, contract),
            "rows": tuple(tuple(contract.veiled(cell) for cell in row) for row in answer.rows),
            "sources": tuple(contract.veiled(source) for source in answer.sources),
            "could_not_look": tuple(
                missing.model_copy(
                    update={"source": contract.veiled(missing.source), "reason": contract.veiled(missing.reason)}
                )
                for missing in answer.could_not_look
            ),
        }
    )


def check_answer(task: Task, ask: Ask, answer: Answer) -> None:
    """Raises EvidenceFailed when the answer breaks what a reader relies on."""
    broken = _what_is_broken(task, ask, answer)
    if broken is not None:
        raise EvidenceFailed(f"The evidence task {task.name} gave an invalid answer.", broken, _HOPELESS)


def _what_is_broken(task: Task, ask: Ask, answer: Answer) -> str | None:
    world = ask.observation
    asked = ("jobs", "checkpoints", "reads", "flink_manifests")
    missed = [name for name in asked if name in task.needs and isinstance(getattr(world, name), NotSeen)]
    if answer.verdict is not Verdict.INCONCLUSIVE and answer.finding is None:
        return f"Expected a finding with the verdict {answer.verdict.value}; found none."
    if answer.verdict is Verdict.RULED_OUT and missed:
        return f"Expected no 'ruled-out' without having looked; it could not look at {', '.join(missed)}."
    if len(answer.rows) > MAX_ROWS or any(len(row) != len(answer.columns) for row in answer.rows):
        return f"Expected at most {MAX_ROWS} rows of {len(answer.columns)} cells; found {len(answer.rows)} rows."
    if not answer.headline.endswith("."):
        return f"Expected a headline that is a sentence; found {answer.headline!r}."
    return None
