"""Whether what a run may have read again is in the table once, counted since it brought the first of it.

Where a run began whose beginning nothing else tells: its first rows show it, once they are counted.

What follows the commit of a job that was drained, or whose source has ended: a run that takes it for its own never
commits with the V1 sink (F5), and of any other nothing but its rows tells where it began in its source.

Whether a run's first commit brought again what another run had brought, by the rows that live twice.

Whether evidence is older than what the newest start of the job hides: Flink shows only a run's newest restore, so
what an earlier one brought again, or left out, is seen in the rows alone.
"""

from collections.abc import Iterable, Sequence

from bot.diagnosis._asked import answers, checked_until, lacking, reaches_head, too_early_for, unasked
from bot.diagnosis._case import at_position, committer_ids, in_window, living, time_in, writes_as_v1
from bot.diagnosis._lost_and_expired import SEVERAL
from bot.diagnosis._unbroken import every_row_is_there
from bot.diagnosis._upsert import why_upsert
from bot.diagnosis._wrong_rows import repeats_unexplained
from bot.domain.diagnosis import CannotTell, Case
from bot.domain.flink import JobRun, Restored, names_run
from bot.domain.guests import Guests, commits_of_job
from bot.domain.ids import DRAINED, JobId, SnapshotId, short, short_job
from bot.domain.ledger import LedgerRow
from bot.domain.rewinds import came_up_at
from bot.domain.sentences import counted
from bot.domain.table import Snapshot


def older_than_a_start(case: Case, until: SnapshotId | None, *tasks: str) -> CannotTell | None:
    """What is missing to vouch for the table up to `until`: the job has committed rows above it, and a run was started
    or restored since. None: no commit lies between. `tasks`: the evidence that ends there, to be collected again."""
    table, guests = case.observation.table, Guests(case)
    edge = table.place_of(until)
    newer = [s for s in table.of_flink if table.place_of(s.snapshot_id) > edge and s.adds_rows and not guests.has(s)]
    for run in living(case) if newer else ():
        moment = came_up_at(run)
        is_older = any(too_early_for(case, task, moment) is not None for task in tasks)
        hidden = next((s for s in newer if is_older or _is_of_before(s, run.restored)), None)
        if hidden is None:
            continue
        how = "restored" if run.restored is not None else "started"
        said = (
            f"they do not cover commit {short(hidden.snapshot_id)}, and run {short_job(run.job_id)} was {how} "
            f"meanwhile, at {time_in(case, moment)}"
        )
        return CannotTell(missing=(f"{', '.join(tasks)}, once more: {said}",), asks=tasks)
    return None


def _is_of_before(commit: Snapshot, point: Restored | None) -> bool:
    """Whether its rows come from before the restore: a sink commits at a restore what the state lists."""
    if point is None:
        return False
    is_listed = (commit.checkpoint_id or 0) <= point.checkpoint_id and names_run(point.path, commit.job_id or JobId(""))
    return commit.committed_at < point.at or is_listed


def is_replayed(case: Case, commit: SnapshotId, earlier: JobId) -> bool:
    """Whether keys of the earlier run's commits live again in the new run's first commit, as far as is known from the
    same source positions: else the source gave them twice."""
    by_id = case.observation.table.by_id
    return any(
        pair.second == commit
        and (one := by_id.get(pair.first)) is not None
        and one.job_id == earlier
        and overlap(case, pair.first, pair.second) is not False
        for pair in (case.duplicates.pairs if case.duplicates is not None else ())
    )


def overlap(case: Case, first: SnapshotId, second: SnapshotId) -> bool | None:
    """Whether the later commit begins below where the earlier one ends in the source; None: bounds of several source
    partitions together tell nothing, nor do those that are not known."""
    rows = {row.snapshot_id: row for row in (case.ledger.main if case.ledger else ())}
    one, other = rows.get(first), rows.get(second)
    if one is None or other is None or case.contract.position_partition is not None:
        return None
    until, begins = one.position_until, other.position_from
    return None if until is None or begins is None else begins <= until


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


def first_rows_tell(case: Case, begun: str, run: JobId, first: Snapshot | None) -> CannotTell | None:
    """What is missing to know that it began in the right place; None: its rows from `first` on were counted and are no
    copies. `begun`: which run is meant, and why it is in doubt, a clause; `first`: its first commit, None without."""
    if first is None:
        return CannotTell(missing=(f"{begun}: its first rows tell, and it has brought none yet",))
    left = uncounted(case, run, first.snapshot_id)
    return None if left is None else CannotTell(missing=(f"{begun}: {'; '.join(left.missing)}",), asks=left.asks)


def takes_for_its_own(case: Case, run: JobRun, drained: Snapshot) -> bool | None:
    """None while only an unknown sink could tell.

    V1 looks for the job whose state it restored; V2 for its own job id, restored or not.
    """
    v1 = writes_as_v1(run, drained.operator_id)
    ids = committer_ids(case, run)
    if v1 and drained.operator_id is not None and ids and drained.operator_id not in ids:
        return False
    if run.job_id == drained.job_id:
        return run.restored is not None if v1 else True if v1 is False else None
    if run.restored is None:
        return False if run.vertices or v1 is False else None
    return v1


def started_after_a_drain(case: Case) -> CannotTell | None:
    """What is missing to know that a living run, started where the job's newest commit was a drained one, began in the
    right place: that commit names no id to which its restore point could be held. None: its first rows were counted, or
    lie below the window, or there is no such run."""
    commits, inside = commits_of_job(case), {s.snapshot_id for s in in_window(case)}
    for run in living(case):
        first = next((s for s in commits if s.job_id == run.job_id and s.committed_at >= run.started_at), None)
        before = [s for s in commits if s.committed_at < run.started_at]
        if not before or before[-1].checkpoint_id != DRAINED or (first and first.snapshot_id not in inside):
            continue
        begun = f"where run {short_job(run.job_id)} began, after the drained commit {short(before[-1].snapshot_id)}"
        if (left := first_rows_tell(case, begun, run.job_id, first)) is not None:
            return left
    return None
