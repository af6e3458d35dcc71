"""Whether the table had the rows of missing positions once: then it was not the source that skipped them."""

from bot.diagnosis._case import at_position, in_window, unseen
from bot.diagnosis._guests import is_overwrite
from bot.diagnosis._other_writers import changes_without_job
from bot.diagnosis._unbroken import is_filled, is_found_missing, untold_beginning
from bot.domain.diagnosis import CannotTell, Case, Excluded
from bot.domain.findings import GapsFinding
from bot.domain.ids import short
from bot.domain.ledger import LedgerRow
from bot.domain.looked import NotSeen
from bot.domain.other_writers import name_of
from bot.domain.rollbacks import Rollback, Sequel, rollbacks
from bot.domain.sentences import counted


def brought_once(case: Case, found: GapsFinding) -> Excluded | CannotTell | None:
    """By which commits, as far as is known; None: by none."""
    if (rolled_back := _rolled_back(case)) is not None:
        return rolled_back
    if (other := _taken_off_main(case)) is not None:
        return Excluded(reason=other)
    if (row := _held_by_rolled_back(case, found)) is None:
        return None
    if case.contract.position_partition is not None:
        return CannotTell(missing=(_of_which_partition(row),))
    return Excluded(
        reason=f"{short(row.snapshot_id)} had brought positions {at_position(case, row.position_from)} to "
        f"{at_position(case, row.position_until)}, and was rolled back: it was not the source that skipped them."
    )


def _rolled_back(case: Case) -> Excluded | CannotTell | None:
    """Whether a rollback took the rows off main, which is F6's fault. Only Flink knows of a run that went on whether it
    was restored in between, and read them again."""
    table, jobs = case.observation.table, case.observation.jobs
    seen = (lost for lost in rollbacks(table, case.runs) if lost.is_within(case.window, table))
    explained = {Sequel.REDONE, Sequel.OTHER_RUN}
    still = [lost for lost in seen if lost.sequel not in explained and not is_filled(case, lost)]
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


def _is_untold(case: Case, lost: Rollback) -> bool:
    """Whether nothing shows that the run that goes on did not read again what main lost."""
    return lost.may_go_on is not None or (lost.sequel is Sequel.UNTOLD and not is_found_missing(case, lost))


def _taken_off_main(case: Case) -> str | None:
    """What other change took rows off main that were there; that is another mode's fault."""
    foreign = [s for s in changes_without_job(case) if s.operation != "append"]
    removed = next((s for s in in_window(case) if s in foreign or is_overwrite(s)), None)
    if removed is not None:
        return (
            f"{short(removed.snapshot_id)} ({removed.operation} by {name_of(removed)}) took rows off the table: they "
            f"were written once{' (F21)' if removed in foreign else ''}."
        )
    return None


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
