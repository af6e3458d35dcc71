"""Whether what a run may have read again is in the table once, counted since it brought the first of it."""

from collections.abc import Iterable, Sequence

from bot.diagnosis._asked import answers, checked_until, lacking, reaches_head, unasked
from bot.diagnosis._case import at_position
from bot.diagnosis._lost_and_expired import SEVERAL
from bot.diagnosis._older_than_a_start import older_than_a_start
from bot.diagnosis._replayed import overlap
from bot.diagnosis._unbroken import every_row_is_there
from bot.diagnosis._upsert import why_upsert
from bot.diagnosis._wrong_rows import repeats_unexplained
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.guests import Guests
from bot.domain.ids import JobId, SnapshotId, short, short_job
from bot.domain.ledger import LedgerRow
from bot.domain.sentences import counted

_COUNTS = ("duplicate_rows", "missing_positions", "duplicate_commits")
"""Evidence that shows copies: by key, by position, and by the bounds of commits where the key is drawn anew."""


def lives_once(case: Case) -> bool:
    """Whether all was looked at as it is now, and what was read again is not there twice, nor anything missing."""
    if not reaches_head(case) or not answers(case, "duplicate_rows") or case.duplicates is None or case.duplicates.keys:
        return False
    return why_upsert(case) is not None or every_row_is_there(case)


def uncounted(case: Case, run: JobId, first: SnapshotId) -> CannotTell | None:
    """What is missing to know that the rows which a run has brought from its commit `first` on were counted and are no
    copies; None: nothing. A count from before its first rows says nothing of them. What it reads again comes first,
    but for a source of several partitions, of which one may come late: there the count must be of the head."""
    table, edge = case.observation.table, case.observation.table.place_of(first)
    own = (s for s in reversed(table.chain) if s.job_id == run and table.place_of(s.snapshot_id) >= edge)
    brought = next((s for s in own if s.adds_rows), None)
    if brought is None:
        return CannotTell(missing=(f"the first rows of run {short_job(run)}, which has brought none yet",))
    counts = _COUNTS if why_upsert(case) is None else ("duplicate_rows",)
    if missing := lacking(case, *counts, whole=True):
        return CannotTell(missing=missing, asks=tuple(task for task in counts if lacking(case, task)))
    until = table.head if case.contract.position_partition is not None else brought.snapshot_id
    counts = (*counts, "ledger") if _places_rows(case) else counts
    if below := tuple(task for task in counts if not _covers(case, task, until)):
        return CannotTell(missing=(f"{', '.join(below)}, once more, up to {short(until)}",), asks=below)
    if (early := _before_each_partition(case, run, edge)) is not None:
        return early
    return repeats_unexplained(case)


def _before_each_partition(case: Case, run: JobId, edge: int) -> CannotTell | None:
    """What is missing while a partition of the source may not have come yet: what the run passed over there shows only
    below a later row of it. None: the source has none that is named, or its silence would have been told by now. Rows
    of whoever went on from the run tell as well: it may be over."""
    if case.contract.position_partition is None:
        return None
    table, guests = case.observation.table, Guests(case)
    since = (s for s in table.of_flink if s.adds_rows and table.place_of(s.snapshot_id) >= edge)
    many = sum(s.job_id == run or not guests.has(s) for s in since)
    if many >= SEVERAL:
        return None
    left = counted(SEVERAL - many, "commit")
    return CannotTell(
        missing=(
            f"{left} more with rows of run {short_job(run)}, or of one that goes on from it: a source partition of "
            "which none has come since shows nothing of what was passed over in it",
        )
    )


def begins_below(case: Case, before: SnapshotId, first: SnapshotId) -> CannotTell | None:
    """What is missing to know that nothing came again under other keys, where a run's first commit begins at or below
    the highest position of an older one, or the older one lies below the window, so that nothing tells; None: nothing
    is, or it begins above, or positions tell nothing."""
    begins_lower = overlap(case, before, first)
    is_cut = begins_lower is None and _begins_the_window(case, before, first)
    if before == first or why_upsert(case) is not None or not (begins_lower or is_cut):
        return None
    ends = f"where {short(before)} ends in the source"
    said = f"{short(first)} begins below {ends}, though no key lives twice"
    said = f"whether {short(first)} begins below {ends}: the window does not hold that one" if is_cut else said
    if missing := lacking(case, "replayed_rows", whole=True):
        return CannotTell(missing=(f"{missing[0]}: {said}",), asks=unasked(case, "replayed_rows"))
    if case.replayed is not None and case.replayed.replayed:
        return CannotTell(missing=(f"why {case.replayed.replayed} rows came again under other keys: {said}",))
    return None


def not_passed(case: Case, run: JobId, first: SnapshotId) -> CannotTell | None:
    """What is missing where a run that began with its commit `first` has brought no position yet as high as main had
    before: it may have filled a hole, and is to bring again what lies above. None where it has, or bounds of commits do
    not tell."""
    if case.ledger is None or not _places_rows(case):
        return None
    table, guests = case.observation.table, Guests(case)
    edge = table.place_of(first)
    rows = [row for row in case.ledger.main if row.snapshot_id in table.by_id]
    mine = [r for r in rows if r.job_id == run and table.place_of(r.snapshot_id) >= edge]
    own = _until(mine)
    theirs = (r for r in rows if r.job_id != run and r.operation != "replace")
    others = [r for r in theirs if not guests.has(table.by_id[r.snapshot_id])]
    before = highest = _until(r for r in others if table.place_of(r.snapshot_id) < edge)
    if not any(r.added_rows and table.place_of(r.snapshot_id) > edge for r in others):
        highest = max((end for end in (before, _highest(case)) if end is not None), default=None)
    if own is None or highest is None or own >= highest:
        return _counted_before_it_passed(case, run, mine, before)
    if (before is None or own >= before) and (newer := _above_the_ledger(case, run)) is not None:
        said = f"ledger, once more: {short(newer)}, which it does not list, may have brought the highest position"
        return CannotTell(missing=(said,), asks=("ledger",))
    until, so_far = at_position(case, highest), at_position(case, own)
    return CannotTell(
        missing=(f"whether run {short_job(run)}, which has come to {so_far}, brings again what lies up to {until}",)
    )


def _counted_before_it_passed(
    case: Case, run: JobId, mine: Sequence[LedgerRow], before: int | None
) -> CannotTell | None:
    """What is missing where rows were counted while the run still read again what main had up to the position `before`.
    `mine`: its commits since it began."""
    place = case.observation.table.place_of
    passed = (r for r in mine if before is not None and r.position_until is not None and r.position_until >= before)
    first = min(passed, key=lambda r: place(r.snapshot_id), default=None)
    below = tuple(task for task in _COUNTS if first is not None and not _covers(case, task, first.snapshot_id))
    if first is None or not below:
        return None
    said = f"only there has run {short_job(run)} passed where main had come"
    return CannotTell(missing=(f"{', '.join(below)}, once more, up to {short(first.snapshot_id)}: {said}",), asks=below)


def restored_since(case: Case) -> CannotTell | None:
    """What is missing where a run was started or restored after rows were counted, and commits came above these: it may
    have committed what its state owed, which is there already. None: nothing is."""
    counts = _COUNTS if why_upsert(case) is None else ("duplicate_rows",)
    return older_than_a_start(case, checked_until(case, *counts), *counts)


def not_known_yet(left: CannotTell) -> str:
    """With what to ask for, where that may settle it."""
    known = f"Whether it has brought rows again is not known yet: {'; '.join(left.missing)}."
    return f"{known} Ask for {', '.join(left.asks)}." if left.asks else known


def came_out_whole(case: Case, first: SnapshotId) -> str:
    """Why nothing is to be taken back, or may be: people look once more before they agree."""
    table = case.observation.table
    if any(s.is_repair for s in table.chain if s.committed_at > table.by_id[first].committed_at):
        return "An approved repair came after it: there is nothing to take back any more."
    if (upsert := why_upsert(case)) is not None:
        return (
            f"{upsert} Rows that came again replaced themselves; until the run has passed where the other stood, "
            "readers see older values."
        )
    return (
        "So nothing is to be taken back, unless the key is drawn anew at each reading: then look whether a source "
        "position lives twice."
    )


def _places_rows(case: Case) -> bool:
    """Whether the ledger's bounds of positions tell how far a run has come."""
    return case.contract.position is not None and case.contract.position_partition is None and not why_upsert(case)


def _highest(case: Case) -> int | None:
    """The highest live position, whichever commit brought it; None: it may be a guest's, or nobody looked."""
    guests, highest = Guests(case), case.gaps.highest if case.gaps is not None else None
    ends = {row.snapshot_id: row.position_until for row in (case.ledger.main if case.ledger is not None else ())}
    theirs = [s.snapshot_id for s in case.observation.table.of_flink if s.adds_rows and guests.has(s)]
    is_a_guests = any(each not in ends or (ends[each] or 0) >= (highest or 0) for each in theirs)
    return None if is_a_guests else highest


def _above_the_ledger(case: Case, run: JobId) -> SnapshotId | None:
    """The run's newest commit with rows that `missing_positions` covers, where the ledger was asked for before it."""
    table = case.observation.table
    listed, looked = (table.place_of(checked_until(case, task)) for task in ("ledger", "missing_positions"))
    own = (s for s in table.of_flink if s.job_id == run and s.adds_rows)
    return next((s.snapshot_id for s in own if listed < table.place_of(s.snapshot_id) <= looked), None)


def _begins_the_window(case: Case, before: SnapshotId, first: SnapshotId) -> bool:
    """Whether positions would tell, but the window begins above `before`."""
    rows = {row.snapshot_id: row for row in (case.ledger.main if case.ledger else ())}
    is_told = first in rows and rows[first].position_from is not None and case.contract.position_partition is None
    return is_told and before not in rows


def _until(rows: Iterable[LedgerRow]) -> int | None:
    """The highest position that they brought; None: of none it is known."""
    return max((r.position_until for r in rows if r.added_rows and r.position_until is not None), default=None)


def _covers(case: Case, task: str, until: SnapshotId | None) -> bool:
    table = case.observation.table
    return table.place_of(checked_until(case, task)) >= table.place_of(until)
