"""Whether the table had the rows of missing positions once: then it was not the source that skipped them."""

from bot.diagnosis._case import at_position, unseen
from bot.diagnosis._taken_off import taken_off
from bot.diagnosis._unbroken import is_found_missing, lies_beside_gaps, rows_were_put_back, untold_beginning
from bot.domain.diagnosis import CannotTell, Case, Excluded
from bot.domain.findings import GapsFinding
from bot.domain.guests import Guests
from bot.domain.ids import short
from bot.domain.ledger import LedgerRow
from bot.domain.looked import NotSeen
from bot.domain.rollbacks import Rollback, Sequel, rollbacks
from bot.domain.sentences import counted


def brought_once(case: Case, found: GapsFinding) -> Excluded | CannotTell | None:
    """By which commits, as far as is known; None: by none."""
    if (rolled_back := _rolled_back(case)) is not None:
        return rolled_back
    if (elsewhere := taken_off(case, found)) is not None:
        return elsewhere
    if (row := _held_by_rolled_back(case, found)) is None:
        return None
    if case.contract.position_partition is not None:
        return CannotTell(missing=(_of_which_partition(row),))
    return Excluded(
        reason=f"{short(row.snapshot_id)} had brought positions {at_position(case, row.position_from)} to "
        f"{at_position(case, row.position_until)}, and was rolled back: it was not the source that skipped them."
    )


def _rolled_back(case: Case) -> Excluded | CannotTell | None:
    """Whether a rollback took the rows off main, which is F6's fault; not one of guests' commits alone, which hold no
    position of this source. Only Flink knows of a run that went on whether it was restored in between, and read them
    again."""
    table, jobs = case.observation.table, case.observation.jobs
    seen = (lost for lost in rollbacks(table, case.runs) if lost.is_within(case.window, table))
    explained, guests = {Sequel.REDONE, Sequel.OTHER_RUN}, Guests(case)
    own = (lost for lost in seen if not all(guests.has(table.by_id[each]) for each in lost.left))
    still = [lost for lost in own if lost.sequel not in explained and not _is_another_hole(case, lost)]
    if not still:
        return None
    if isinstance(jobs, NotSeen):
        return CannotTell(missing=(unseen(jobs),))
    lost = next((each for each in still if not _is_untold(case, each)), None)
    if lost is None:
        return CannotTell(missing=(untold_beginning(case, still[0]),))
    return Excluded(
        reason=f"Main was rolled back to {short(lost.target)} and lost {counted(len(lost.left), 'commit')}, which "
        "held rows that are missing now (F6)."
    )


def _is_another_hole(case: Case, lost: Rollback) -> bool:
    return rows_were_put_back(case, lost) or lies_beside_gaps(case, lost)


def _is_untold(case: Case, lost: Rollback) -> bool:
    """Whether nothing shows that the run that goes on did not read again what main lost."""
    return lost.may_go_on is not None or (lost.sequel is Sequel.UNTOLD and not is_found_missing(case, lost))


def _held_by_rolled_back(case: Case, found: GapsFinding) -> LedgerRow | None:
    """A commit that was rolled back and had brought missing positions, by the bounds of its files."""
    for row in case.ledger.rolled_back if case.ledger else ():
        low, high = row.position_from, row.position_until
        if low is not None and high is not None and any(g.first <= high and low <= g.last for g in found.gaps):
            return row
    return None


def _of_which_partition(row: LedgerRow) -> str:
    return (
        f"whether {short(row.snapshot_id)}, which was rolled back, had brought the missing positions: the bounds of "
        "its files are of all source partitions together"
    )
