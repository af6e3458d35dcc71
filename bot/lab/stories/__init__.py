"""The named ways in which this world goes wrong, found by one scan of this package's modules.

A story is a function under `@story(SUMMARY)`, named like the function.
"""

import pkgutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib import import_module
from types import MappingProxyType

from bot.lab.errors import LabError
from bot.lab.home import Stack
from bot.lab.world import World


@dataclass(frozen=True)
class Story:
    """One of them; `tell(world)` makes it happen."""

    name: str
    summary: str
    tell: Callable[[World], None]
    stack: Stack | None = None
    """The only one on which it can be told; None: on each."""


def story(summary: str, stack: Stack | None = None) -> Callable[[Callable[[World], None]], Story]:
    """Makes a story of the function."""
    return lambda tell: Story(tell.__name__.replace("_", "-"), summary, tell, stack)


@cache
def stories() -> Mapping[str, Story]:
    """All stories by name."""
    modules = [import_module(f"{__name__}.{module.name}") for module in pkgutil.iter_modules(__path__)]
    found = [each for module in modules for each in vars(module).values() if isinstance(each, Story)]
    return MappingProxyType({each.name: each for each in sorted(found, key=lambda each: each.name)})


def story_named(name: str) -> Story:
    """The story of this name. Raises LabError that lists the names there are."""
    if name not in stories():
        raise LabError(
            f"There is no story {name}.",
            f"Expected one of {', '.join(sorted(stories()))}; found {name}.",
            "Choose one of these.",
        )
    return stories()[name]
