"""Whether the job may have brought further copies since evidence counted them: that of a run which re-reads what main
has lists only those that had come."""

from bot.actions._passed import has_own_copies, made_once
from bot.actions._starts import by_start
from bot.domain.diagnosis import Case
from bot.domain.guests import Guests, commits_that_bind
from bot.domain.ids import SnapshotId
from bot.domain.table import Snapshot


def may_have_come_since(case: Case, head: SnapshotId | None) -> bool:
    """Whether rows that the job has added above `head`, which evidence looked at, may repeat some that main had.

    Not where the ledger tells that the start which wrote all of them had passed by then what main had, nor while one
    start alone has written the table and copies are none but of commits that were made twice (F1). Where nothing tells,
    they may. What others committed makes evidence stale anyway, and so does a `head` that is not on main.
    """
    table, guests = case.observation.table, Guests(case)
    if head not in table.chain_ids:
        return False
    below = {s.snapshot_id for s in table.ancestors(head)}
    commits = [s for s in commits_that_bind(case) if not guests.has_run(s.job_id)]
    since = [s for s in commits if s.adds_rows and s.snapshot_id not in below]
    if not since or since[-1].job_id is None:
        return False
    present, others = by_start(commits, since[-1].job_id)
    if not others:
        once = made_once(case, present)
        had = [s for s in once if s.snapshot_id in below]
        return has_own_copies(case, once) is True and not _had_passed(case, had[-1:], [had])
    is_of_several = not {s.snapshot_id for s in since} <= {s.snapshot_id for s in present}
    is_untold = guests.is_untold or case.contract.position_partition is not None
    earlier = [[s for s in start if s.snapshot_id in below] for start in others]
    return is_of_several or is_untold or not _had_passed(case, [s for s in present if s.snapshot_id in below], earlier)


def _had_passed(case: Case, present: list[Snapshot], others: list[list[Snapshot]]) -> bool:
    """Whether `present` had reached, by source positions, all that main had of these starts; False where the ledger
    does not tell it of each."""
    taken_out = case.observation.table.taken_out
    bound = {s.snapshot_id for start in (present, *others) for s in start if s.adds_rows} - taken_out
    rows = [row for row in (case.ledger.rows if case.ledger else ()) if row.snapshot_id in bound]
    told = {row.snapshot_id: row.position_until for row in rows if row.position_until is not None}
    reached = [told[s.snapshot_id] for s in present if s.snapshot_id in told]
    newest = [next((s for s in reversed(start) if s.snapshot_id in bound), None) for start in others]
    is_whole = len(told) == len(rows) and all(s is None or s.snapshot_id in told for s in newest)
    return is_whole and bool(reached) and max(reached) >= max(told.values())
