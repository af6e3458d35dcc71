"""Runs in the window that began without any state although the table already held commits of the job."""

from bot.diagnosis._case import in_window
from bot.domain import empty_starts as on_main
from bot.domain.diagnosis import Case
from bot.domain.empty_starts import EmptyStart
from bot.domain.findings import RepeatedCommit
from bot.domain.guests import Guests


def empty_starts(case: Case) -> tuple[EmptyStart, ...]:
    """Those whose first commit lies in the window, oldest first, the silent ones last."""
    inside = {s.snapshot_id for s in in_window(case)}
    found = on_main.empty_starts(case.observation.table, case.runs, Guests(case).alive)
    return tuple(s for s in found if s.first is None or s.first in inside)


def counted_anew(case: Case, repeated: RepeatedCommit) -> bool:
    """Whether the job started without state under this job id between the two commits, and wrote other files: the
    second carries the same checkpoint because the ids began at 1 again, and its source may have begun anew too."""
    table = case.observation.table
    first, again = table.by_id.get(repeated.first), table.by_id.get(repeated.again)
    if repeated.how != "same-checkpoint" or first is None or again is None:
        return False
    own = (s.first for s in empty_starts(case) if s.keeps_job_id and s.run == again.job_id and s.first)
    between = range(table.place_of(repeated.first) + 1, table.place_of(repeated.again) + 1)
    return any(table.place_of(start) in between for start in own)
