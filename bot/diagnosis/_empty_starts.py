"""Runs in the window that began without any state although the table already held commits of the job."""

from bot.diagnosis._case import in_window
from bot.domain import empty_starts as on_main
from bot.domain.diagnosis import Case
from bot.domain.empty_starts import EmptyStart


def empty_starts(case: Case) -> tuple[EmptyStart, ...]:
    """Those whose first commit lies in the window, oldest first, the silent ones last."""
    inside = {s.snapshot_id for s in in_window(case)}
    found = on_main.empty_starts(case.observation.table, case.runs)
    return tuple(s for s in found if s.first is None or s.first in inside)
