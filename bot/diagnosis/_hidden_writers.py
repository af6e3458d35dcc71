"""What F16 and F17 say of copies whose writers a compaction hides."""

from bot.domain.diagnosis import CannotTell, Case
from bot.domain.findings import DuplicatesFinding
from bot.domain.ids import SnapshotId
from bot.domain.sentences import counted


def cannot_tell_which(found: DuplicatesFinding) -> CannotTell:
    """One commit or several, one subtask or several: the copies stand in a file of the compaction."""
    keys = counted(found.hidden, "key")
    return CannotTell(missing=(f"who wrote the copies of {keys} (a compaction has rewritten them and hides it)",))


def last_good_below(case: Case, first: SnapshotId | None) -> SnapshotId | None:
    """What lies below `first`, the oldest commit that shows the fault; where the window begins, if none does. None
    where a compaction hides who wrote some copy: any state before it may hold the copies."""
    if case.duplicates is not None and case.duplicates.hidden:
        return None
    return case.observation.table.by_id[first].parent_id if first else case.window.since
