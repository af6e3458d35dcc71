"""Where a run began whose beginning nothing else tells: its first rows show it, once they are counted."""

from bot.diagnosis._read_again_once import uncounted
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.ids import JobId
from bot.domain.table import Snapshot


def first_rows_tell(case: Case, begun: str, run: JobId, first: Snapshot | None) -> CannotTell | None:
    """What is missing to know that it began in the right place; None: its rows from `first` on were counted and are no
    copies. `begun`: which run is meant, and why it is in doubt, a clause; `first`: its first commit, None without."""
    if first is None:
        return CannotTell(missing=(f"{begun}: its first rows tell, and it has brought none yet",))
    left = uncounted(case, run, first.snapshot_id)
    return None if left is None else CannotTell(missing=(f"{begun}: {'; '.join(left.missing)}",), asks=left.asks)
