"""Finds the actions: every module of this package that does not begin with `_`."""

import importlib
import pkgutil
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType

from bot.domain.action import Action, Plan
from bot.domain.errors import BadConfiguration
from bot.domain.proposal import Proposal
from bot.domain.record import Record


class ActionModule(Record):
    """An action as the application uses it."""

    action: Action
    propose: Callable[[Plan], Proposal]
    """Raises Refused when nothing right can be proposed, with the reason."""


def scan(package: ModuleType) -> Mapping[str, ActionModule]:
    """Action name -> module, frozen. Raises BadConfiguration with what to write."""
    found: dict[str, ActionModule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        module = importlib.import_module(f"{package.__name__}.{info.name}")
        action, propose = getattr(module, "ACTION", None), getattr(module, "propose", None)
        if not isinstance(action, Action) or not callable(propose) or action.name != info.name:
            raise BadConfiguration(
                f"The action module {package.__name__}.{info.name} is not complete.",
                "Expected ACTION = Action(name=<the module's name>, …) and propose(plan) -> Proposal; "
                f"found ACTION={type(action).__name__}, propose={'a function' if callable(propose) else 'none'}.",
                "Write both; CONTRIBUTING.md shows an example.",
            )
        found[action.name] = ActionModule(action=action, propose=propose)
    return MappingProxyType(found)
