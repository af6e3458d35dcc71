"""Whether the snapshot that a match names as the newest before its fault may be called good.

A mode knows where its own fault begins, and nothing of what other faults lie below. So each match is held against what
evidence read of the rows up to that snapshot, in one place for all modes.
"""

from bot.diagnosis._support.asked import answers, checked_until, saw_all
from bot.diagnosis._support.case import in_window
from bot.diagnosis._support.leaks import came_again
from bot.diagnosis._support.lost_and_expired import may_be_lost_and_expired
from bot.diagnosis._support.other_writers import changes_without_job, is_known_to_keep_rows
from bot.diagnosis._support.upsert import may_be_replaced, why_upsert
from bot.history.case import Case
from bot.history.counted import Counted
from bot.history.source_records import may_be_deleted
from bot.history.starts import flink_commits, of_one_sink
from bot.incident.diagnosis import LastGoodRows, Matches
from bot.incident.doubt import rows_are_right
from bot.observation.findings import PositionGap
from bot.observation.ids import SnapshotId
from bot.observation.table import Snapshot

_RESTS_ON = ("duplicate_rows", "missing_positions", "duplicate_commits")
"""Evidence that must have answered as a whole, and still hold, before rows are called clean."""


def with_rows_told(case: Case, match: Matches) -> Matches:
    """The match with what is known of the rows up to its last good snapshot. Where they are known to be wrong and the
    match leaves the table as it is, none is named: nobody goes back to it, and nobody may rely on it."""
    if match.last_good is None or match.last_good_rows is not None:
        return match
    told = rows_up_to(case, match.last_good)
    if told is LastGoodRows.WRONG and rows_are_right(match):
        return match.model_copy(update={"last_good": None})
    return match.model_copy(update={"last_good_rows": told})


def rows_up_to(case: Case, snapshot: SnapshotId) -> LastGoodRows:
    """What the evidence of this case says of the rows up to a snapshot. Only what the window covers was read."""
    below = {s.snapshot_id for s in case.observation.table.ancestors(snapshot)}
    if _is_wrong(case, snapshot, below):
        return LastGoodRows.WRONG
    if case.accused or not _is_covered(case, snapshot, below):
        return LastGoodRows.NOT_LOOKED_AT
    is_clean = _no_key_twice(case, snapshot) and _none_missing(case, snapshot, below) and not _may_repeat(case, below)
    is_clean = is_clean and not _leaves_rows_out(case, snapshot)
    return LastGoodRows.CLEAN if is_clean else LastGoodRows.NOT_LOOKED_AT


def _is_wrong(case: Case, snapshot: SnapshotId, below: set[SnapshotId]) -> bool:
    found = case.duplicates
    if found is not None and found.keys:
        is_all_of_it = snapshot == checked_until(case, "duplicate_rows") and answers(case, "duplicate_rows")
        if is_all_of_it or any(pair.second in below for pair in found.pairs):
            return True
    reached = max((each for each in _ends(case, below) if each is not None), default=None)
    gaps = case.gaps.gaps if case.gaps is not None and may_be_replaced(case) is None else ()
    if reached is not None and any(gap.partition is None and gap.last < reached for gap in gaps):
        return True
    again = set(case.duplicate_files.again) if case.duplicate_files is not None else set()
    again |= {one for one, how in _repeated(case) if how != "same-source-range"}
    lost = set(case.missing_files.commits) if case.missing_files is not None else set()
    return bool((again | lost | _unreadable(case)) & below)


def _unreadable(case: Case) -> set[SnapshotId | None]:
    """Commits that added what cannot be read, as far as they are known."""
    found = case.unreadable
    return {*(f.snapshot_id for f in found.files), *found.commits} if found is not None else set()


def _is_covered(case: Case, snapshot: SnapshotId, below: set[SnapshotId]) -> bool:
    """Whether the evidence has answered of a state of main that holds this one, within the window, and saw all of it:
    what it found of a part says nothing of the rest."""
    if not all(answers(case, task) for task in _RESTS_ON) or not saw_all(case, *_RESTS_ON):
        return False
    if snapshot not in case.observation.table.chain_ids:
        return False
    until, since = checked_until(case, *_RESTS_ON), case.window.since
    covered = {s.snapshot_id for s in case.observation.table.ancestors(until)}
    return snapshot in covered and (since is None or (since in below and since != snapshot))


def _no_key_twice(case: Case, snapshot: SnapshotId) -> bool:
    """Whether what lived twice when it was looked for came above the snapshot alone, and nothing above it can have
    taken a copy of below away, or moved it into a file of its own."""
    found = case.duplicates
    assert found is not None
    above = _between(case, snapshot, "duplicate_rows")
    if not found.keys:
        return all(is_known_to_keep_rows(case, s) for s in above)
    if not found.names_all_commits:
        return False
    newer = {s.snapshot_id for s in above}
    return all(s.operation == "append" for s in above) and all(pair.second in newer for pair in found.pairs)


def _none_missing(case: Case, snapshot: SnapshotId, below: set[SnapshotId]) -> bool:
    """Whether no position is missing that the snapshot has passed, and none was then that has come since."""
    found, reached = case.gaps, _reached(case, below)
    assert found is not None
    if _may_be_deleted(case):
        return False
    if case.contract.position_partition is not None and _may_be_behind_a_partition(case):
        return False
    if (begun := Counted(case).unknown_beginning) is not None and begun.commit in below:
        return False
    above = _between(case, snapshot, "missing_positions")
    if not all(is_known_to_keep_rows(case, s) and _fills_nothing(case, s, reached, below) for s in above):
        return False
    if not found.missing:
        return True
    is_whole = sum(gap.size for gap in found.gaps) == found.missing
    return reached is not None and is_whole and all(g.partition is None and g.first > reached for g in found.gaps)


def _may_be_deleted(case: Case) -> bool:
    """Whether a hole may be what retention took before the job read it, where positions are not dense: only sure ones
    are counted as missing."""
    rows, kafka = Counted(case), case.observation.kafka
    if rows.is_dense or not (rows.torn or (case.gaps is not None and case.gaps.missing)):
        return False
    spans = (PositionGap(first=low, last=high, partition=each) for each, (low, high) in rows.ends.items())
    return any(may_be_deleted(kafka, span) is not None for span in spans)


def _leaves_rows_out(case: Case, snapshot: SnapshotId) -> bool:
    """Whether rows were written before the snapshot was committed that nothing commits, and are not known to have come
    again: where they begin or end what a source partition has, no gap shows them."""
    written = {manifest.path: manifest.written_at for manifest in case.observation.flink_manifests.values}
    at = case.observation.table.by_id[snapshot].committed_at
    lost = case.leaked.left_out if case.leaked is not None else ()
    return any((written.get(leak.path) or at) <= at and came_again(leak, case) is not True for leak in lost)


def _may_be_behind_a_partition(case: Case) -> bool:
    """Whether main may have lost rows of a source partition of which none has come since: no gap shows these, while
    rows of others have come above them."""
    to_come = case.gaps is not None and case.gaps.to_come > 0
    return to_come or may_be_lost_and_expired(case, checked_until(case, "missing_positions")) is not None


def _fills_nothing(case: Case, commit: Snapshot, reached: int | None, below: set[SnapshotId]) -> bool:
    """Whether no row that it brought can have been missing up to where older commits had reached: each lies above, or
    is a copy of what they had brought. What moved rows brought none."""
    if commit.operation != "append":
        return True
    row = next((r for r in (case.ledger.main if case.ledger else ()) if r.snapshot_id == commit.snapshot_id), None)
    if row is None or not row.added_rows:
        return row is not None
    pairs = case.duplicates.pairs if case.duplicates is not None else ()
    copies = sum(p.keys for p in pairs if p.second == commit.snapshot_id and p.first in below)
    if copies >= row.added_rows:
        return True
    return reached is not None and row.position_from is not None and copies > reached - row.position_from


def _may_repeat(case: Case, below: set[SnapshotId]) -> bool:
    """Whether rows up to the snapshot may be copies under other keys, or stand in another order than they came: a
    commit covers another's source range, is another writer's, or its checkpoint id does not rise."""
    if why_upsert(case) is None and any(one in below for one, _ in _repeated(case)):
        return True
    if any(s.snapshot_id in below for s in changes_without_job(case)):
        return True
    mine = [s for s in flink_commits(case.observation.table) if s.snapshot_id in below]
    return any((after.checkpoint_id or 0) <= (before.checkpoint_id or 0) for before, after in of_one_sink(mine))


def _repeated(case: Case) -> list[tuple[SnapshotId, str]]:
    found = case.duplicate_commits
    return [(r.again, r.how) for r in found.repeated if not r.is_cherry_pick] if found is not None else []


def _reached(case: Case, below: set[SnapshotId]) -> int | None:
    """The highest source position that the window's commits up to the snapshot brought; None where the bounds of one
    do not tell."""
    ends = _ends(case, below)
    told = [each for each in ends if each is not None]
    return max(told, default=None) if len(told) == len(ends) else None


def _ends(case: Case, below: set[SnapshotId]) -> list[int | None]:
    """Where the rows of each of these commits end in the source, None where no bound tells, as of one that came after
    the ledger; empty where the source has several partitions."""
    if case.contract.position_partition is not None or case.ledger is None:
        return []
    told = {row.snapshot_id for row in case.ledger.main}
    newer = [s for s in in_window(case) if s.snapshot_id in below and s.snapshot_id not in told and s.adds_rows]
    ends = [row.position_until for row in case.ledger.main if row.snapshot_id in below and row.added_rows]
    return [*ends, *(None for _ in newer)]


def _between(case: Case, snapshot: SnapshotId, task: str) -> list[Snapshot]:
    """The commits on main above the snapshot that the newest answer of the task saw."""
    table = case.observation.table
    seen = table.ancestors(checked_until(case, task))
    kept = {s.snapshot_id for s in table.ancestors(snapshot)}
    return [s for s in seen if s.snapshot_id not in kept]
