"""Finds the evidence tasks: one module of `spark_tasks/` each."""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib import import_module
from types import MappingProxyType, ModuleType
from typing import Any

from bot.domain.errors import BadConfiguration
from bot.domain.evidence import Answer, Ask, Task

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
