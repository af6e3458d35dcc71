"""Whether other changes took the rows of missing positions off main: they explain no more rows than they took."""

from bot.diagnosis._case import in_window
from bot.diagnosis._compactions import lost_by
from bot.diagnosis._guests import is_overwrite
from bot.diagnosis._other_writers import changes_without_job
from bot.domain.diagnosis import CannotTell, Case, Excluded
from bot.domain.findings import GapsFinding
from bot.domain.ids import short
from bot.domain.other_writers import name_of
from bot.domain.sentences import counted
from bot.domain.table import Snapshot


def taken_off(case: Case, found: GapsFinding) -> Excluded | None:
    """That is another mode's fault, where they have taken as many, or nobody knows how many."""
    removing, most = _removing(case), _most_taken(case)
    if not removing or (most is not None and most - _brought_back(case) < found.missing):
        return None
    first = removing[0]
    return Excluded(
        reason=f"{short(first.snapshot_id)} ({first.operation} by {name_of(first)}) took rows off the table: they "
        f"were written once{' (F21)' if first in changes_without_job(case) else ''}."
    )


def taken_in_part(case: Case, found: GapsFinding) -> CannotTell | None:
    """What is missing to know of all of them, where these changes may have taken fewer rows than are missing; None:
    they took none."""
    removing, most = _removing(case), _most_taken(case)
    if not removing or not most:
        return None
    took = f"they took {counted(most, 'row')} at the most, and nothing holds the others"
    if most >= found.missing:
        took = f"they took {counted(most, 'row')}, and wrote {_brought_back(case)} anew, which may be the same ones"
    which = f"which of the {found.missing} missing positions {short(removing[0].snapshot_id)} and its like took off"
    return CannotTell(missing=(f"{which}: {took}",))


def _removing(case: Case) -> tuple[Snapshot, ...]:
    foreign = [s for s in changes_without_job(case) if s.operation != "append"]
    return tuple(s for s in in_window(case) if s in foreign or is_overwrite(s))


def _most_taken(case: Case) -> int | None:
    """How many rows they have taken off at the most; None: one of them does not count them."""
    taken = [_counted(case, each) for each in _removing(case)]
    told = [each for each in taken if each is not None]
    return sum(told) if len(told) == len(taken) else None


def _brought_back(case: Case) -> int:
    """How many rows they have written that may be rows that they took: an engine without a job of its own writes anew
    what it leaves of a file. Not where no file of theirs bears a position."""
    rows = case.ledger.rows if case.ledger is not None else ()
    bare = {row.snapshot_id for row in rows if row.added_rows and row.position_from is None}
    own = (each for each in _removing(case) if each.operation == "overwrite" and each.job_id is None)
    return sum(each.counted("added-records") for each in own if each.snapshot_id not in bare)


def _counted(case: Case, change: Snapshot) -> int | None:
    if change.operation == "replace":
        return lost_by(case, change)
    by_files = change.counted("added-delete-files") and not change.counted("added-position-deletes")
    is_told = "deleted-records" in change.summary or change.counted("added-position-deletes")
    if not is_told or by_files or change.counted("added-equality-deletes"):
        return None
    return change.counted("deleted-records") + change.counted("added-position-deletes")
