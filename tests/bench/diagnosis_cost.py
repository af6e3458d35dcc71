"""`python -m tests.bench.diagnosis_cost`: a whole diagnosis of one window, on tables with histories of any length."""

import time
from collections.abc import Callable, Sequence
from functools import partial

from rich.console import Console
from rich.table import Table

import bot.diagnosis
from bot.diagnosis._support.examine import diagnose, scan
from bot.history.case import Case
from tests.long_cases import HAPPENS, long_case

COMMITS = (1_000, 10_000, 100_000)
AIM = 1.2
_TURNS = 10
_MODES = scan(bot.diagnosis)


def diagnosis_costs() -> dict[str, tuple[float, ...]]:
    """What happened in the window -> milliseconds of this process, by the number of commits below it.

    The shortest of some turns, in which each size is asked once. The first diagnosis, which sorts the ids of a table
    that was just read, is not counted.
    """
    found = {}
    for what in HAPPENS:
        cases = [long_case(what, commits) for commits in COMMITS]
        turns = [[_milliseconds(partial(_diagnosed, case)) for case in cases] for _ in range(_TURNS + 1)]
        found[what] = tuple(min(times) for times in zip(*turns[1:], strict=True))
    return found


def print_diagnosis(console: Console) -> None:
    """Ratios are to the smallest table of the same run."""
    grid = Table(title=f"Milliseconds of a whole diagnosis of one window (aim: {AIM} × of the smallest at the largest)")
    grid.add_column("in the window")
    for commits in COMMITS:
        grid.add_column(f"{commits:,} commits below", justify="right")
    for what, times in diagnosis_costs().items():
        grid.add_row(what, *_with_ratios(times))
    console.print(grid)


def _with_ratios(times: Sequence[float]) -> list[str]:
    return [f"{each:.0f} ({each / times[0]:.2f} ×)" for each in times]


def _diagnosed(case: Case) -> None:
    """Of a case of its own: what was worked out of one is kept with it."""
    diagnose(case.model_copy(), _MODES)


def _milliseconds(do: Callable[[], None]) -> float:
    began = time.process_time()
    do()
    return (time.process_time() - began) * 1000


if __name__ == "__main__":
    print_diagnosis(Console(highlight=False, width=118))
