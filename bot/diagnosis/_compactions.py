"""Whether the window's compactions kept their rows: by their counters, and where these leave it open, by evidence.

A snapshot never changes, so what was compared once of a compaction holds of it for ever.
"""

from bot.diagnosis._asked import unasked
from bot.diagnosis._case import in_window, not_asked
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.ids import short
from bot.domain.other_writers import counts_no_rows, keeps_its_rows, leaves_rows_open, rows_lost_by_replacing
from bot.domain.sentences import counted
from bot.domain.table import Snapshot

COMPARES = "corrected_rows"
"""The task that compares the keys before and after a compaction."""


def lost_by(case: Case, snapshot: Snapshot) -> int:
    """Rows that a compaction is known to have lost; 0 for any other commit."""
    if snapshot.operation != "replace":
        return 0
    compared = _compared(case, snapshot)
    return rows_lost_by_replacing(case.observation.table, snapshot) if compared is None else compared


def is_known_to_keep_rows(case: Case, snapshot: Snapshot) -> bool:
    """Whether what was live before this commit is known to be live after it: it added rows only, or moved them and lost
    none. What nobody counted or compared is not known."""
    table = case.observation.table
    if snapshot.operation == "append":
        return True
    return keeps_its_rows(table, snapshot) and not lost_by(case, snapshot) and not _is_open(case, snapshot)


def unsettled_compactions(case: Case) -> CannotTell | None:
    """What is missing to know that no compaction of the window lost rows; None: nothing is."""
    table = case.observation.table
    open_still = [s for s in in_window(case) if _is_open(case, s) and not rows_lost_by_replacing(table, s)]
    if not open_still:
        return None
    first, more = open_still[0], len(open_still) - 1
    which = f"{short(first.snapshot_id)}" + (f" and {counted(more, 'more compaction')}" if more else "")
    return CannotTell(
        missing=(f"{not_asked(case, COMPARES)}: compaction {which} {_left_open(case, first)}",),
        asks=unasked(case, COMPARES),
    )


def _left_open(case: Case, compaction: Snapshot) -> str:
    if counts_no_rows(case.observation.table, compaction):
        return "does not count the rows that it read; only the keys before and after it show whether it kept them"
    return (
        "wrote fewer rows than it read, and the deletes that it removed do not account for them; only the keys before "
        "and after it show whether other deletes do"
    )


def _is_open(case: Case, snapshot: Snapshot) -> bool:
    """Whether counters leave open what a compaction kept, and nobody compared."""
    return leaves_rows_open(case.observation.table, snapshot) and _compared(case, snapshot) is None


def _compared(case: Case, snapshot: Snapshot) -> int | None:
    """Rows that evidence found lost; None where nobody compared."""
    told = case.corrected.compactions if case.corrected is not None else ()
    return next((each.lost for each in told if each.snapshot_id == snapshot.snapshot_id), None)
