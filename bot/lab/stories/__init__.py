"""The named ways in which this world goes wrong: one file each, found by one scan.

A story is a module with `NAME`, `SUMMARY` and `tell(world, early)`. `early` returns as soon as the mistake is
made, before it shows.
"""

import pkgutil
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from types import MappingProxyType
from typing import Protocol, cast

from bot.lab.errors import LabError
from bot.lab.world import World


class Story(Protocol):
    """What each module in this package offers."""

    NAME: str
    SUMMARY: str

    def tell(self, world: World, early: bool) -> None:
        """Makes it happen."""


@cache
def stories() -> Mapping[str, Story]:
    """All stories by name."""
    found = {}
    for module in pkgutil.iter_modules(__path__):
        story = cast("Story", import_module(f"{__name__}.{module.name}"))
        found[story.NAME] = story
    return MappingProxyType(found)


def story_named(name: str) -> Story:
    """The story of this name. Raises LabError that lists the names there are."""
    if name not in stories():
        raise LabError(
            f"There is no story {name}.",
            f"Expected one of {', '.join(sorted(stories()))}; found {name}.",
            "Choose one of these.",
        )
    return stories()[name]
