"""Finds the actions: every module of this package that does not begin with `_`, and those that settings name."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType, ModuleType

from bot.actions._declared import must_be_whole
from bot.domain.action import Action, Plan
from bot.domain.errors import BadConfiguration
from bot.domain.proposal import Proposal
from bot.domain.record import Record


class ActionModule(Record):
    """An action as the application uses it."""

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
                f"Expected each name once; {name} bears one that is taken.",
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
