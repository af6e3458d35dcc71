"""Finds the actions: every module of this package that does not begin with `_`, and those that settings name.

What the declaration of an action has to say before anybody can rely on it; looked at when actions are scanned.
"""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType

import spark_tasks
from bot.domain.action import Action, Plan
from bot.domain.diagnosis import Remedy
from bot.domain.doubt import OF_ROWS
from bot.domain.errors import BadConfiguration
from bot.domain.evidence import COMPARED
from bot.domain.proposal import Proposal
from bot.domain.record import Record

TASKS = tuple(sorted(each.name for each in pkgutil.iter_modules(spark_tasks.__path__) if each.name[0] != "_"))
"""Names of the evidence tasks: each is named after its module."""


def must_be_whole(action: Action) -> None:
    """Raises BadConfiguration for an action that nobody could propose, that rests on evidence which does not exist, or
    that calls the table trusted without looking at its rows."""
    _must_be_askable(action)
    _must_name_tasks(action)
    _must_prove_trust(action)


def _must_be_askable(action: Action) -> None:
    asked_for = {remedy.value.replace("-", "_") for remedy in Remedy}
    if not action.on_request and action.name not in asked_for:
        raise BadConfiguration(
            f"The action {action.name} could never be proposed.",
            "Expected a diagnosis that asks for it, or on_request=True; found neither.",
            "Set on_request=True in its ACTION. `/waterline propose` then offers it.",
        )


def _must_name_tasks(action: Action) -> None:
    named = {
        "needs": action.needs,
        "looks": action.looks,
        "proofs": tuple(task for task, _ in action.proofs),
        "proofs_of_start": tuple(task for task, _ in action.proofs_of_start),
    }
    for where, tasks in named.items():
        unknown = sorted({*tasks} - {*TASKS})
        if unknown:
            raise BadConfiguration(
                f"The action {action.name} names evidence that does not exist.",
                f"Expected evidence tasks in its {where}; found {', '.join(unknown)}.",
                f"Use one of these: {', '.join(TASKS)}.",
            )
    _must_compare_proofs(action)
    if missing := sorted({*action.looks} - {*action.needs}):
        raise BadConfiguration(
            f"The action {action.name} collects evidence that it does not need.",
            f"Expected every task of `looks` in `needs` as well; found {', '.join(missing)} only in `looks`.",
            "Add it to `needs`, or remove it from `looks`.",
        )


def _must_compare_proofs(action: Action) -> None:
    """That what it leaves as it was is among its proofs, and can be held against main."""
    comparable = {task for task, _ in action.proofs} & COMPARED
    if others := sorted({*action.no_more_than_before} - comparable):
        raise BadConfiguration(
            f"The action {action.name} allows earlier faults that cannot be compared.",
            f"Expected in its no_more_than_before only proofs of it that are among {', '.join(sorted(COMPARED))}; "
            f"found {', '.join(others)}.",
            "Name only such tasks there, and name them in proofs as well.",
        )


def _must_prove_trust(action: Action) -> None:
    asked = {task for task, _ in action.proofs}
    if action.moves_waterline == "trusted" and not asked & OF_ROWS:
        raise BadConfiguration(
            f"The action {action.name} calls the table trusted, but no proof of it checks the rows.",
            f"Expected {' or '.join(sorted(OF_ROWS))} among its proofs; found {', '.join(sorted(asked)) or 'none'}.",
            'Name them in proofs, or leave moves_waterline at "no".',
        )


class ActionModule(Record):
    action: Action
    propose: Callable[[Plan], Proposal]
    """Raises Refused when nothing right can be proposed, with the reason."""


def scan(package: ModuleType, own: Sequence[str] = ()) -> Mapping[str, ActionModule]:
    """Action name -> module, frozen: every module of the package that does not begin with `_`, and the modules `own`
    by their full names. Raises BadConfiguration with what to write."""
    names = [f"{package.__name__}.{info.name}" for info in pkgutil.iter_modules(package.__path__)]
    found: dict[str, ActionModule] = {}
    for name in (*(each for each in names if not each.rpartition(".")[2].startswith("_")), *own):
        made = _loaded(name)
        if made.action.name in found:
            raise BadConfiguration(
                f"There are two actions {made.action.name}.",
                f"Expected each name once; {name} uses a name that is taken.",
                "Rename the module, and its ACTION with it.",
            )
        must_be_whole(made.action)
        found[made.action.name] = made
    return MappingProxyType(found)


def _loaded(name: str) -> ActionModule:
    try:
        module = importlib.import_module(name)
    except ModuleNotFoundError as error:
        raise BadConfiguration(
            f"The action module {name} cannot be loaded.",
            f"Expected a module that this Python can import; found: {error}.",
            "Install the package that holds it beside Waterline, or correct `actions` in the configuration file.",
        ) from error
    action, propose = getattr(module, "ACTION", None), getattr(module, "propose", None)
    if not isinstance(action, Action) or not callable(propose) or action.name != name.rpartition(".")[2]:
        raise BadConfiguration(
            f"The action module {name} is not complete.",
            "Expected ACTION = Action(name=<the module's name>, …) and propose(plan) -> Proposal; "
            f"found ACTION={type(action).__name__}, propose={'a function' if callable(propose) else 'none'}.",
            "Write both; CONTRIBUTING.md shows an example.",
        )
    return ActionModule(action=action, propose=propose)
