"""Finds the failure modes: every module of this package that does not begin with `_`."""

import importlib
import pkgutil
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType, ModuleType

from bot.domain.diagnosis import Case, Examined, Mode
from bot.domain.errors import BadConfiguration
from bot.domain.record import Record


class ModeModule(Record):
    """A failure mode as the application uses it."""

    mode: Mode
    examine: Callable[[Case], Examined]
    """Pure: the same case, the same answer."""


def scan(package: ModuleType) -> Mapping[str, ModeModule]:
    """Code -> module, frozen, in the order of the catalogue (F1, F2, …, then words).

    Raises BadConfiguration with what to write.
    """
    found: dict[str, ModeModule] = {}
    for info in pkgutil.iter_modules(package.__path__):
        if info.name.startswith("_"):
            continue
        name = f"{package.__name__}.{info.name}"
        module = importlib.import_module(name)
        mode, examine = getattr(module, "MODE", None), getattr(module, "examine", None)
        if not isinstance(mode, Mode) or not callable(examine) or mode.name != info.name:
            raise BadConfiguration(
                f"The diagnosis module {name} is not complete.",
                f"Expected MODE = Mode(code=…, name={info.name!r}, …) and examine(case) -> Matches | Excluded | "
                f"CannotTell; found MODE={type(mode).__name__}, "
                f"examine={'a function' if callable(examine) else 'none'}.",
                "Write both; CONTRIBUTING.md shows an example.",
            )
        if mode.code in found:
            raise BadConfiguration(
                f"The diagnosis module {name} repeats a code.",
                f"Expected a code of its own; found {mode.code}, which {found[mode.code].mode.name} has.",
                "Give it the code of its line in the catalogue, or a word.",
            )
        found[mode.code] = ModeModule(mode=mode, examine=examine)
    return MappingProxyType({code: found[code] for code in sorted(found, key=_catalogue_order)})


def _catalogue_order(code: str) -> tuple[int, int, str]:
    number = re.fullmatch(r"F(\d+)", code)
    return (0, int(number[1]), code) if number else (1, 0, code)
